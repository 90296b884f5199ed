// Package linkorder converts a ranked list of functions to the order file of a linker. It is
// pure.
//
// The names in a profile are those of the build that ran; the link to be ordered may be
// another one. Resolve looks each function up in the symbol tables of that link and reports
// those that are missing. Render writes the found functions for one linker. The formats
// differ: lld and ld64 use symbols, gold and GNU ld names of input sections, and only some can
// distinguish two static functions of the same name. DetectLinker and Linker.Args return the
// format and options of a linker.
package linkorder

// Func is one function of a ranked list.
type Func struct {
	Name string // symbol name, mangled
	File string // source file, "" if unknown
	// Addr is its address in Link.Binary if that is the build that ran, otherwise 0.
	Addr  uint64
	Split bool // the compiler split a cold part off it
	// Sections are the possible names of its input section. If nil, they are determined from
	// its name or the link.
	Sections []string
}

// Link describes the link to be ordered.
type Link struct {
	Binary  []Symbol // functions of the linked module; nil if not known
	Objects []Object // what was linked; nil if not known
}

// Object is an object file or a member of an archive.
type Object struct {
	Path   string // of the file
	Member string // name within the archive Path, "" if it is none
	Funcs  []Symbol
}

// Symbol is a function symbol.
type Symbol struct {
	Name    string
	Addr    uint64 // in an object the offset into its section
	Size    uint64 // bytes
	Section string // name of the section that holds it, "" if not known
	Index   uint32 // of that section: several of an object may have one name
	Local   bool
	Source  string // source file of a local symbol, "" if not known
}

// Resolution is what became of a ranked list.
type Resolution struct {
	Entries []Entry // by rank
	Report  Report
}

// Entry is one function in the terms of linkers.
type Entry struct {
	Func   int    // index into the ranked list
	Symbol string // name in the link
	Source string // source file, "" if not known
	Local  bool
	Size   uint64 // bytes, 0 if not known
	// Sections are the names its input section may have: one where an object
	// told it, else those that compilers make of the symbol.
	Sections []string
	Object   ObjectName // that defines it, empty if not known
	// SharedName: the link has other functions of this name.
	SharedName bool
	// SharedSection: other objects have a section of this name.
	SharedSection bool
	// Crowded: its input section holds other functions as well.
	Crowded bool
}

// ObjectName is an object as linkers spell it.
type ObjectName struct {
	Leaf string // foo.o or libx.a(foo.o), as ld64 does
	Path string // dir/foo.o or libx.a:foo.o, as GNU ld does; as much of the path as it takes to be unique
}

// Report says how a ranked list fared against a link.
type Report struct {
	Listed    int      // functions in the list
	Resolved  int      // of these, found in the link
	Merged    int      // of these, in a place that an earlier one has: an alias, or identical code
	Renamed   int      // of these, found under another suffix
	Entries   int      // places to be ordered
	Bytes     uint64   // their size
	Ambiguous []string // symbols of entries that other functions of the link share
	Crowded   []string // symbols of entries whose section holds other functions
	Vanished  []string // listed, but not in the link: inlined, dropped or renamed
	Misplaced []string // found, but without a size or outside .text
}
