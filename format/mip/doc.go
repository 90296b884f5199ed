// Package mip reads and writes the machine profile formats: the map that the rewriter puts into a binary, the
// raw file that a run writes, and the profile that merging makes of them.
//
//	.debug.cairn  in the binary, not loaded: which record belongs to which code
//	.debug.cairn.units  in the binary, not loaded: what the compiler made, linked or not
//	.mipmap       the same as a file of its own, for when the binary is stripped
//	.mipraw       one run: the image of the raw section when the process ended
//	.mip          a profile: maps with the sums of many runs
//
// This comment describes all four. The constants that the runtime shares are in package wire. All numbers are
// little-endian. In what follows uv is an unsigned LEB128 number, sv a signed one in zigzag order, str a string
// after its length as uv, and cstr a string with a NUL after it.
//
// # Raw section
//
// The raw section of a process holds a record for each function, by mode:
//
//	cover  u8 flag; so does order
//	block  u8 flag for each block with a probe, the entry block first; so does
//	       block+order
//	count  u32 calls, u32 order
//	full   u32 calls, u32 order, i32 caller, u8 flag for each non-entry block
//	       with a probe
//	edge   u32 calls, u32 order, u64 for each non-entry block with a probe: how
//	       often it ran
//
// It starts as zeros. A flag becomes 1; on Armv7 it becomes the low byte of its address if that is odd, else of
// the address before, except that of an entry block in modes order and block+order. Calls are counted downwards from zero, order is the index of the
// function's first call among those of all functions, from 1, with bit 31 set if increments may be lost; caller
// is the return address of the first call, relative to the record, or 1<<31 if it is in another module.
//
// Modes order and block+order have an order buffer in a section of its own: an array of u32 slots, zeros at
// first. When the flag of an entry block becomes 1, the offset of its record, plus one, goes to the next slot;
// after the last comes the first again. How many there were is a u32 in the raw section.
//
// # Map section (.debug.cairn)
//
// Records stand one after the other, as the linker put them:
//
//	u32   length of the record in bytes, this field included
//	u8    version, 1
//	u8    mode, +128 if it counts by locked instructions, +32 if the function was
//	      compiled without optimisation
//	u16   number of fragments, at least 1
//	u64   address of the function's record in the raw section
//	u32   control-flow signature
//	      fragments, each:
//	u64     address
//	u32     size
//	u32     number of blocks
//	u32[]   offset of each block, the entry block left out
//	u32   number of blocks without a probe, ascending, each:
//	u32     block
//	u32     number of blocks that imply it: it ran if and only if one of them did
//	u32[]   those blocks, ascending; none in mode edge
//	      in mode edge, the flow of each block, the entry block first:
//	u32     +1 if control also comes from outside the function, or in ways that are
//	        not known; +2 if it also leaves the function, or goes elsewhere; +4 for
//	        each block to which it goes on
//	u32[]   those blocks, ascending
//	u32   number of direct calls, each:
//	u32     block
//	cstr    callee
//	cstr  function
//	cstr  source file
//
// In mode edge, what enters a block leaves it, so most counts follow from others (package edges). A branch has a block
// of its own where its count does not follow.
//
// A record whose first fragment or data has address 0 belongs to a function that the linker dropped.
//
// Example: app.c defines main, which calls work and puts. It was compiled in mode full; work has a cold part.
//
//	00000000  5d 00 00 00 01 04 01 00  00 40 40 00 00 00 00 00  |]........@@.....|
//	00000010  44 33 22 11 00 10 40 00  00 00 00 00 40 00 00 00  |D3"...@.....@...|
//	00000020  02 00 00 00 12 00 00 00  30 00 00 00 01 00 00 00  |........0.......|
//	00000030  02 00 00 00 01 00 00 00  00 00 00 00 02 00 00 00  |................|
//	00000040  01 00 00 00 77 6f 72 6b  00 02 00 00 00 70 75 74  |....work.....put|
//	00000050  73 00 6d 61 69 6e 00 61  70 70 2e 63 00 4f 00 00  |s.main.app.c.O..|
//	00000060  00 01 24 02 00 10 40 40  00 00 00 00 00 88 77 66  |..$...@@......wf|
//	00000070  55 40 10 40 00 00 00 00  00 20 00 00 00 01 00 00  |U@.@..... ......|
//	00000080  00 08 00 00 00 00 08 40  00 00 00 00 00 10 00 00  |.......@........|
//	00000090  00 01 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|
//	000000a0  00 77 6f 72 6b 00 61 70  70 2e 63 00              |.work.app.c.|
//
// main is 0x5d bytes: version 1, mode 4, one fragment, record at 0x404000, signature 0x11223344; 0x40 bytes of
// code at 0x401000 with blocks at +0x12 and +0x30; one block without a probe, block 2, which ran if block 0
// did; two calls, block 1 to work and block 2 to puts. work follows at 0x5d with two fragments; it was compiled
// without optimisation.
//
// # Units section (.debug.cairn.units)
//
// Each compilation, which is a unit, has a record of all functions that the compiler made, so that those which
// the linker dropped or never took are known as well. Zeros between records are skipped.
//
//	u32   length of the record in bytes, this field included
//	u8    version, 1; +128 in the map section, where Mach-O has them
//	u8    +1 if the unit was added by a link that need not have taken anything of it, +2 if the
//	      linker makes the code (-flto)
//	str   source file
//	      the functions, as a list:
//	uv      number of strings, sorted, each as in a map (below)
//	uv      number of functions, each:
//	u8        reason: 0 it has a probe, 1 its archive's member was not linked, 2 the linker
//	          removed it, 3 it is in no program, 4 it was compiled without a probe, 5 it was
//	          inlined or removed when the linker made the code; +8 if
//	          other objects may have it (COMDAT), +16 if it has a note, +32 if the place of
//	          its definition is known, +64 if it has lines, +128 if other functions of the
//	          unit have code of its lines
//	uv        name, a string's number
//	sv        source file of the unit, a string's number, from that of the function before
//	uv        note, a string's number, only with +16
//	sv        file of its definition, a string's number, from that of the unit; only with +32
//	uv        line of its definition, only with +32
//	uv        number of ranges of lines that have code, only with +64; ascending, each:
//	sv          file, a string's number, from that of the range before; at first of its definition
//	sv          first line, from the last of the range before; at first of its definition
//	uv          number of further lines
//	      with +2, the names to which functions and data refer:
//	uv      number of strings, sorted, each as in a map (below)
//	uv      number of names that refer to others, ascending, each:
//	uv        a string's number
//	uv        number of names to which it refers, ascending, each:
//	sv          a string's number, from that of the name before
//
// Objects with code for the linker's compiler have the record in the section .debug.cairn.lto, which linkers leave
// out; the link adds an object with the records of all. In units, the reasons are 0 and 4. The functions of a map that are absent are those of its units that it has
// no record of. Example: lib.c defines spare in lines 7 to 9, which has code of line 3 of lib.h.
//
//	00000000  39 00 00 00 01 00 05 6c  69 62 2e 63 05 00 00 00  |9......lib.c....|
//	00000010  0a 2f 61 70 70 2f 6c 69  62 2e 63 09 01 68 00 05  |./app/lib.c..h..|
//	00000020  6c 69 62 2e 63 00 05 73  70 61 72 65 01 60 04 06  |lib.c..spare.`..|
//	00000030  03 07 02 00 00 02 02 0b  00                       |.........|
//
// # Raw file (.mipraw)
//
//	0   [8]   "CAIRNRAW"
//	8   u16   version, 3
//	10  u16   flags: 1 the file was the live memory of the process, 2 the
//	          process never had a second thread, 4 with 1: it ended in order, 8
//	          see Raw.Own, 16 with 1: the image begins with the header
//	12  u32   offset of the image in the file; with flag 16 it is 0
//	16  u64   size of the raw section
//	24  u64   bytes of its image in the file; the rest is zero
//	32  u32   FNV-1a of the file with zeros here; 0 in live memory without 4
//	36  u32   process id
//	40  u8    length of the build id
//	41  u8    length of the scenario's name, at most 200
//	44  [20]  build id, zero-padded; of a longer one the first 20 bytes
//	64  u32   slots of the order buffer; 0 if there is none
//	68  u32   first executions; 0 in live memory
//	72  u64   in live memory, where in the raw section their number is; else 0
//	80  u64   identifies this run; practically random
//	88        scenario's name (CAIRN_SCENARIO), then the image, or at the next
//	          page if it was live memory, then the slots: those in use, all in
//	          live memory. With flag 16 the first 288 bytes of the section are
//	          for header and name, and have no record
//
// If there were more first executions than slots, the oldest in the buffer is at their number modulo that of
// the slots. A slot that is still 0 was taken when the process was killed.
//
// Example: main was called once, first of all, from outside the module; its block 1 ran. work was called 300
// times, second, first from 0x401020, and may have been called more often; its cold part did not run. The
// scenario is boot.
//
//	00000000  43 41 49 52 4e 52 41 57  03 00 02 00 5c 00 00 00  |CAIRNRAW....\...|
//	00000010  20 00 00 00 00 00 00 00  1d 00 00 00 00 00 00 00  | ...............|
//	00000020  dd 27 59 5b 07 00 00 00  04 04 00 00 ca 1c 0f fe  |.'Y[............|
//	00000030  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|
//	00000040  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|
//	00000050  88 77 66 55 44 33 22 11  62 6f 6f 74 ff ff ff ff  |.wfUD3".boot....|
//	00000060  01 00 00 00 00 00 00 80  01 00 00 00 d4 fe ff ff  |................|
//	00000070  02 00 00 80 10 d0 ff ff  01                       |.........|
//
// Example: the same in mode order, where work, whose record is at 1, ran before main, whose record is at 0;
// their number is at 4.
//
//	00000000  43 41 49 52 4e 52 41 57  03 00 00 00 58 00 00 00  |CAIRNRAW....X...|
//	00000010  08 00 00 00 00 00 00 00  05 00 00 00 00 00 00 00  |................|
//	00000020  60 8b 4f 32 07 00 00 00  04 00 00 00 ca 1c 0f fe  |`.O2............|
//	00000030  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|
//	00000040  02 00 00 00 02 00 00 00  00 00 00 00 00 00 00 00  |................|
//	00000050  89 77 66 55 44 33 22 11  01 01 00 00 02 02 00 00  |.wfUD3".........|
//	00000060  00 01 00 00 00                                    |.....|
//
// # Container of .mipmap and .mip
//
//	0   [8]   "CAIRNMAP" or "CAIRNMIP"
//	8   u16   major version, 1: readers refuse a higher one
//	10  u16   minor version, 2 or, of a profile, 3: readers skip what a higher one
//	          has at its end, and of a lower one what it lacks is unknown
//	12  u32   CRC-32 (IEEE) of the body
//	16  u64   length of the body
//	24        body
//
// # Map (.mipmap)
//
// The body is a map:
//
//	str  build id, bytes
//	str  module
//	uv   address of the raw section
//	uv   size of the raw section
//	uv   number of strings, sorted, each:
//	u8     bytes that it starts with like the one before, up to 127
//	str    the rest
//	uv   number of functions, ascending by address, then by record, each:
//	u8     mode, 7 for mode edge, 0 for mode sampled, +8 if it has more than one fragment, +16 if it has calls,
//	       +32 if it has blocks without a probe, +64 if it counts by locked
//	       instructions
//	uv     name, a string's number
//	sv     source file, a string's number, from that of the function before
//	u32    signature
//	sv     record, from the end of the record of the function before
//	uv     number of fragments, only with +8; each:
//	sv       address, from the end of the fragment before; the first from the
//	         end of the first fragment of the function before
//	uv       size
//	uv       number of blocks, only with modes block, full, block+order, edge and sampled; each:
//	uv         offset, from that of the block before
//	uv     number of blocks without a probe, only with +32; each:
//	uv       block, from that of the one before
//	uv       number of blocks that imply it, each:
//	sv         block, from the one before, at first from the block implied
//	       in modes edge and sampled, the flow of each block, the entry block first:
//	uv       as in the map section
//	sv       each block to which it goes on, from the one before, at first from
//	         the block
//	uv     number of calls, only with +16; each:
//	sv       block, from that of the call before
//	uv       callee, a string's number
//	     after the map, since minor version 1:
//	str  machine, at most 32 bytes: x86-64, AArch64, Arm; empty if unknown
//	     after that, since minor version 2:
//	     absent functions, a list as in the section of units
//	uv   number of ranges of functions that were compiled without optimisation,
//	     ascending, each:
//	uv     functions between it and the one before
//	uv     its functions
//
// In mode sampled, of a build without probes, records have no bytes: a record is the function's number, and the size of the
// raw section that of the list. The differences of the first function are from 0, those of addresses from the raw section. Example:
//
//	00000000  43 41 49 52 4e 4d 41 50  01 00 02 00 5b 3b bc f5  |CAIRNMAP....[;..|
//	00000010  92 00 00 00 00 00 00 00  04 ca 1c 0f fe 03 61 70  |..............ap|
//	00000020  70 80 80 81 02 20 04 00  05 61 70 70 2e 63 00 04  |p.... ...app.c..|
//	00000030  6d 61 69 6e 00 04 70 75  74 73 00 04 77 6f 72 6b  |main..puts..work|
//	00000040  02 34 01 00 44 33 22 11  00 ff bf 01 40 02 12 1e  |.4..D3".....@...|
//	00000050  01 02 01 03 02 02 03 02  02 0c 03 00 88 77 66 55  |.............wfU|
//	00000060  06 02 00 20 01 08 bf 21  10 01 00 06 78 38 36 2d  |... ...!....x86-|
//	00000070  36 34 06 00 00 00 0a 2f  61 70 70 2f 6c 69 62 2e  |64...../app/lib.|
//	00000080  63 09 01 68 00 05 6c 69  62 2e 63 03 05 61 70 70  |c..h..lib.c..app|
//	00000090  2e 61 00 05 73 70 61 72  65 01 71 05 06 04 03 07  |.a..spare.q.....|
//	000000a0  02 00 00 02 02 0b 00 01  01 01                    |..........|
//
// # Profile (.mip)
//
//	uv   number of modules, ascending by name, then by build id; each:
//	       a map, as above
//	uv     raw files
//	       counts of each function in the order of the map, each:
//	u8       which of these follow: 1 runs, 2 calls, 4 order, 8 blocks,
//	         16 callers, 64 unprobed, 128 times; 32 is that there may have been more
//	         calls
//	rv       raw files in which it ran
//	uv       calls in all raw files
//	uv       sum of its orders
//	rv       for each non-entry block, raw files in which it ran
//	uv       twice the number of first callers in the module, +1 if there were
//	         others, these first:
//	rv         raw files, only with +1
//	         then each in the module, ascending by address:
//	sv         return address, from the one before, at first from the function
//	rv         raw files
//	uv       unprobed: raw files of joined builds in which it has no probe
//	uv       for each non-entry block, how often it ran; only with 128
//	uv     runs that the traces are a sample of
//	uv     number of traces, ascending by scenario, then by key; each:
//	str      scenario
//	uv       weight, at least 1
//	u64      key: of all runs, those with the lowest were taken
//	u8       1 if the first functions are missing, else 0
//	uv       number of functions in the order of first execution, each:
//	sv         its number in the map, from the one that follows the one before
//	     after all modules, since minor version 1, for each:
//	u8     1 if the runs are a sketch, else 0
//	uv     number of runs that are known to be in the sums, ascending, each:
//	uv       hash of its number and process, from the one before; in a sketch
//	         only the first 40 bits of it
//	     after those, since minor version 2, for each module:
//	str    machine, as above
//	     after those, since minor version 3, for each module:
//	       absent functions, as above; after those of all modules, for each:
//	       functions that were compiled without optimisation, as above
//
// An rv is a uv that counts raw files: 0 is none, 1 is all, and any other number is one less than written.
// Example: the run above, of scenario "open", and one in which work was not called and that is no trace.
//
//	00000000  43 41 49 52 4e 4d 49 50  01 00 03 00 91 cf 81 2e  |CAIRNMIP........|
//	00000010  c7 00 00 00 00 00 00 00  01 04 ca 1c 0f fe 03 61  |...............a|
//	00000020  70 70 80 80 81 02 20 04  00 05 61 70 70 2e 63 00  |pp.... ...app.c.|
//	00000030  04 6d 61 69 6e 00 04 70  75 74 73 00 04 77 6f 72  |.main..puts..wor|
//	00000040  6b 02 34 01 00 44 33 22  11 00 ff bf 01 40 02 12  |k.4..D3".....@..|
//	00000050  1e 01 02 01 03 02 02 03  02 02 0c 03 00 88 77 66  |..............wf|
//	00000060  55 06 02 00 20 01 08 bf  21 10 01 00 02 1f 01 02  |U... ...!.......|
//	00000070  02 02 01 01 01 3f 02 ac  02 02 02 00 02 3f 02 02  |.....?.......?..|
//	00000080  01 04 6f 70 65 6e 01 99  00 00 00 00 00 00 00 00  |..open..........|
//	00000090  02 00 00 00 02 80 20 88  cf 99 ab c5 e8 8c 91 11  |...... .........|
//	000000a0  06 78 38 36 2d 36 34 06  00 00 00 0a 2f 61 70 70  |.x86-64...../app|
//	000000b0  2f 6c 69 62 2e 63 09 01  68 00 05 6c 69 62 2e 63  |/lib.c..h..lib.c|
//	000000c0  03 05 61 70 70 2e 61 00  05 73 70 61 72 65 01 71  |..app.a..spare.q|
//	000000d0  05 06 04 03 07 02 00 00  02 02 0b 00 01 01 01     |...............|
//
// The text form of the same profile is testdata/example.yaml.
package mip
