package pages

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Symbol is a function symbol of a linked program.
type Symbol struct {
	Name string // mangled
	Addr uint64 // link-time address
	Size uint64 // bytes; 0 if the symbol table does not have it
}

// FromMap returns the layout of the program with map m. Its functions have the same indexes as
// those of m.
func FromMap(text Span, m *prof.Map) *Layout {
	l := &Layout{Text: text, Funcs: make([]Func, len(m.Funcs))}
	for i := range m.Funcs {
		f := &m.Funcs[i]
		l.Funcs[i].Name = f.Name
		for _, fr := range f.Fragments {
			l.Funcs[i].Spans = append(l.Funcs[i].Spans, Span{fr.Addr, uint64(fr.Size)})
		}
	}
	return l
}

// FromSymbols returns the layout that a symbol table describes. Symbols outside of text are
// skipped. One without a size extends to the next. The parts f.cold and f.part are separate
// functions, and also spans of f if there is only one f.
func FromSymbols(text Span, symbols []Symbol) *Layout {
	symbols = slices.Clone(symbols)
	stablesort.Func(symbols, func(a, b Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
	l := &Layout{Text: text}
	for len(symbols) > 0 {
		n := 1
		for n < len(symbols) && symbols[n].Addr == symbols[0].Addr {
			n++
		}
		next := text.End()
		if n < len(symbols) {
			next = min(next, symbols[n].Addr)
		}
		if f := oneAddress(symbols[:n], next); f.Spans[0].clip(text).Size > 0 {
			l.Funcs = append(l.Funcs, f)
		}
		symbols = symbols[n:]
	}
	l.attachPieces()
	return l
}

// oneAddress merges the symbols at one address into a function, which ends at next if none of
// them has a size.
func oneAddress(symbols []Symbol, next uint64) Func {
	f := Func{Name: symbols[0].Name}
	s := Span{Addr: symbols[0].Addr}
	for i := range symbols {
		s.Size = max(s.Size, symbols[i].Size)
		if i > 0 {
			f.Aliases = append(f.Aliases, symbols[i].Name)
		}
	}
	if s.Size == 0 && next > s.Addr {
		s.Size = next - s.Addr
	}
	f.Spans = []Span{s}
	return f
}

// attachPieces adds the split parts to their functions, unless they are ambiguous.
func (l *Layout) attachPieces() {
	byName := l.byName()
	for i := range l.Funcs {
		if owner := ownerOf(l.Funcs[i].Name); owner != "" && len(byName[owner]) == 1 {
			f := &l.Funcs[byName[owner][0]]
			f.Spans = append(f.Spans, l.Funcs[i].Spans[0])
		}
	}
}

// ownerOf returns the name of the function that a symbol is a split part of, or "" if it is
// none.
func ownerOf(symbol string) string {
	for _, suffix := range []string{".cold", ".part"} {
		owner, number, ok := strings.Cut(symbol, suffix)
		if ok && (number == "" || number[0] == '.' && isNumber(number[1:])) {
			return owner
		}
	}
	return ""
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// byName returns the functions of each name and alias, by address.
func (l *Layout) byName() map[string][]int {
	index := make(map[string][]int, len(l.Funcs))
	for i := range l.Funcs {
		f := &l.Funcs[i]
		index[f.Name] = append(index[f.Name], i)
		for _, a := range f.Aliases {
			if fs := index[a]; len(fs) == 0 || fs[len(fs)-1] != i {
				index[a] = append(fs, i)
			}
		}
	}
	return index
}

// Extents returns the steps of a trace in the layout, each function with its first span, and
// the number of functions of the trace that are not in the layout. Functions that the linker
// folded are one step.
func (l *Layout) Extents(match *Match, trace []uint32) (steps []Step, missing int) {
	return l.steps(match, trace, func(_ uint32, at int) []Span { return l.Funcs[at].Spans[:1] })
}

// Blocks is Extents with only the blocks of each function that ran in any run of the module,
// instead of the whole function; split parts included. A function whose code has another size
// in the layout is treated as in Extents.
func (l *Layout) Blocks(m *prof.Module, match *Match, trace []uint32) (steps []Step, missing int) {
	return l.steps(match, trace, func(f uint32, at int) []Span {
		if spans := blockSpans(&m.Funcs[f], &m.Counts[f], l.Funcs[at].Spans); len(spans) > 0 {
			return spans
		}
		return l.Funcs[at].Spans[:1]
	})
}

func (l *Layout) steps(match *Match, trace []uint32, spans func(f uint32, at int) []Span) (steps []Step, missing int) {
	seen := make([]bool, len(l.Funcs))
	for _, f := range trace {
		if int(f) >= len(match.Funcs) || match.Funcs[f] < 0 {
			missing++
			continue
		}
		at := match.Funcs[f]
		if !seen[at] {
			seen[at] = true
			steps = append(steps, Step{Func: at, Spans: spans(f, at)})
		}
	}
	return steps, missing
}

// blockSpans returns the blocks of f that ran, at their positions in the layout; nil if f has
// no blocks or its parts are not those of the layout.
func blockSpans(f *prof.Func, c *prof.Counts, now []Span) []Span {
	if !f.Mode.HasBlocks() || now[0].Size != uint64(f.Fragments[0].Size) {
		return nil
	}
	pieces := slices.Clone(now[1:])
	var spans []Span
	block := 0
	for k := range f.Fragments {
		fr := &f.Fragments[k]
		at, starts := now[0].Addr, append([]uint32{0}, fr.Blocks...)
		if k > 0 {
			i := slices.IndexFunc(pieces, func(s Span) bool { return s.Size == uint64(fr.Size) })
			if i < 0 {
				return nil
			}
			at, starts = pieces[i].Addr, fr.Blocks
			pieces = slices.Delete(pieces, i, i+1)
		}
		for i, start := range starts {
			end := fr.Size
			if i+1 < len(starts) {
				end = starts[i+1]
			}
			if c.Covered(block) && end > start {
				spans = append(spans, Span{at + uint64(start), uint64(end - start)})
			}
			block++
		}
	}
	return spans
}
