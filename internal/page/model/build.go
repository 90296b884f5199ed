package model

import (
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/quantile"
	"github.com/cairnprof/cairn/internal/calls/waiting"
	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/layout/pages"
	"github.com/cairnprof/cairn/internal/page"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/prof"
)

// Sources has the inputs of a report. Missing inputs are nil.
type Sources struct {
	Title     string
	Generator string
	Inputs    []Input
	Uncertain []string // messages from reading the inputs
	Limits    []string
	// System counts the lines of files of the compiler and the system (coverage.SystemFile).
	System bool
	// Markers excludes lines that markers in Texts exclude (coverage.ReadMarkers).
	Markers bool

	// Show returns the name to display for a symbol.
	Show func(symbol string) string

	Profile *prof.Profile
	Modules []coverage.Module // of Profile, with their lines and code if available
	Against *Against
	Program *Program
	Spikes  *spikes.Page
	Samples *profgen.Stacks
	Calls   *CallSource
	Texts   Texts

	Views

	// Close closes the files that the views read. It may be nil.
	Close func()
}

// Views are those whose data is made elsewhere.
type Views struct {
	// Timeline and Flame are copied into the model; their views load Blobs.
	Timeline, Flame any
	Blobs           []page.Blob
	// Find returns data that views load only from a server. It may be nil.
	Find func(path string) (page.Blob, bool)
}

// Against is a profile to compare with.
type Against struct {
	Path    string
	Profile *prof.Profile
}

// Program is the linked program of a module.
type Program struct {
	pages.Program
	Module int // index into the profile
	Name   string
	Edges  []order.Edge // the call graph, for the computed order
}

// CallSource is the calls of logs.
type CallSource struct {
	Trie    *calltrie.Trie
	Funcs   calllog.Funcs
	Unit    string
	Step    uint64 // of the clock, in nanoseconds
	Threads int
	Time    uint64 // of all threads together
}

// Texts finds source files.
type Texts interface {
	// Find returns the size of a file in bytes, or why it cannot be read.
	Find(path string) (size int64, err error)
	// Read returns the text of a file that Find has found.
	Read(path string) ([]byte, error)
}

// Report is a model and the data that its views load.
type Report struct {
	Model   *Model
	sources []Source // parallel to Model.Files, without their texts
	texts   Texts
	blobs   []page.Blob
	find    func(path string) (page.Blob, bool)
	close   func()
}

// builder builds a model.
type builder struct {
	in *Sources
	m  *Model

	bySymbol map[string][]int // functions by symbol, of the source
	byFunc   map[*prof.Func]int
	byFile   map[string]int
	edges    map[[2]int]int // into m.Edges
	sources  []Source       // parallel to m.Files
	defined  coverage.Tally // functions of the source that modules have
	analysis *coverage.Analysis
	absents  struct{ Total, Ran, Unknown int } // functions that no module has, or only where they were inlined
}

// Build builds the model.
func Build(in *Sources) *Report {
	b := &builder{
		in: in, bySymbol: map[string][]int{}, byFunc: map[*prof.Func]int{}, byFile: map[string]int{}, edges: map[[2]int]int{},
		m: &Model{
			Version: Version, Title: in.Title, Generator: in.Generator, Inputs: orEmpty(in.Inputs), Modules: []Module{},
			Figures: []Figure{}, Uncertain: orEmpty(in.Uncertain), Limits: orEmpty(in.Limits),
			Functions: []Function{}, Edges: []Edge{}, Files: []File{}, Timeline: in.Timeline, Flame: in.Flame,
		},
	}
	if in.Profile != nil {
		b.analysis = coverage.Analyse(in.Modules)
		b.profile()
		b.absent()
		b.inlinedOnly()
		b.lines()
		b.inlined()
		b.callGraph()
	}
	b.spikes()
	b.samples()
	b.calls()
	b.pages()
	b.changes()
	b.figures()
	b.uncertain()
	b.keys()
	b.m.Findings = findings(b.m)
	b.findTexts()
	return &Report{Model: b.m, sources: b.sources, texts: in.Texts, blobs: in.Blobs, find: in.Find, close: in.Close}
}

// orEmpty replaces nil by an empty list, which is [] and not null in JSON.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// file returns the index of a source file, -1 for "".
func (b *builder) file(path string) int {
	if path == "" {
		return -1
	}
	i, ok := b.byFile[path]
	if !ok {
		i = len(b.m.Files)
		b.byFile[path] = i
		b.m.Files = append(b.m.Files, File{Path: path})
		b.sources = append(b.sources, Source{Version: Version, Path: path, Lines: [][5]int{}, Inlined: []InlinedCall{}})
	}
	return i
}

// add adds a function.
func (b *builder) add(f Function) int {
	i := len(b.m.Functions)
	if name := b.in.Show(f.Symbol); name != f.Symbol {
		f.Name = name
	}
	b.m.Functions = append(b.m.Functions, f)
	b.bySymbol[f.Symbol] = append(b.bySymbol[f.Symbol], i)
	return i
}

