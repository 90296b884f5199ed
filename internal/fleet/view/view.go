// Package view computes the report of a program: coverage over the fleet, functions that no device ran,
// differences from the build before, the order of first executions, and the worst spikes. It is pure.
package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/internal/profile/packages"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Function is a function in a list.
type Function struct {
	Name  string  `json:"name"`
	File  string  `json:"file,omitempty"`
	Bytes uint64  `json:"bytes"`
	Runs  uint64  `json:"runs"`  // in which it ran
	Share float64 `json:"share"` // of the runs that say whether it did
	Calls uint64  `json:"calls,omitempty"`
	Mean  float64 `json:"meanOrder,omitempty"` // mean position of its first execution
	// Absent is why a function that was compiled is not in the program.
	Absent string `json:"absent,omitempty"`
}

// Band is the functions that a share of the runs executed.
type Band struct {
	Label     string `json:"label"`
	Functions int    `json:"functions"`
	Bytes     uint64 `json:"bytes"`
}

// Scenario is the coverage of the runs of a scenario, of those whose traces are kept.
type Scenario struct {
	Name      string `json:"name"`
	Runs      int    `json:"runs"`
	Functions int    `json:"functions"` // that ran in at least one of them
}

// Change lists the differences of a build from the one before.
type Change struct {
	Before  string     `json:"before"`  // the build before
	Added   []Function `json:"added"`   // functions that it does not have
	Reached []Function `json:"reached"` // functions that no run of it executed
	Removed []string   `json:"removed"` // functions that only it has
}

// Spikes are the spikes of a function over the fleet.
type Spikes struct {
	Function string `json:"function"`
	Count    uint64 `json:"count"`
	Logs     uint64 `json:"processes"`
	Median   uint64 `json:"median"` // of lower bounds, nanoseconds; within a quarter of a power of two
	P99      uint64 `json:"p99"`
	Worst    uint64 `json:"worst"`
	Log      string `json:"log"` // key of the log that has the worst
}

// Report is the report of a build, or of all builds of a program.
type Report struct {
	Version   int                `json:"version"`
	Program   string             `json:"program"`
	Build     string             `json:"build"` // empty if there are several
	Runs      uint64             `json:"runs"`
	Functions int                `json:"functions"`
	Executed  int                `json:"executed"`
	Unknown   int                `json:"unknown,omitempty"` // functions of which it is not known whether they ran; not among Functions
	Bytes     uint64             `json:"bytes"`
	Reached   uint64             `json:"executedBytes"`
	Bands     []Band             `json:"bands"`
	Scenarios []Scenario         `json:"scenarios"`
	Startup   []Function         `json:"startup"`  // functions that most runs execute, in the order of first execution
	Never     []Function         `json:"never"`    // functions that no run executed, the largest first
	Packages  []packages.Package `json:"packages"` // those with most code that no run executed first
	Change    *Change            `json:"change,omitempty"`
	Spikes    []Spikes           `json:"spikes"`
	Next      string             `json:"next,omitempty"` // with more functions with spikes: the value of after of a request
}

// SpikesCursor is the position of a function in the list of those with spikes.
type SpikesCursor struct {
	Worst    uint64 `json:"worst"`
	Function string `json:"function"`
}

func (s *Spikes) compare(at SpikesCursor) int {
	return cmp.Or(-cmp.Compare(s.Worst, at.Worst), strings.Compare(s.Function, at.Function))
}

// Page removes the functions with spikes up to a position, none if it is nil, and those behind the first ones after it.
// It returns the position of the last function that is left if there are more.
func (r *Report) Page(after *SpikesCursor, length int) *SpikesCursor {
	if after != nil {
		r.Spikes = slices.DeleteFunc(r.Spikes, func(s Spikes) bool { return s.compare(*after) <= 0 })
	}
	if len(r.Spikes) <= length {
		return nil
	}
	r.Spikes = r.Spikes[:length]
	last := &r.Spikes[length-1]
	return &SpikesCursor{last.Worst, last.Function}
}

// New computes the report of a module. before is the module of the build before, nil if there is
// none. names has the functions by which the places of spikes are named.
func New(m, before *prof.Module, names *prof.Map, spikes []tally.Spike) *Report {
	r := &Report{Version: 1, Program: m.Module, Build: m.BuildID.String(), Runs: m.Raws, Functions: len(m.Funcs), Never: []Function{}, Startup: []Function{}}
	r.Bands = []Band{{Label: "all"}, {Label: "50 % or more"}, {Label: "10 % or more"}, {Label: "1 % or more"}, {Label: "fewer"}, {Label: "none"}}
	for i := range m.Funcs {
		f := function(m, i)
		r.Bytes += f.Bytes
		b := &r.Bands[bandOf(&f)]
		b.Functions++
		b.Bytes += f.Bytes
		if f.Runs == 0 {
			r.Never = append(r.Never, f)
			continue
		}
		r.Executed++
		r.Reached += f.Bytes
		if f.Share >= 0.5 && f.Mean > 0 {
			r.Startup = append(r.Startup, f)
		}
	}
	r.absent(m)
	stablesort.Func(r.Never, func(a, b Function) int {
		return cmp.Or(-cmp.Compare(a.Bytes, b.Bytes), strings.Compare(a.Name, b.Name))
	})
	stablesort.Func(r.Startup, func(a, b Function) int { return cmp.Compare(a.Mean, b.Mean) })
	r.Packages = packages.Sum([]*prof.Module{m}, nil, nil)
	r.Scenarios = scenarios(m)
	if before != nil {
		r.Change = change(m, before)
	}
	r.Spikes = group(names, spikes)
	return r
}

