// Package pages predicts which pages of a program's code a run touches, from the
// addresses of functions and the order in which the run first executed them. It is pure.
//
// A page is touched when a function on it runs; a function counts with its full extent,
// because its code rarely ends before its last page. Counting only entries would miss up to a
// quarter of the pages. Split parts (.cold) count only if block coverage shows that they ran.
// Code without probes, such as the C library's start-up code, is in no trace.
package pages

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// Span is a contiguous range of code, at its link-time address.
type Span struct {
	Addr uint64
	Size uint64 // bytes
}

// End returns the address after the span.
func (s Span) End() uint64 { return s.Addr + s.Size }

// clip returns the part of s in text.
func (s Span) clip(text Span) Span {
	lo, hi := max(s.Addr, text.Addr), min(s.End(), text.End())
	if hi <= lo || s.End() < s.Addr {
		return Span{}
	}
	return Span{lo, hi - lo}
}

// Step is the first execution of a function: the code that ran because of it.
type Step struct {
	Func  int // index into Layout.Funcs
	Spans []Span
}

// Page is the state of a page after a run.
type Page struct {
	Step  int    // the step that touched it first, from 1; 0 if none did
	Bytes uint64 // of the page, in the spans of the steps
}

// Run has the state of the pages of the text section after a run.
type Run struct {
	PageSize uint64 // bytes
	Addr     uint64 // of the first page
	Pages    []Page // all of the text section, ascending by address
	Bytes    uint64 // in the spans of all steps
	Curve    []int  // Curve[t] is the number of pages touched after t+1 steps
	Least    []int  // the pages that the same number of bytes fills: no layout touches fewer
}

// Compute returns the pages of text that steps touch. The page size is in bytes and a power of
// two; text must not end after the last address. Parts of a step outside of text are ignored.
func Compute(text Span, steps []Step, pageSize uint64) *Run {
	r := &Run{
		PageSize: pageSize, Addr: text.Addr &^ (pageSize - 1),
		Curve: make([]int, len(steps)), Least: make([]int, len(steps)),
	}
	if text.Size > 0 {
		r.Pages = make([]Page, (text.End()-1-r.Addr)/pageSize+1)
	}
	touched := 0
	for t, step := range steps {
		for _, s := range step.Spans {
			touched += r.touch(s.clip(text), t+1)
		}
		r.Curve[t] = touched
		r.Least[t] = int((r.Bytes + pageSize - 1) / pageSize)
	}
	return r
}

// touch marks the pages of s and returns how many were not touched before.
func (r *Run) touch(s Span, step int) int {
	fresh := 0
	r.Bytes += s.Size
	for addr := s.Addr; addr < s.End(); {
		i := (addr - r.Addr) / r.PageSize
		end := min(s.End(), r.Addr+(i+1)*r.PageSize)
		p := &r.Pages[i]
		if p.Step == 0 {
			p.Step = step
			fresh++
		}
		p.Bytes += end - addr
		addr = end
	}
	return fresh
}

// Touched returns the number of pages touched.
func (r *Run) Touched() int {
	if len(r.Curve) == 0 {
		return 0
	}
	return r.Curve[len(r.Curve)-1]
}

// Bound returns the number of pages that the bytes of all steps fill. No order
// of functions touches fewer.
func (r *Run) Bound() int {
	if len(r.Least) == 0 {
		return 0
	}
	return r.Least[len(r.Least)-1]
}

// Area returns the mean of the curve: the pages touched so far, averaged over the steps. Of
// two layouts with the same number of pages, the one with the smaller area needs them later.
func (r *Run) Area() float64 {
	if len(r.Curve) == 0 {
		return 0
	}
	sum := 0
	for _, n := range r.Curve {
		sum += n
	}
	return float64(sum) / float64(len(r.Curve))
}

// Func is a function of a layout.
type Func struct {
	Name    string   // symbol name, mangled
	Aliases []string // further names of the same address
	// Spans are its parts, at least one. The first starts at its entry; the others were split
	// off, and may also be separate functions.
	Spans []Span
}

// Layout has the positions of the functions of a linked program.
type Layout struct {
	Text  Span
	Funcs []Func
}

// OnPages returns, for each page of the text section, the functions with code on it, as
// indexes into Funcs, by address.
func (l *Layout) OnPages(pageSize uint64) [][]int {
	if l.Text.Size == 0 {
		return nil
	}
	type piece struct {
		at Span
		fn int
	}
	var pieces []piece
	entries := make(map[uint64]bool, len(l.Funcs))
	for i := range l.Funcs {
		entries[l.Funcs[i].Spans[0].Addr] = true
	}
	for i := range l.Funcs {
		for k, s := range l.Funcs[i].Spans {
			// A split part with its own symbol is listed by that name.
			if s = s.clip(l.Text); s.Size > 0 && (k == 0 || !entries[s.Addr]) {
				pieces = append(pieces, piece{s, i})
			}
		}
	}
	stablesort.Func(pieces, func(a, b piece) int { return cmp.Compare(a.at.Addr, b.at.Addr) })
	first := l.Text.Addr / pageSize
	on := make([][]int, (l.Text.End()-1)/pageSize-first+1)
	for _, p := range pieces {
		for page := p.at.Addr / pageSize; page <= (p.at.End()-1)/pageSize; page++ {
			if fs := on[page-first]; !slices.Contains(fs, p.fn) {
				on[page-first] = append(fs, p.fn)
			}
		}
	}
	return on
}
