// Package wire holds the constants of the machine-profile formats that both sides must agree on: the assembler
// rewriter and the C runtime that write them, and format/mip that reads them. It imports nothing. Package mip
// documents the formats; the runtime's header is generated from here.
package wire

// Section names in instrumented object files and binaries.
const (
	// RawSection is the allocated, zero-initialised section of all records.
	// Its name is a C identifier, so that linkers define __start_ and __stop_.
	RawSection = "cairn_raw"
	// MapSection is the section that describes the records. It is not
	// allocated, and its name starts with .debug so that strip removes it and
	// objcopy --only-keep-debug carries it along. It does not start with
	// .debug_, which dwz takes for DWARF and refuses when it does not know it.
	MapSection = ".debug.cairn"
	// OldMapSection is the name of that section in binaries of earlier builds.
	OldMapSection = ".debug_cairn"
	// UnitSection is the section that lists the functions of each compilation, with and without probes. It is
	// not allocated, and unlike the map's it is linked to no function, so that it is there whatever functions
	// the linker drops.
	UnitSection = ".debug.cairn.units"
	// LTOSection is that section for code that the linker makes. Linkers leave it out: the record of a link has
	// what they were given.
	LTOSection = ".debug.cairn.lto"
	// OrderSection is the allocated, zero-initialised section of the slots for
	// first executions in modes with slots: an array of u32, each the offset of
	// a record in RawSection plus one, or 0.
	OrderSection = "cairn_order"
)

// Places of these sections in Mach-O files: the segment and the name in it.
const (
	// RawMachO is in a segment of its own, which a file can be mapped over. Go programs, and those of earlier versions,
	// have DataMachO.
	RawMachO  = "__CAIRN_DATA,__cairn_raw"
	DataMachO = "__DATA,__cairn_raw"
	MapMachO  = "__CAIRN,__cairn_map"
	UnitMachO = "__CAIRN,__cairn_units"
)

// Names of these sections in COFF. Those of sections that are loaded have at most 8 bytes, and the linker joins with them
// what has $ and more behind the name. That of the map begins as those of DWARF: linkers then accept references to code
// that they dropped.
const (
	RawCOFF   = ".crn"
	OrderCOFF = ".cro"
	MapCOFF   = OldMapSection

	// Those of Go programs, which have a map after they were linked: GoMapCOFF and UnitCOFF are MapSection and UnitSection.
	// GoMapCOFF is that of programs for MSVC's system, too.
	// PlaceCOFF has the address and the size of the records, 8 bytes each, which are in a section of the linker's.
	GoMapCOFF = ".crnmap"
	UnitCOFF  = ".crnunit"
	PlaceCOFF = ".crnraw"

	// LocalCOFF begins the second name of a function whose own begins with L: assemblers of COFF take that for a label within
	// a function, which they drop if no other file can see it.
	LocalCOFF = "cairn$"
)

// The order buffer.
const (
	SlotSize = 4
	// MinSlots and MaxSlots bound a buffer of a size that was asked for.
	MinSlots = 16
	MaxSlots = 1 << 24
)

// Map section records. A record is:
//
//	u32  length of the record in bytes, this field included
//	u8   MapVersion
//	u8   mode (prof.Mode), with MapAtomic if it counts by locked instructions, MapPlain if it
//	     was compiled without optimisation, with line 0 in the line table
//	     for code without a line, and MapRelative
//	u16  number of fragments, at least 1
//	u64  address of the function's data in RawSection
//	u32  control-flow signature
//	fragments, each:
//	     u64 address, u32 size, u32 number of blocks, u32 offset of each block
//	u32  number of blocks without a probe, ascending, each: u32 block index,
//	     u32 number of blocks that imply it, u32 index of each, ascending
//	in mode edge, for each block, the entry block first: u32 flags, FlowEntered and
//	     FlowLeaves, and FlowNext times the number of blocks to which it goes on,
//	     u32 index of each, ascending
//	u32  number of direct calls, each: u32 block index, NUL-terminated callee
//	NUL-terminated function name, NUL-terminated source file
//
// all little-endian, no padding between fields or records. A record whose
// first fragment or data has address 0 belongs to a function that the linker
// dropped.
//
// With MapRelative, as in Mach-O files, which would have the loader change addresses, the
// fields of addresses are distances from themselves.
const (
	MapVersion  = 1
	MapAtomic   = 1 << 7
	MapRelative = 1 << 6
	MapPlain    = 1 << 5
	MapModeMask = 1<<5 - 1 // of the mode itself
)

