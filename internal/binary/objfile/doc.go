// Package objfile reads ELF modules, and the parts of Mach-O files that instrumentation maps
// need: sections, symbols, build ids and source lines. One reader reads the headers of ELF
// files of any kind (headers.go); File, Image and ReadObjects are views of it: of a linked
// module, of any file that may have a map, and of the functions of an object. Input is not
// trusted: every size in the file is compared with a named maximum before memory is allocated
// for it, and every loop over the file's data either consumes some of it or ends. Only the
// names of constants are taken from debug/elf; where debug/dwarf reads a part of the file, a
// panic becomes an error with the file's name.
//
// The line table and the entries of functions (Scopes, Declarations) are read here, not by
// debug/dwarf. That package does not check table sizes in the file (sixteen bytes can request
// a terabyte, which recover cannot handle), reads every abbreviation of every unit, does not
// support split debug information, and is several times slower, which matters in a binary with
// a few hundred thousand rows. The tests compare the results with those of debug/dwarf or
// llvm-symbolizer. Only types of functions are read by debug/dwarf (Signatures), with a limit
// on their number.
package objfile

import "errors"

// Errors that callers convert to a note or a hint.
var (
	// ErrClass reports that the module is for a 32-bit machine other than Arm, or is
	// big-endian.
	ErrClass = errors.New("not a 64-bit little-endian ELF file")
	// ErrNoBuildID reports that the module was linked without --build-id.
	ErrNoBuildID = errors.New("no build id")
	// ErrNoDebug reports that neither the module nor a separate debug file has line tables.
	ErrNoDebug = errors.New("no line tables (compile with -g)")
)

// Limits of the sizes in a file.
const (
	maxSections     = 4096    // a linked module has some forty
	maxSectionNames = 1 << 16 // bytes of section names
	// Objects have a section, or several, for each function.
	maxObjectSections     = 0xfeff // more have their number elsewhere
	maxObjectSectionNames = 1 << 24
	maxSectionSize        = 4 << 30 // bytes of a section in memory
	// maxInflate limits the growth of a compressed section. zlib cannot exceed a factor of
	// 1032; that of real debug information is below twenty.
	maxInflate     = 1024
	maxKept        = 256 << 20 // bytes of a map that a link kept
	maxNotes       = 1 << 16   // bytes of one note segment or section
	maxSymbolName  = 1 << 16   // bytes; longer names are truncated
	maxDebugLink   = 4096      // bytes of .gnu_debuglink
	maxPathLen     = 1 << 14   // bytes of a source path; longer ones are truncated
	maxLineEntries = 1 << 20   // directories, or files, of one line table
)
