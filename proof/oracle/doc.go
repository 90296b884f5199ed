// Package oracle tests that profiles are exact, against independent tools. It has no code
// but tests: they build real programs with cairn, run them under an independent tool and
// compare what the two say of the same run, function by function and block by block.
//
//	what, who else knows, and the tests
//
//	call counts               callgrind: how often a function's first instruction ran
//	                          TestSQLite, TestBlst, TestThreads
//	coverage of blocks        callgrind: whether a block's first instruction ran
//	                          TestSQLiteBlocks, TestFlow
//	executions of edges       gcov's arcs
//	                          TestEdges, TestSQLiteEdges, TestAArch64SQLiteEdges
//	executions from samples   callgrind
//	                          TestSampledBlocks
//	first-execution order     a tracer with a breakpoint on every function's entry
//	                          TestSQLiteOrder, TestThreadsOrder
//	first callers             the same tracer: the return address on the stack
//	                          TestPhysicalCallers
//	source lines, branches    gcov and clang's source coverage, in builds of their own
//	                          TestLines, TestStates, TestBranches, TestSuites
//	answers                   the same program without probes
//	                          TestSQLite, TestSuites
//	builds by a profile       the same program as it was
//	                          TestSQLiteSplit, TestAArch64Split, TestArmUse
//	starts with --fast-start  the same program with the shared C++ library; the kernel's faults
//	                          TestFastStart
//	counts after kill -9      an orderly run of the same work
//	                          TestContract
//	rows of docs/contract.md  the same program without probes, in each situation
//	                          TestContract
//	other machines            qemu's log of the instructions that ran
//	                          TestAArch64Records, TestArmRecords, TestCrossZlib
//	Mach-O                    a loader in the test, and single steps
//	                          TestMachORecords, TestMachOExceptions
//	Windows                   mingw's gcov, in Wine
//	                          TestWindows
//	clang for MSVC's system   breakpoints at all blocks, in Wine
//	                          TestWindowsMSVC
//	calls on Windows          the same program for Linux; Wine's unwinder at single steps
//	                          TestWindowsCalls
//	Rust                      -C instrument-coverage, and callgrind
//	                          TestRustCoverage, TestRustCalls
//	calls that took too long  the traced program, which plants them
//	                          TestTimedPlanted, TestTimedStorms, TestFlightStorm
//	stacks of all calls       callgrind; XRay
//	                          TestTreeCallgrind, TestTreeXRay, TestTraceModeXRay
//	stacks of coroutines      the program, which knows its own
//	                          TestTreeCoroutines, TestStacksSwitches
//	calls in XRay's logs      the traced program, which counts its own; llvm-xray
//	                          TestXRayStacks, TestXRayRecords
//	missing frames            the recorder of branches, which keeps the true stacks
//	                          TestMissingFrames, TestTailCallEdges
//	profiles for compilers    llvm-profgen and its own tests
//	                          TestProfgenSQLite, TestLLVMProfgenTests
//	shares of samples         callgrind; single steps
//	                          TestShares, TestSharesFrameless
//	stacks in copies          the same program with frame pointers
//	                          TestCopiedStacks
//	recordings of others      perf report -D
//	                          TestPublicRecordings
//	flame graphs of texts     FlameGraph's stackcollapse
//	                          TestStackcollapse
//	predicted pages           valgrind: the pages from which instructions ran
//	                          TestPages
//
// The programs are SQLite, blst, Duktape and H3, which the Go module proxy has, Lua,
// tinyxml2 and pugixml as Debian has their sources, and small
// ones in testdata that do what is hard to count: exceptions, longjmp, tail
// calls, callbacks, signals, threads. Those in testdata/xray are traced; logs of
// them are in testdata of format/xray; scripts/xray-fixtures.sh records them again.
//
// Linux on x86-64 with gcc is needed, valgrind for what callgrind says, and
// clang is used if it is there.
package oracle