// Flags of the flow of a block in mode edge.
const (
	FlowEntered = 1 << 0
	FlowLeaves  = 1 << 1
	FlowNext    = 1 << 2 // the unit of the number of blocks
)

// The records of UnitSection.
const (
	UnitVersion = 1
	// UnitInMap is set in the version of records that are in the map section, as in objects of Mach-O: whoever
	// removes that section from what is shipped removes them as well.
	UnitInMap = 1 << 7
	// UnitUnlinked is set in records that were added when a module was linked, of what it was linked from.
	UnitUnlinked = 1 << 0
	// UnitLTO is set in records of code that the linker makes. After the functions they have what code and data
	// refer to.
	UnitLTO = 1 << 1
)

// Records in RawSection, by mode.
const (
	CoverSize      = 1  // u8 flag
	CountSize      = 8  // u32 negated call count, u32 order
	FullHeaderSize = 12 // u32 negated call count, u32 order, i32 caller; then a u8 per non-entry block with a probe
	EdgeSize       = 8  // u64 count; in mode edge one follows the record of mode count for each non-entry block with a probe
	RecordAlign    = 4  // of count and full records
	EdgeAlign      = 8  // of records in mode edge
	OrderOffset    = 4
	CallerOffset   = 8

	// OrderInexact is set in the order word when the first-call path ran a
	// second time: two threads raced for the first call, or the counter wrapped.
	OrderInexact = 1 << 31
	// CallerOutside in the caller word: the first caller is out of reach of a 32-bit displacement, so it is in
	// another module. Otherwise the word is the return address minus the address of the record.
	CallerOutside = -1 << 31
)

// Raw file header.
const (
	RawMagic   = "CAIRNRAW"
	RawVersion = 3

	RawMagicOffset       = 0  // 8 bytes
	RawVersionOffset     = 8  // u16
	RawFlagsOffset       = 10 // u16
	RawDataOffset        = 12 // u32 file offset of the section image
	RawSizeOffset        = 16 // u64 size of the section in memory
	RawStoredOffset      = 24 // u64 bytes of the image in the file; the rest is zero
	RawChecksumOffset    = 32 // u32 FNV-1a of the file with zeros here; 0 if RawContinuous and not RawSealed
	RawPIDOffset         = 36 // u32
	RawIDLenOffset       = 40 // u8 length of the build id
	RawScenarioLenOffset = 41 // u8 length of the scenario's name, which follows the header
	RawCopiesOffset      = 42 // u16 if RawOwn, copies of the section, which follow the image; otherwise ignored
	RawIDOffset          = 44 // build id, MaxBuildID bytes, zero-padded
	RawSlotsOffset       = 64 // u32 slots of the order buffer, which follow the image; 0: there is none
	RawNextOffset        = 68 // u32 first executions that were put there; 0 if RawContinuous
	RawNextAtOffset      = 72 // u64 where in the section this number is, if RawContinuous
	RawRunOffset         = 80 // u64 identifies this run; practically random
	RawHeaderSize        = 88
	MaxBuildID           = 20
	MaxScenario          = 200      // bytes; what is longer is cut
	MaxRawCopies         = 16 << 20 // bytes of the copies of a section
	// RawHeadRoom is the size of the head of a raw file with RawInside: header and scenario.
	RawHeadRoom = RawHeaderSize + MaxScenario

	// Flags.
	RawContinuous = 1 << 0 // the file was the live memory of the process
	RawSingle     = 1 << 1 // the process never had a second thread
	RawSealed     = 1 << 2 // with RawContinuous: the process ended in order, and the header is complete
	// RawOwn is for records of mode count, with RawContinuous: each processor counted in its own copy of the
	// section, so that no call is lost. Each copy is after the one before by the bytes from the start of the
	// image's page to its end, rounded up to whole pages of PageSize bytes; the image is the first. In copies,
	// the word after the count is not the order: it counts how often the count was found to be 0.
	RawOwn = 1 << 3
	// RawInside is set, with RawContinuous, if the image is the whole file but for the slots: the section begins with
	// RawHeadRoom bytes without records, over which the header and the scenario are.
	RawInside = 1 << 4

	PageSize = 4096 // alignment of RawSection and of a continuous file's image, where pages have one size
)
