// Package coverage converts the records of a profile to covered functions, blocks, and source
// lines. It is pure: its inputs are a profile and a line lookup, its outputs plain rows.
//
// Instrumentation records blocks, source files have lines, and one line may be spread over
// many blocks, or over many functions if it is inlined. A line ran if any block with an
// instruction of it did. If none did, the line may still have run: optimisers merge, move and
// drop its code. State distinguishes these cases.
package coverage

import (
	"fmt"
	"iter"
	"sort"

	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/prof"
)

// Lines looks source lines up by link-time address.
type Lines interface {
	// Entry returns the line of the function that starts at addr.
	Entry(addr uint64) (file string, line int, ok bool)
	// Lines yields the lines of the instructions in [lo, hi).
	Lines(lo, hi uint64) iter.Seq2[string, int]
}

// Doubtful is implemented by Lines that know of lines which need not run where their block does.
type Doubtful interface {
	// Doubtful yields those of Lines(lo, hi).
	Doubtful(lo, hi uint64) iter.Seq2[string, int]
}

// Module is a module with its line lookup and its code, both nil if there is none. Without
// code, all code of a line is assumed to be where lines locate it.
type Module struct {
	*prof.Module
	Lines Lines
	Code  Code
}

// Source returns where f is defined: file and line by the line lookup, or else the file that
// the compiler named and line 0.
func (m *Module) Source(f *prof.Func) (file string, line int) {
	if m.Lines != nil {
		if file, line, ok := m.Lines.Entry(f.Addr()); ok {
			return file, line
		}
	}
	return f.File, 0
}

// Block is a basic block, or a part of one: a function without block instrumentation is one
// block with as many parts as it has fragments.
type Block struct {
	Index  int    // 0 is the entry block
	Lo, Hi uint64 // link-time addresses [Lo, Hi)
}

// Blocks yields the blocks of f in the order of their indexes, block 0 first.
func Blocks(f *prof.Func) iter.Seq[Block] {
	return func(yield func(Block) bool) {
		index := 0
		for i := range f.Fragments {
			fr := &f.Fragments[i]
			end := fr.Addr + uint64(fr.Size)
			// Bytes before the first block belong to the entry block. After
			// the first fragment that happens only without block
			// instrumentation.
			if first := firstBlock(fr); first > fr.Addr && (i == 0 || !f.Mode.HasBlocks()) {
				if !yield(Block{0, fr.Addr, first}) {
					return
				}
			}
			for k, off := range fr.Blocks {
				index++
				hi := end
				if k+1 < len(fr.Blocks) {
					hi = fr.Addr + uint64(fr.Blocks[k+1])
				}
				if !yield(Block{index, fr.Addr + uint64(off), hi}) {
					return
				}
			}
		}
	}
}

// firstBlock returns the address of the first block that fr lists, or fr's end.
func firstBlock(fr *prof.Fragment) uint64 {
	if len(fr.Blocks) > 0 {
		return fr.Addr + uint64(fr.Blocks[0])
	}
	return fr.Addr + uint64(fr.Size)
}

// blockRuns returns the number of runs in which block i did.
func blockRuns(c *prof.Counts, i int) uint64 {
	switch {
	case i == 0:
		return c.Runs
	case i-1 < len(c.Blocks):
		return c.Blocks[i-1]
	}
	return 0
}

// Tally counts elements and how many of them were covered.
type Tally struct {
	Covered, Total int
}

// TallyJSON is a tally in JSON.
type TallyJSON struct {
	Covered int     `json:"covered"`
	Total   int     `json:"total"`
	Percent float64 `json:"percent"`
}

// JSON returns the tally as documents have it.
func (t Tally) JSON() TallyJSON { return TallyJSON{t.Covered, t.Total, t.Percent()} }

func (t *Tally) add(covered bool) {
	t.Total++
	if covered {
		t.Covered++
	}
}

// Plus returns the sum of two tallies.
func (t Tally) Plus(u Tally) Tally { return Tally{t.Covered + u.Covered, t.Total + u.Total} }

// Percent returns the covered share, which is 0 if there are no elements.
func (t Tally) Percent() float64 {
	if t.Total == 0 {
		return 0
	}
	return 100 * float64(t.Covered) / float64(t.Total)
}

