package model

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/profile/callgraph"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/prof"
)

func number(n int) string { return strconv.Itoa(n) }

// profile adds the modules and functions of the profile.
func (b *builder) profile() {
	rules := coverage.PathRules{System: b.in.System}
	ran := map[copyOf]bool{} // any copy, in any module
	for i := range b.in.Modules {
		m := &b.in.Modules[i]
		sum := coverage.Summarize(m.Module)
		mod := Module{
			Name: m.Module.Module, BuildID: m.BuildID.String(), Machine: m.Machine, Modes: []string{}, Runs: m.Raws,
			Functions: tally(sum.Functions), Blocks: tally(sum.Blocks), Lines: m.Lines != nil,
		}
		for _, mode := range sum.Modes {
			mod.Modes = append(mod.Modes, mode.String())
		}
		list := sourcefunc.Of(&m.Map)
		mod.Functions = Tally{0, len(list)}
		for k := range list {
			if list[k].Ran(m.Module) {
				mod.Functions[0]++
			}
			file := b.source(i, m, &list[k])
			if _, ok := rules.Path(file); !ok {
				continue
			}
			at := copyOf{}
			var known bool
			if at.SourceID, known = m.SourceID(&list[k]); !known {
				at.module = i + 1
			}
			ran[at] = ran[at] || list[k].Ran(m.Module)
		}
		b.m.Modules = append(b.m.Modules, mod)
	}
	b.m.Runs, b.m.AtLeast = processes(b.m.Modules)
	for _, any := range ran {
		b.defined.Total++
		if any {
			b.defined.Covered++
		}
	}
	for _, p := range rules.ApplyPaths(b.analysis.Paths(func(string, int) bool { return true })) {
		if at := b.file(p.File); at >= 0 {
			f := &b.m.Files[at]
			f.Functions, f.Blocks = tally(p.Functions), tally(p.Blocks)
		}
	}
}

// processes returns how many processes ran. Each module of a process writes a raw file. A process has one program,
// and may have any libraries: those of programs without probes cannot be told from those of the others, so that
// there may have been more.
func processes(modules []Module) (n uint64, atLeast bool) {
	programs, most := uint64(0), uint64(0)
	for i := range modules {
		m := &modules[i]
		if isLibrary(m.Name) {
			atLeast = atLeast || m.Runs > 0
		} else {
			programs += m.Runs
		}
		most = max(most, m.Runs)
	}
	return max(programs, most), atLeast
}

// isLibrary reports whether a module has the name of a shared library.
func isLibrary(name string) bool {
	return strings.HasSuffix(name, ".so") || strings.Contains(name, ".so.") || strings.HasSuffix(name, ".dylib") || strings.HasSuffix(name, ".node")
}

func tally(t coverage.Tally) Tally { return Tally{t.Covered, t.Total} }

// copyOf identifies a function of the source in all modules.
type copyOf struct {
	coverage.SourceID
	module int // the module's number plus 1, if the function can only be identified in it
}

// source adds a function of the source, and returns the file in which it is defined.
func (b *builder) source(module int, m *coverage.Module, src *sourcefunc.Func) (file string) {
	first := &m.Funcs[src.Funcs[0]]
	c := src.Counts(m.Module)
	file, line := m.Definition(first)
	f := Function{
		Symbol: src.Name, Module: module, File: b.file(file), Line: line, Address: first.Addr(), Mode: first.Mode.String(),
		Runs: c.Runs, Of: m.RunsOf(&c), Order: c.MeanOrder(),
	}
	if first.Mode.HasCalls() {
		f.Calls, f.AtLeast = &c.Calls, c.Inexact || src.Split
	}
	var blocks coverage.Tally
	var bits strings.Builder
	for n, k := range src.Funcs {
		fn, counts := &m.Funcs[k], &m.Counts[k]
		f.Size += fn.Size()
		part := Part{Symbol: fn.Name, Address: fn.Addr(), Size: fn.Size(), Runs: counts.Runs}
		if fn.Mode.HasCalls() {
			part.Calls = &counts.Calls
		}
		if fn.Mode.HasBlocks() {
			t := coverage.FuncBlocks(fn, counts)
			blocks = blocks.Plus(t)
			own := tally(t)
			part.Blocks = &own
			if n > 0 {
				bits.WriteByte(' ')
			}
			writeBits(&bits, fn, counts)
		}
		if len(src.Funcs) > 1 || fn.Name != src.Name {
			f.Parts = append(f.Parts, part)
		}
	}
	if blocks.Total > 0 {
		t := tally(blocks)
		f.Blocks, f.Bits = &t, bits.String()
	}
	id := b.add(f)
	for _, k := range src.Funcs {
		b.byFunc[&m.Funcs[k]] = id
	}
	return file
}

// writeBits writes which blocks ran.
func writeBits(b *strings.Builder, f *prof.Func, c *prof.Counts) {
	for i := range f.NumBlocks() {
		if c.Covered(i) {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	}
}

// callGraph adds the edges of the profile.
func (b *builder) callGraph() {
	g := callgraph.Build(b.in.Profile, true)
	ids := make([]int, len(g.Nodes))
	for i, n := range g.Nodes {
		switch {
		case n.Module >= 0:
			ids[i] = b.byFunc[&b.in.Profile.Modules[n.Module].Funcs[n.Func]]
		case n.Name == callgraph.Outside:
			ids[i] = -1
		default:
			ids[i] = b.function(n.Name, "", 0)
		}
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		from, to := ids[e.From], ids[e.To]
		if from < 0 || to < 0 || from == to && e.From != e.To { // a part of the function itself
			continue
		}
		edge := b.edge(from, to)
		if kind := e.Kind.String(); edge.Kind == "" || edge.Kind == callgraph.Possible.String() || e.Kind == callgraph.Observed {
			edge.Kind = kind
		}
		edge.Runs += e.Runs
	}
}

// uncertain adds messages about data that the profile does not contain.
func (b *builder) uncertain() {
	say := func(format string, args ...any) { b.m.Uncertain = append(b.m.Uncertain, fmt.Sprintf(format, args...)) }
	for i := range b.in.Modules {
		m := &b.in.Modules[i]
		name := m.Module.Module
		if text := coverage.InexactText(m.Module); text != "" {
			say("%s: %s.", name, text)
		}
		if m.Lines == nil {
			say("%s: source lines are unknown, because no binary or debug file of build %s with debug information was given.", name, m.BuildID.Short())
		}
		if n := len(m.Traces); m.TracesSeen > uint64(n) {
			say("%s: the order of first executions is known for a sample of %d of %d runs.", name, n, m.TracesSeen)
		}
		cut := 0
		for k := range m.Traces {
			if m.Traces[k].Cut {
				cut++
			}
		}
		if cut > 0 {
			say("%s: %d of %d runs executed more functions than the order buffer holds; their first functions are missing.", name, cut, len(m.Traces))
		}
		if m.Held.Sketch {
			say("%s: which runs the profile contains is recorded approximately; about one new run in a million is wrongly omitted when merged.", name)
		}
	}
	unknown, lines := 0, 0
	for i := range b.m.Files {
		l := b.m.Files[i].Lines
		unknown += l[2]
		lines += l[0] + l[1] + l[2]
	}
	if unknown > 0 {
		why := "none of the code that the optimiser kept of them ran, which does not prove that they did not run"
		if !b.m.recordsLines() {
			why = "only that functions ran was recorded; builds with --mode block record lines"
		}
		say("%s of %s source lines have an unknown state: %s.", report.Count(unknown), report.Count(lines), why)
	}
}
