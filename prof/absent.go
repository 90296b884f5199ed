package prof

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// Absence is why a map has no record of a function that was compiled. The numbers are part of the file formats.
type Absence uint8

// The reasons. Functions that are in no program did not run; of those without probes that is not known.
const (
	// NotLinked is a function in a member of an archive that the linker did not take.
	NotLinked Absence = 1
	// Dropped is a function of a linked object that the linker removed as unused: --gc-sections, Go's dead code.
	Dropped Absence = 2
	// NoProgram is a function in an object that was given to no linker.
	NoProgram Absence = 3
	// Unprobed is a function that was compiled without a probe.
	Unprobed Absence = 4
	// Optimised is a function of code that the linker made (-flto), which the program does not have and to which
	// its other code refers: it was inlined, computed by the compiler, or removed. Which of these is not recorded.
	Optimised Absence = 5
)

var absenceNames = [...]string{
	NotLinked: "not linked", Dropped: "removed by the linker", NoProgram: "in no program", Unprobed: "compiled without probes",
	Optimised: "inlined or removed by link-time optimisation",
}

// String describes the reason in a few words.
func (a Absence) String() string {
	if a.Valid() {
		return absenceNames[a]
	}
	return "invalid"
}

// ParseAbsence returns the reason that String describes by text and whether there is one.
func ParseAbsence(text string) (Absence, bool) {
	i := slices.Index(absenceNames[:], text)
	return Absence(i), i > 0
}

// Valid reports whether a is one of the reasons.
func (a Absence) Valid() bool { return a >= NotLinked && a <= Optimised }

// Absent is a function that was compiled for a module, and of which the module has no record.
type Absent struct {
	Name string // symbol name, mangled; "" for all functions of the file, if they are not known
	File string // source file of the compilation, as Func.File
	Why  Absence
	Note string // more about the reason: what it was compiled by, the archive; may be ""
	// Shared reports that other objects may have the same function: it is in a section group, as inline
	// functions and templates are, of which linkers keep one copy.
	Shared bool
	// Inlined reports that other functions of its compilation have code of its lines: if it is Dropped, it may
	// have run there.
	Inlined bool
	// Source and Line are where it is defined, "" and 0 if not known.
	Source string
	Line   uint32
	Lines  []LineRange // that its code has, ascending by file, then by number, disjoint; none without debug information
}

// LineRange is a range of lines of a file, all of which have code.
type LineRange struct {
	File     string
	From, To uint32 // both ends included
}

// JoinRanges joins adjacent and overlapping ranges, which are sorted by file and first line, in place.
func JoinRanges(sorted []LineRange) []LineRange {
	out := sorted[:0]
	for _, r := range sorted {
		if n := len(out); n > 0 && out[n-1].File == r.File && r.From <= out[n-1].To+1 {
			out[n-1].To = max(out[n-1].To, r.To)
			continue
		}
		out = append(out, r)
	}
	return out
}

// Compare orders absent functions as maps have them: by file, name, place and reason.
func (a *Absent) Compare(b *Absent) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Why, b.Why), cmp.Compare(a.Note, b.Note))
}

// SortAbsent sorts a list in the order of maps and drops duplicates, in place.
func SortAbsent(list []Absent) []Absent {
	stablesort.Func(list, func(a, b Absent) int { return a.Compare(&b) })
	return slices.CompactFunc(list, func(a, b Absent) bool { return a.Compare(&b) == 0 })
}

// Known reports whether it is known that the function did not run.
func (a *Absent) Known() bool {
	return a.Why != Unprobed && a.Why != Optimised && !(a.Why == Dropped && a.Inlined)
}

// Unit is what one compilation made: all its functions, with and without probes. Objects have a unit each, and
// linkers join those of a module's objects; the functions of units that a module does not have are its Absent.
type Unit struct {
	File string
	// Unlinked reports that the unit is of an input of the link from which the linker need not have taken anything.
	Unlinked bool
	// LTO reports that the linker makes the code: functions may have been inlined, computed or removed then.
	LTO   bool
	Funcs []Absent // Why is Unprobed, or 0 for functions with a probe
	Refs  []Refs   // with LTO, ascending by From
}

// Refs are the names to which the code of a function, or data, refers.
type Refs struct {
	From string
	To   []string // ascending
}

// MarkInlined marks the functions of which code has lines: it was inlined there. A line belongs to the function
// that is defined last before it.
func MarkInlined(funcs, code []Absent) {
	type start struct {
		line uint32
		fn   int
	}
	starts := map[string][]start{} // by file, ascending
	for i := range funcs {
		if a := &funcs[i]; a.Line > 0 {
			starts[a.Source] = append(starts[a.Source], start{a.Line, i})
		}
	}
	for _, list := range starts {
		stablesort.Func(list, func(a, b start) int { return cmp.Compare(a.line, b.line) })
	}
	for i := range code {
		own := &code[i]
		for _, r := range own.Lines {
			list := starts[r.File]
			k, _ := slices.BinarySearchFunc(list, r.From+1, func(s start, line uint32) int { return cmp.Compare(s.line, line) })
			for k = max(k-1, 0); k < len(list) && list[k].line <= r.To; k++ {
				if fn := &funcs[list[k].fn]; fn != own && (fn.Line != own.Line || fn.Source != own.Source) {
					fn.Inlined = true
				}
			}
		}
	}
}