// find returns the function whose code includes a symbol, if there is one. If several have the
// name, it is one that begins on line, or is in file, if these are known.
func (b *builder) find(symbol, file string, line int) (int, bool) {
	symbol = unversioned(symbol)
	list := b.bySymbol[sourcefunc.Name(symbol)]
	if len(list) == 0 {
		return 0, false
	}
	for _, i := range list {
		if line > 0 && b.m.Functions[i].Line == line {
			return i, true
		}
	}
	for _, i := range list {
		if at := b.m.Functions[i].File; file != "" && at >= 0 && b.m.Files[at].Path == file {
			return i, true
		}
	}
	return list[0], true
}

// unversioned removes the version of a dynamic symbol. Names of MSVC's C++ have none, but the same sign.
func unversioned(symbol string) string {
	if strings.HasPrefix(symbol, "?") {
		return symbol
	}
	name, _, _ := strings.Cut(symbol, "@")
	return name
}

// function is find, and adds the function if it is missing.
func (b *builder) function(symbol, file string, line int) int {
	if i, ok := b.find(symbol, file, line); ok {
		return i
	}
	symbol = unversioned(symbol)
	return b.add(Function{Symbol: sourcefunc.Name(symbol), Module: -1, File: b.file(file), Line: line})
}

// edge returns the edge between two functions.
func (b *builder) edge(from, to int) *Edge {
	key := [2]int{from, to}
	i, ok := b.edges[key]
	if !ok {
		i = len(b.m.Edges)
		b.edges[key] = i
		b.m.Edges = append(b.m.Edges, Edge{From: from, To: to})
	}
	return &b.m.Edges[i]
}

// calls adds the data of logs of calls.
func (b *builder) calls() {
	c := b.in.Calls
	if c == nil {
		return
	}
	sum := &Calls{Unit: c.Unit, Step: c.Step, Threads: c.Threads, Time: c.Time}
	split := waiting.Divide(c.Trie, func(fn calllog.FuncID) string { return c.Funcs[fn].Wait })
	waits := split.ByFunction()
	ids, latencies := map[calllog.FuncID]int{}, account.Latencies(c.Trie)
	for _, f := range account.Functions(c.Trie) {
		info := c.Funcs[f.Func]
		if info.Wait != "" {
			continue
		}
		i := b.function(c.Funcs.Name(f.Func), info.File, info.Line)
		ids[f.Func] = i
		sum.Calls += f.Calls
		if fn := &b.m.Functions[i]; fn.Time == nil {
			fn.Time = &Time{f.Calls, f.Total, f.Self, spreadOf(&f.Costs, latencies[f.Func]), f.Deduced + f.Open, waits[f.Func].Total}
		} else {
			fn.Time.add(&f.Costs, latencies[f.Func])
			fn.Time.Waits += waits[f.Func].Total
		}
	}
	sum.divide(split, ids)
	for _, e := range account.Edges(c.Trie) {
		from, ok := ids[e.Caller]
		to, also := ids[e.Callee]
		if ok && also {
			edge := b.edge(from, to)
			edge.Calls += e.Calls
			edge.Total += e.Total
		}
	}
	b.m.Calls = sum
}

// divide adds the waits. ids are the functions of the log.
func (s *Calls) divide(split *waiting.Division, ids map[calllog.FuncID]int) {
	if split == nil {
		return
	}
	s.Processor = split.Processor
	for i := range split.Sums {
		sum := &split.Sums[i]
		w := Wait{For: sum.For, Count: sum.Count, Time: sum.Time, Idle: sum.Idle}
		if most, ok := ids[sum.Most]; ok && sum.MostTime > 0 {
			w.Most = &most
		}
		s.Waits = append(s.Waits, w)
	}
}

// spreadOf returns the times of single calls, nil if they are not known.
func spreadOf(c *account.Costs, latency *quantile.Sketch) *Spread {
	if !c.Spread {
		return nil
	}
	return &Spread{c.Min, c.Median, c.P90, c.P99, c.Max, histogramOf(latency)}
}

// add adds the calls of another part of the function's code. Percentiles of both together are
// not known: those of the part with more calls are kept.
func (t *Time) add(c *account.Costs, latency *quantile.Sketch) {
	switch s := spreadOf(c, latency); {
	case s == nil:
	case t.Spread == nil:
		t.Spread = s
	default:
		s.Min, s.Max = min(t.Min, s.Min), max(t.Max, s.Max)
		if c.Calls <= t.Calls {
			s.Median, s.P90, s.P99 = t.Median, t.P90, t.P99
		}
		s.Histogram = t.Histogram.with(s.Histogram)
		t.Spread = s
	}
	t.Calls += c.Calls
	t.Total += c.Total
	t.Self += c.Self
	t.NoExit += c.Deduced + c.Open
}

// keys gives each function a unique key.
func (b *builder) keys() {
	for symbol, list := range b.bySymbol {
		for n, i := range list {
			b.m.Functions[i].Key = symbol
			if n > 0 {
				b.m.Functions[i].Key = symbol + "~" + number(n+1)
			}
		}
	}
}
