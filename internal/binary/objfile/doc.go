// Package objfile reads ELF modules, and what instrumentation maps need of Mach-O files:
// sections, symbols, build ids and source lines. One reader reads the headers of ELF files
// of any kind (headers.go); File, Image and ReadObjects are views of it: of a linked
// module, of whatever may have a map, and of the functions of an object. Input is not
// trusted: every size that comes from the file is held against a named maximum before
// memory is taken for it, and every loop over the file's data either consumes some of it
// or ends. debug/elf has names for numbers only; where debug/dwarf is given a piece of the
// file, a panic becomes an error that names the file.
//
// The line table and the entries of functions (Scopes, Declarations) are read here, not by
// debug/dwarf. That reader takes table sizes from the file unchecked (sixteen bytes can ask
// it for a terabyte, and no recover catches that), looks at every abbreviation of every
// unit, does not know split debug information, and is several times slower than a binary of
// a few hundred thousand rows deserves. The tests hold the two, or llvm-symbolizer, against
// each other. Only types of functions go through it (Signatures), with a bound on their
// number.
package objfile

import "errors"

// Errors that callers turn into a note or a hint.
var (
	// ErrClass: the module is for a machine of 32 bits other than Arm, or of the other byte order.
	ErrClass = errors.New("not a 64-bit little-endian ELF file")
	// ErrNoBuildID: the module was linked without --build-id.
	ErrNoBuildID = errors.New("no build id")
	// ErrNoDebug: neither the module nor a separate debug file has line tables.
	ErrNoDebug = errors.New("no line tables (compile with -g)")
)

// Bounds on what a file may ask for.
const (
	maxSections     = 4096    // a linked module has some forty
	maxSectionNames = 1 << 16 // bytes of section names
	maxSectionSize  = 4 << 30 // bytes of a section in memory
	// maxInflate bounds the growth of a compressed section. zlib cannot exceed
	// 1032 times; real debug information stays below twenty.
	maxInflate     = 1024
	maxNotes       = 1 << 16 // bytes of one note segment or section
	maxSymbolName  = 1 << 16 // bytes; longer names are cut off
	maxDebugLink   = 4096    // bytes of .gnu_debuglink
	maxPathLen     = 1 << 14 // bytes of a source path; longer ones are cut off
	maxLineEntries = 1 << 20 // directories, or files, of one line table
)
