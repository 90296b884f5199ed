package model

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Scopes returns inlined functions. The Code of a module may implement it.
type Scopes interface {
	// Pieces returns the parts of [lo, hi) that have the same functions, outermost first.
	Pieces(lo, hi uint64) iter.Seq2[[2]uint64, []coverage.Frame]
}

// lines adds the states of source lines.
func (b *builder) lines() {
	files, unplaced := b.analysis.Files()
	rules := coverage.PathRules{System: b.in.System}
	if n := rules.LeftOut(files); n.Files > 0 {
		b.m.Limits = append(b.m.Limits, fmt.Sprintf("%s of the compiler or the system, with %s, %s left out (--system-headers includes them).",
			report.Plural(n.Files, "file"), report.Plural(n.Lines, "line"), report.Either(uint64(n.Files), "is", "are")))
	}
	files = rules.Apply(files)
	unbranched := 0
	excluded := b.exclude(files)
	for i := range files {
		f := &files[i]
		at := b.file(f.File)
		if at < 0 {
			continue
		}
		src, sum := &b.sources[at], &b.m.Files[at].Lines
		for _, l := range f.Lines {
			src.Lines = append(src.Lines, [5]int{l.Number, int(l.State), int(min(l.Runs, 1<<40))})
			if l.Times > 0 {
				src.Times = append(src.Times, [2]int{l.Number, int(min(l.Times, 1<<53))})
			}
			sum[column(int(l.State))]++
		}
		if t := f.BranchTally(); t != (coverage.BranchTally{}) {
			b.m.Files[at].Branches = &[3]int{t.Taken, t.Missed, t.Unknown}
		}
		unbranched += f.Unbranched
	}
	if n := excluded.Lines; n > 0 {
		b.m.Limits = append(b.m.Limits, fmt.Sprintf("%s not counted, because markers in the sources exclude %s (--no-markers counts them).",
			report.Plural(n, "line")+report.Either(uint64(n), " is", " are"), report.Either(uint64(n), "it", "them")))
	}
	if unbranched > 0 {
		b.m.Limits = append(b.m.Limits, fmt.Sprintf("Branches of %s are not recorded: native code that was built in the modes block, full and edge has them.",
			report.Plural(unbranched, "function")))
	}
	known := false
	for i := range b.in.Modules {
		known = known || b.in.Modules[i].Lines != nil
	}
	if unplaced > 0 && known {
		b.m.Limits = append(b.m.Limits, fmt.Sprintf("%d functions have no known source line.", unplaced))
	}
	b.blocksOfLines()
}

// exclude removes what markers in the sources exclude.
func (b *builder) exclude(files []coverage.SourceFile) (sum coverage.Excluded) {
	if !b.in.Markers || b.in.Texts == nil {
		return sum
	}
	for i := range files {
		if _, err := b.in.Texts.Find(files[i].File); err != nil {
			continue // the file's view says why it has no text
		}
		text, err := b.in.Texts.Read(files[i].File)
		if err != nil {
			continue
		}
		var n coverage.Excluded
		files[i], n = coverage.ReadMarkers(text, true, nil, nil).Exclude(&files[i])
		sum = sum.Plus(n)
	}
	return sum
}

// column is where a state is in the counts of files and functions: ran, did not, unknown.
func column(state int) int {
	switch coverage.State(state) {
	case coverage.Ran:
		return 0
	case coverage.Missed:
		return 1
	}
	return 2
}

// blocksOfLines counts the blocks that have code of each line.
func (b *builder) blocksOfLines() {
	type place struct{ file, line int }
	for i := range b.in.Modules {
		m := &b.in.Modules[i]
		if m.Lines == nil {
			continue
		}
		seen := map[place]bool{}
		for k := range m.Funcs {
			fn := &m.Funcs[k]
			if !fn.Mode.HasBlocks() {
				continue
			}
			for blk := range coverage.Blocks(fn) {
				clear(seen)
				for path, line := range m.Lines.Lines(blk.Lo, blk.Hi) {
					at, ok := b.byFile[path]
					if ok && !seen[place{at, line}] {
						seen[place{at, line}] = true
						b.sources[at].block(line, m.Counts[k].Covered(blk.Index))
					}
				}
			}
		}
	}
}

// line returns the record of a line, nil if it has no code.
func (s *Source) line(n int) *[5]int {
	i, ok := slices.BinarySearchFunc(s.Lines, n, func(l [5]int, n int) int { return l[0] - n })
	if !ok {
		return nil
	}
	return &s.Lines[i]
}

// block counts a block with code of a line.
func (s *Source) block(line int, ran bool) {
	if l := s.line(line); l != nil {
		l[4]++
		if ran {
			l[3]++
		}
	}
}

// copyKey is a copy of a function that was inlined.
type copyKey struct {
	into  int
	chain string // the calls that lead to it
}

// inlining collects what was inlined; the values are whether it ran.
type inlining struct {
	calls  map[int]map[InlinedCall]bool // by file
	copies map[int]map[copyKey]bool     // by callee
}

// codePiece is code of a function, into which all frames but the first were inlined.
type codePiece struct {
	function int
	at       [2]uint64
	frames   []coverage.Frame
	ran      bool
}

