// Package oracle tests that profiles are exact, against independent tools. It has no code
// but tests: they build real programs with cairn, run them under an independent tool and
// compare what the two say of the same run, function by function and block by block.
//
//	what                   who else knows
//	call counts            callgrind: how often a function's first instruction ran
//	coverage of blocks     callgrind: whether a block's first instruction ran
//	first-execution order  a tracer with a breakpoint on every function's entry
//	first callers          the same tracer: the return address on the stack
//	source lines           gcov and clang's source coverage, in builds of their own
//	answers                the same program without probes
//	builds by a profile    the same program as it was
//	counts after kill -9   an orderly run of the same work
//	calls in XRay's logs   the traced program, which counts its own; llvm-xray
//	missing frames         the recorder of branches, which keeps the true stacks
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