// InexactText returns a line with the number of counts of m that are lower bounds, or "".
func InexactText(m *prof.Module) string {
	counted, inexact := 0, 0
	for i := range m.Counts {
		if m.Counts[i].Calls > 0 {
			counted++
		}
		if m.Counts[i].Inexact {
			inexact++
		}
	}
	if inexact == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d call counts are lower bounds: more than one thread may have counted (%s is exact)", inexact, counted, ExactOption(&m.Map))
}

// InexactLegend explains the mark >= of call counts of m.
func InexactLegend(m *prof.Map) string {
	return fmt.Sprintf(">= a lower bound: more than one thread may have counted (%s is exact), the counter wrapped, or --max-calls scaled a run", ExactOption(m))
}

// ExactOption returns the command and option that make call counts exact.
func ExactOption(m *prof.Map) string {
	if m.Go() {
		return "cairn go --mode count --atomic"
	}
	return "cc --atomic"
}

// FuncBlocks tallies the blocks of a function.
func FuncBlocks(f *prof.Func, c *prof.Counts) Tally {
	var t Tally
	for i := range f.NumBlocks() {
		t.add(c.Covered(i))
	}
	return t
}

// Summary is the total coverage of a module's runs.
type Summary struct {
	Modes     []prof.Mode // modes in use, ascending
	Functions Tally
	Blocks    Tally // of functions with block instrumentation
	Calls     uint64
	Inexact   bool // some function's calls are
	Callers   int  // first callers seen
}

// Summarize adds up a module.
func Summarize(m *prof.Module) Summary {
	var s Summary
	var modes [256]bool
	for i := range m.Funcs {
		f, c := &m.Funcs[i], &m.Counts[i]
		modes[f.Mode] = true
		s.Functions.add(c.Runs > 0)
		if f.Mode.HasBlocks() {
			s.Blocks = s.Blocks.Plus(FuncBlocks(f, c))
		}
		s.Calls = saturate.Add(s.Calls, c.Calls)
		s.Inexact = s.Inexact || c.Inexact
		s.Callers += len(c.Callers)
	}
	for m, ok := range modes {
		if ok {
			s.Modes = append(s.Modes, prof.Mode(m))
		}
	}
	return s
}

// Path is a source file and its coverage.
type Path struct {
	File      string // "" for functions of unknown origin
	Functions Tally
	Blocks    Tally
	Unknown   int // functions of which it is not known whether they ran
}

// Paths tallies functions of the source by the file they are defined in, ascending by file, of those that keep selects by
// the place of their definition. Functions that are in several modules count once. Functions that no module has of its own are among them, as far as the modules tell of them.
func (a *Analysis) Paths(keep func(file string, line int) bool) []Path {
	byFile := pathsByFile{}
	ran, counted, blocks := RanAnywhere(a.modules), map[SourceID]bool{}, sourceBlocks{}
	for i := range a.modules {
		m := &a.modules[i]
		for _, src := range sourcefunc.Of(&m.Map) {
			file, line := m.Definition(&m.Funcs[src.Funcs[0]])
			if !keep(file, line) {
				continue
			}
			p := byFile.path(file)
			if id, ok := m.SourceID(&src); !ok {
				p.Functions.add(src.Ran(m.Module))
			} else if !counted[id] {
				counted[id] = true
				p.Functions.add(ran[id])
			}
			for _, k := range src.Funcs {
				if f := &m.Funcs[k]; f.Mode.HasBlocks() {
					p.Blocks = p.Blocks.Plus(blocks.add(m, &src, f, &m.Counts[k]))
				}
			}
		}
	}
	for _, fn := range a.Absent() {
		if file, line := AbsentSource(fn.Absent); keep(file, line) {
			byFile.path(file).without(fn.Runs, !fn.Known)
		}
	}
	for _, fn := range a.Inlined() {
		if keep(fn.File, fn.Line) {
			byFile.path(fn.File).without(fn.Runs, fn.MaybeCalls)
		}
	}
	paths := make([]Path, 0, len(byFile))
	for _, p := range byFile {
		paths = append(paths, *p)
	}
	sort.Slice(paths, func(i, j int) bool { return paths[i].File < paths[j].File })
	return paths
}

// pathsByFile are source files by name.
type pathsByFile map[string]*Path

func (m pathsByFile) path(file string) *Path {
	if m[file] == nil {
		m[file] = &Path{File: file}
	}
	return m[file]
}

// without adds a function without code of its own, which ran where it was inlined in that many runs.
func (p *Path) without(runs uint64, unknown bool) {
	if runs == 0 && unknown {
		p.Unknown++
		return
	}
	p.Functions.add(runs > 0)
}
