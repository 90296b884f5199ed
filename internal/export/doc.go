// Package export converts a profile to the formats of compilers, linkers and other
// profilers. It is pure.
//
// A profile has exact numbers of calls for each function, exact coverage of each block, and
// the callers that were observed or follow from the code. The formats also need how often each
// block and each call ran. Missing counts are derived, by these rules:
//
//   - All calls of a function are shared out among the places that call it. If
//     one place is known, it has them all. If there are several, each has a
//     share in proportion to how often its block ran.
//   - A block that ran and holds the only known call of a function ran as often
//     as that function was called.
//   - Any other block that ran did so as often as its function was called.
//   - A block that did not run has count 0.
//
// In modes with edges the count of each block is known, and a direct call was made as often as its block ran.
//
// Calls through pointers are known only if they were the first call of their function. Sums
// over all call sites of a function are exact in any case.
package export

import (
	"iter"

	"github.com/cairnprof/cairn/prof"
)

// Code returns the instructions of the binary that ran.
type Code interface {
	// Bytes returns the bytes of [lo, hi), or nil.
	Bytes(lo, hi uint64) []byte
}

// Frame is a function, or an inlined copy of one, at some address.
type Frame struct {
	Func          string // linkage name; "" if not known
	File          string // source file of Line; "" if not known
	Start         int    // line of the function's definition; 0 if not known
	Line          int    // line in the function: of the code, or of the call of the next frame
	Discriminator uint32 // of Line, as in DWARF
}

// Source returns the source locations of the binary that ran.
type Source interface {
	// Frames returns the frames of the instruction at addr: the function first, then inlined
	// functions.
	Frames(addr uint64) []Frame
	// Rows yields the addresses in [lo, hi) at which a line starts. The first is
	// lo if a line lies there.
	Rows(lo, hi uint64) iter.Seq[uint64]
	// Entry returns where the function that starts at addr is defined.
	Entry(addr uint64) (file string, line int)
}

// ran reports whether function i ran.
func ran(m *prof.Module, i int) bool { return m.Counts[i].Runs > 0 }

// weight returns the number of calls of function i, or if these were not counted, the number
// of runs in which it ran.
func weight(m *prof.Module, i int) uint64 {
	if m.Funcs[i].Mode.HasCalls() {
		return max(m.Counts[i].Calls, min(m.Counts[i].Runs, 1))
	}
	return m.Counts[i].Runs
}

// HasCalls reports whether any function of m has its calls counted.
func HasCalls(m *prof.Module) bool { return anyMode(m, prof.Mode.HasCalls) }

// HasBlocks reports whether any function of m has block coverage.
func HasBlocks(m *prof.Module) bool { return anyMode(m, prof.Mode.HasBlocks) }

// HasEdges reports whether any function of m has the executions of its edges.
func HasEdges(m *prof.Module) bool { return anyMode(m, prof.Mode.HasEdges) }

// HasCallers reports whether any function of m records callers.
func HasCallers(m *prof.Module) bool {
	for i := range m.Counts {
		if len(m.Counts[i].Callers) > 0 {
			return true
		}
	}
	return anyMode(m, func(mode prof.Mode) bool { return mode == prof.ModeFull })
}

// HasOrder reports whether m records the order in which functions first ran.
func HasOrder(m *prof.Module) bool {
	return len(m.Traces) > 0 || anyMode(m, prof.Mode.HasOrder)
}

func anyMode(m *prof.Module, is func(prof.Mode) bool) bool {
	for i := range m.Funcs {
		if is(m.Funcs[i].Mode) {
			return true
		}
	}
	return false
}