// inlined finds inlined functions, and the ends of functions.
func (b *builder) inlined() {
	known := len(b.m.Functions)
	in := inlining{map[int]map[InlinedCall]bool{}, map[int]map[copyKey]bool{}}
	for i := range b.in.Modules {
		m := &b.in.Modules[i]
		scopes, ok := m.Code.(Scopes)
		if m.Lines == nil || m.Code == nil || !ok {
			continue
		}
		for k := range m.Funcs {
			id := b.byFunc[&m.Funcs[k]]
			for blk := range coverage.Blocks(&m.Funcs[k]) {
				ran := m.Counts[k].Covered(blk.Index)
				for at, frames := range scopes.Pieces(blk.Lo, blk.Hi) {
					b.piece(m, &codePiece{id, at, frames, ran}, &in)
				}
			}
		}
	}
	for callee, set := range in.copies {
		all := &Inlined{Into: []int{}}
		for key, ran := range set {
			all.Copies++
			if ran {
				all.Ran++
			}
			if !slices.Contains(all.Into, key.into) {
				all.Into = append(all.Into, key.into)
			}
		}
		slices.Sort(all.Into)
		b.m.Functions[callee].Inlined = all
	}
	for file, set := range in.calls {
		for c, ran := range set {
			if ran {
				c.Ran = 1
			}
			b.sources[file].Inlined = append(b.sources[file].Inlined, c)
		}
		stablesort.Func(b.sources[file].Inlined, func(x, y InlinedCall) int {
			return cmp.Or(x.Line-y.Line, x.Callee-y.Callee, x.Into-y.Into)
		})
	}
	b.linesOfFunctions(known)
}

// piece adds a piece of code: the lines of its function, and the calls that were inlined.
func (b *builder) piece(m *coverage.Module, p *codePiece, in *inlining) {
	fn, frames := &b.m.Functions[p.function], p.frames
	// Line tables begin where the body does, and definitions some lines before.
	if line := frameLine(frames); line > 0 && line < fn.Line && fn.Line-line < maxHead {
		fn.Line = line
	}
	if len(frames) <= 1 {
		for path, line := range m.Lines.Lines(p.at[0], p.at[1]) {
			if fn.File >= 0 && b.m.Files[fn.File].Path == path {
				fn.End = max(fn.End, line)
			}
		}
		return
	}
	var chain strings.Builder
	for k := range frames[1:] {
		f := &frames[k+1]
		file := ""
		if k+2 == len(frames) { // the innermost: the lines of the code are its own
			for path := range m.Lines.Lines(p.at[0], p.at[0]+1) {
				file = path
			}
		}
		callee := b.function(f.Func, file, f.Line)
		if c := &b.m.Functions[callee]; c.File < 0 && file != "" {
			c.File = b.file(file)
		}
		fmt.Fprintf(&chain, "%s\x00%s\x00%d\x00", f.Func, f.CallFile, f.CallLine)
		set(in.copies, callee, copyKey{p.function, chain.String()}, p.ran)
		if file := b.file(f.CallFile); file >= 0 && f.CallLine > 0 {
			set(in.calls, file, InlinedCall{Line: f.CallLine, Callee: callee, Into: p.function}, p.ran)
		}
	}
}

// maxHead is how many lines a function's head has at most, from its name to its body.
const maxHead = 100

// frameLine returns the line that the outermost function is defined on, 0 if it is not known.
func frameLine(frames []coverage.Frame) int {
	if len(frames) == 0 {
		return 0
	}
	return frames[0].Line
}

// set records in one of many sets that an element exists, and whether it ran.
func set[K comparable](sets map[int]map[K]bool, of int, key K, ran bool) {
	if sets[of] == nil {
		sets[of] = map[K]bool{}
	}
	sets[of][key] = sets[of][key] || ran
}

// linesOfFunctions gives each function the states of its lines. The ends are known only for
// the first functions; others end at the beginning of the next one.
func (b *builder) linesOfFunctions(known int) {
	byFile := make([][]int, len(b.m.Files))
	for i := range b.m.Functions {
		if f := &b.m.Functions[i]; f.File >= 0 && f.Line > 0 {
			byFile[f.File] = append(byFile[f.File], i)
		}
	}
	for file, list := range byFile {
		stablesort.Func(list, func(x, y int) int { return b.m.Functions[x].Line - b.m.Functions[y].Line })
		lines := b.sources[file].Lines
		for n, i := range list {
			f := &b.m.Functions[i]
			next := b.nextFunction(list[n:])
			if f.End < f.Line || i >= known || f.End >= next {
				f.End = f.Line
				for _, l := range lines {
					if l[0] >= f.Line && l[0] < next {
						f.End = max(f.End, l[0])
					}
				}
			}
			f.countLines(lines)
		}
	}
}

// nextFunction returns the line on which the first function after list[0] begins. A function
// defined inside of it, such as a lambda, is part of it. Code of a function can have lines of
// others even without inlining, because compilers share code between functions.
func (b *builder) nextFunction(list []int) int {
	first := b.m.Functions[list[0]].Line
	for _, i := range list[1:] {
		f := &b.m.Functions[i]
		if f.Line > first && !strings.Contains(f.Name, "{lambda") && !strings.Contains(f.Symbol, "$_") {
			return f.Line
		}
	}
	return math.MaxInt
}

// countLines counts the lines of a function by their states.
func (f *Function) countLines(lines [][5]int) {
	var sum [3]int
	from, _ := slices.BinarySearchFunc(lines, f.Line, func(l [5]int, n int) int { return l[0] - n })
	for _, l := range lines[from:] {
		if l[0] > f.End {
			break
		}
		sum[column(l[1])]++
	}
	if sum != [3]int{} {
		f.Lines = &sum
	}
}