// absent adds the functions that were compiled for m and that it does not have.
func (r *Report) absent(m *prof.Module) {
	for i := range m.Absent {
		a := &m.Absent[i]
		if !a.Known() {
			r.Unknown++
			continue
		}
		r.Functions++
		r.Bands[len(r.Bands)-1].Functions++
		r.Never = append(r.Never, Function{Name: a.Name, File: a.File, Absent: a.Why.String()})
	}
}

func function(m *prof.Module, i int) Function {
	fn, c := &m.Funcs[i], &m.Counts[i]
	f := Function{Name: fn.Name, File: fn.File, Bytes: packages.Bytes(m, fn), Runs: c.Runs, Calls: c.Calls}
	if runs := m.RunsOf(c); runs > 0 {
		f.Share = float64(c.Runs) / float64(runs)
	}
	if c.OrderSum > 0 {
		f.Mean = c.MeanOrder()
	}
	return f
}

func bandOf(f *Function) int {
	for i, least := range []float64{1, 0.5, 0.1, 0.01} {
		if f.Share >= least {
			return i
		}
	}
	if f.Runs > 0 {
		return 4
	}
	return 5
}

func scenarios(m *prof.Module) []Scenario {
	runs, funcs := make(map[string]int), make(map[string]map[uint32]bool)
	for i := range m.Traces {
		t := &m.Traces[i]
		runs[t.Scenario]++
		if funcs[t.Scenario] == nil {
			funcs[t.Scenario] = make(map[uint32]bool)
		}
		for _, f := range t.Funcs {
			funcs[t.Scenario][uint32(f)] = true
		}
	}
	list := []Scenario{}
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		list = append(list, Scenario{Name: name, Runs: runs[name], Functions: len(funcs[name])})
	}
	return list
}

// change compares functions by name: of several with one name, any that ran counts.
func change(m, before *prof.Module) *Change {
	ran := make(map[string]bool)
	for i := range before.Funcs {
		name := before.Funcs[i].Name
		ran[name] = ran[name] || before.Counts[i].Runs > 0
	}
	c := &Change{Before: before.BuildID.String(), Added: []Function{}, Reached: []Function{}, Removed: []string{}}
	has := make(map[string]bool)
	for i := range m.Funcs {
		name := m.Funcs[i].Name
		has[name] = true
		switch old, known := ran[name]; {
		case !known:
			c.Added = append(c.Added, function(m, i))
		case !old && m.Counts[i].Runs > 0:
			c.Reached = append(c.Reached, function(m, i))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ran)) {
		if !has[name] {
			c.Removed = append(c.Removed, name)
		}
	}
	return c
}

// group adds up spikes of one function. Places outside of the module keep their addresses.
func group(m *prof.Map, places []tally.Spike) []Spikes {
	names := newNames(m)
	sums := make(map[string]*tally.Spike)
	for i := range places {
		name := names.of(&places[i].Place)
		if places[i].Rest {
			name = "(at other places)"
		}
		if sums[name] == nil {
			sums[name] = new(tally.Spike)
		}
		sums[name].Add(&places[i])
	}
	list := []Spikes{}
	for name, s := range sums {
		list = append(list, Spikes{
			Function: name, Count: s.Count, Logs: s.Logs, Median: s.Quantile(0.5), P99: s.Quantile(0.99), Worst: s.Worst, Log: s.From,
		})
	}
	stablesort.Func(list, func(a, b Spikes) int {
		return a.compare(SpikesCursor{b.Worst, b.Function})
	})
	return list
}

// names finds the functions of addresses.
type names struct {
	build string
	parts []part
}

type part struct {
	start, size uint64
	name        string
}

func newNames(m *prof.Map) *names {
	n := &names{build: m.BuildID.String()}
	for i := range m.Funcs {
		for _, f := range m.Funcs[i].Fragments {
			n.parts = append(n.parts, part{f.Addr, uint64(f.Size), m.Funcs[i].Name})
		}
	}
	stablesort.Func(n.parts, func(a, b part) int { return cmp.Compare(a.start, b.start) })
	return n
}

func (n *names) of(p *tally.Place) string {
	if p.Build == n.build {
		i := sort.Search(len(n.parts), func(i int) bool { return n.parts[i].start > p.Addr }) - 1
		if i >= 0 && p.Addr-n.parts[i].start < n.parts[i].size {
			return n.parts[i].name
		}
	}
	if p.Module == "" {
		return fmt.Sprintf("%#x", p.Addr)
	}
	return fmt.Sprintf("%s+%#x", p.Module, p.Addr)
}
