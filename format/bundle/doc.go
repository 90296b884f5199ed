// Package bundle reads and writes bundles: files that programs wrote, one after the other in one
// stream, for uploads.
//
// A bundle holds files of any kind, each with a checksum: raw files, packs of raw files,
// maps, logs of spikes and of calls. Reading and writing take one pass and memory for one file,
// and a writer needs only a CRC-32, so that a C program can write one. The kind of a file is
// determined by its first bytes.
//
// # Bundle (.mipbundle)
//
// All numbers are little-endian.
//
//	0   [8]   "CAIRNBDL"
//	8   u16   version, 1: readers refuse any other
//	10  u16   0
//	12        files, each:
//	u8      1
//	u8      bytes of its name, at most 255
//	u16     0
//	u32     CRC-32 (IEEE) of this head with zeros here, the name and the data
//	u64     bytes of data
//	        name, data
//	          at the end:
//	u8      0
//	u8      0
//	u16     0
//	u32     CRC-32 (IEEE) of this head with zeros here
//	u64     number of files
//
// A bundle without an end is truncated. Data after the end is an error. A name is that of the file
// in its directory: no slash, no NUL, not "." or "..". It may be empty, and two files may have
// the same. It is for messages, and never a path.
//
// Example: two files, "a" with the bytes 01 02 03 and one without a name that is empty.
//
//	00000000  43 41 49 52 4e 42 44 4c  01 00 00 00 01 01 00 00  |CAIRNBDL........|
//	00000010  0a 3b a9 e3 03 00 00 00  00 00 00 00 61 01 02 03  |.;..........a...|
//	00000020  01 00 00 00 c4 da d3 42  00 00 00 00 00 00 00 00  |.......B........|
//	00000030  00 00 00 00 28 4c 9e ae  02 00 00 00 00 00 00 00  |....(L..........|
package bundle
