package linkmap

import (
	"cmp"
	"path"
	"slices"

	"github.com/cairnprof/cairn/format/golines"
	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/gobuild/functable"
	"github.com/cairnprof/cairn/internal/gobuild/rewrite"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// contents collects what the packages of a program contain, linked or not: the lines and statements of
// functions, and the functions that the program lacks.
type contents struct {
	table *functable.Table // of the current package
	lines golines.Table
	units []prof.Unit // of packages of which something is absent
}

func newContents() *contents {
	return &contents{lines: golines.Table{Profile: map[string]string{}}}
}

// begin begins a package.
func (c *contents) begin(t *functable.Table) { c.table = t }

// linked adds a function of the map.
func (c *contents) linked(f *prof.Func, fn *rewrite.Func) {
	c.lines.Places = append(c.lines.Places, places(f, fn)...)
	c.statements(fn, golines.Func{Addr: f.Addr()})
}

// dropped adds a function that is not in the program.
func (c *contents) dropped(fn *rewrite.Func) {
	c.absent(fn, 0, "")
	c.statements(fn, golines.Func{})
}

// unprobed adds a function of which nothing is recorded.
func (c *contents) unprobed(fn *rewrite.Func, why string) {
	c.absent(fn, prof.Unprobed, why)
	c.statements(fn, golines.Func{Unprobed: true})
}

func (c *contents) absent(fn *rewrite.Func, why prof.Absence, note string) {
	if n := len(c.units); n == 0 || c.units[n-1].File != c.table.Import {
		c.units = append(c.units, prof.Unit{File: c.table.Import})
	}
	u := &c.units[len(c.units)-1]
	u.Funcs = append(u.Funcs, prof.Absent{
		Name: symbolName(c.table, fn), File: fn.File, Why: why, Note: note, Source: fn.File, Line: uint32(fn.Line), Lines: lineRanges(fn),
	})
}

// statements adds the statements of a function.
func (c *contents) statements(fn *rewrite.Func, f golines.Func) {
	f.File = cmp.Or(fn.UnitFile, fn.File)
	for _, u := range fn.Units {
		f.Units = append(f.Units, golines.Unit(u))
	}
	c.lines.Funcs = append(c.lines.Funcs, f)
	// Files that are given on the command line are in a package without a path.
	if c.table.Import != "command-line-arguments" && c.table.Import != "" {
		c.lines.Profile[f.File] = c.table.Import + "/" + path.Base(f.File)
	}
}

// sections returns the sections of units and of lines.
func (c *contents) sections() (units, lines []byte, err error) {
	units = []byte{} // without content it would be memory
	for i := range c.units {
		if units, err = mip.AppendUnit(units, &c.units[i]); err != nil {
			return nil, nil, err
		}
	}
	c.lines.Sort()
	return units, c.lines.Append(nil), nil
}

// places returns the lines of the blocks of a function.
func places(f *prof.Func, fn *rewrite.Func) []golines.Place {
	var list []golines.Place
	first := &f.Fragments[0]
	for i, lines := range fn.Blocks {
		if len(lines) == 0 {
			continue
		}
		p := golines.Place{Addr: f.BlockAddr(i), File: f.File, Lines: ranges(lines)}
		if len(fn.Blocks) == 1 {
			p.Size, p.Rest = uint64(first.Size), ranges(fn.Rest)
		}
		list = append(list, p)
	}
	return list
}

func ranges(lines []rewrite.Lines) (list []golines.Range) {
	for _, l := range lines {
		list = append(list, golines.Range(l))
	}
	return list
}

// lineRanges returns all lines of a function, ascending.
func lineRanges(fn *rewrite.Func) (list []prof.LineRange) {
	lines := slices.Concat(append(slices.Clone(fn.Blocks), fn.Rest)...)
	stablesort.Func(lines, func(a, b rewrite.Lines) int { return cmp.Compare(a.From, b.From) })
	for _, l := range lines {
		if n := len(list); n > 0 && uint32(l.From) <= list[n-1].To+1 {
			list[n-1].To = max(list[n-1].To, uint32(l.To))
			continue
		}
		list = append(list, prof.LineRange{File: fn.File, From: uint32(l.From), To: uint32(l.To)})
	}
	return list
}
