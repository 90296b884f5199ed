package gather

import (
	"errors"
	"iter"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
)

// coverageCode is the code of a binary and the functions that contain it, for states of lines.
type coverageCode struct {
	*objfile.Code
	scopes *objfile.ScopeTable // nil if functions of code are not known
	files  *objfile.SourceFiles
	names  map[uint64]string // of functions and stubs
}

// newCoverageCode reads a binary that has line tables.
func newCoverageCode(bin *objfile.File) (coverage.Code, error) {
	c := &coverageCode{}
	var err error
	if c.Code, err = bin.Code(); err != nil {
		return nil, err
	}
	if c.names, err = bin.Stubs(); err != nil {
		return nil, err
	}
	symbols, err := bin.FuncSymbols()
	if err != nil {
		return nil, err
	}
	if c.names == nil {
		c.names = map[uint64]string{}
	}
	for _, s := range symbols {
		c.names[s.Addr] = s.Name
	}
	if c.scopes, err = bin.Scopes(); errors.Is(err, objfile.ErrNoScopes) {
		return c, nil
	} else if err != nil {
		return nil, err
	}
	c.files, err = bin.SourceFiles()
	return c, err
}

// Inlined reports whether a compiler may have inlined a function.
func (c *coverageCode) Inlined(f *coverage.Frame) bool {
	return c.scopes != nil && c.scopes.Inlined(f.Func, f.Line, sourcefunc.Stem(f.Func))
}

// AllInlined returns the functions that were inlined, also those of which no code is left, as far as compilers record that.
func (c *coverageCode) AllInlined() iter.Seq[coverage.Frame] {
	return func(yield func(coverage.Frame) bool) {
		if c.scopes == nil {
			return
		}
		for s := range c.scopes.AllInlined() {
			if !yield(coverage.Frame{Func: s.Name, File: c.files.Definition(&s), Line: s.Line}) {
				return
			}
		}
		for _, d := range c.scopes.ListedInlined() {
			if !yield(coverage.Frame{Func: d.Func, File: d.File, Line: d.Line}) {
				return
			}
		}
	}
}

// InlinedCalls returns the lines of the calls of a function that clang inlined.
func (c *coverageCode) InlinedCalls(name string) (lines []int, known bool) {
	if c.scopes == nil {
		return nil, false
	}
	return c.scopes.InlinedCalls(sourcefunc.Stem(name))
}

// Callee returns the name of the function at an address, or of the one that a stub there jumps to.
func (c *coverageCode) Callee(addr uint64) string { return c.names[addr] }

func (c *coverageCode) Frames(addr uint64) []coverage.Frame {
	if c.scopes == nil {
		return nil
	}
	return c.frames(c.scopes.At(addr))
}

// Pieces returns the parts of [lo, hi) that have the same frames, with these.
func (c *coverageCode) Pieces(lo, hi uint64) iter.Seq2[[2]uint64, []coverage.Frame] {
	return func(yield func([2]uint64, []coverage.Frame) bool) {
		if c.scopes == nil {
			yield([2]uint64{lo, hi}, nil)
			return
		}
		for piece, scopes := range c.scopes.Pieces(lo, hi) {
			if !yield(piece, c.frames(scopes)) {
				return
			}
		}
	}
}

func (c *coverageCode) frames(scopes []objfile.Scope) []coverage.Frame {
	frames := make([]coverage.Frame, len(scopes))
	for i := range scopes {
		s := &scopes[i]
		frames[i] = coverage.Frame{Func: s.Name, File: c.files.Definition(s), Line: s.Line, CallLine: s.CallLine, Records: s.Records, Late: s.Late, Lists: s.Lists}
		if s.CallLine > 0 {
			frames[i].CallFile = c.files.Caller(s)
		}
	}
	return frames
}

func (c *coverageCode) Plain(addr uint64) bool {
	if c.scopes == nil {
		return false
	}
	scopes := c.scopes.At(addr)
	return len(scopes) > 0 && scopes[0].Plain
}
