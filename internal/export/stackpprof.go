package export

import (
	"math"

	"github.com/cairnprof/cairn/format/pprof"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// Stacks has the stacks of one thread or several.
type Stacks struct {
	Trie *calltrie.Trie
	// Labels and Numbers distinguish these stacks from others, such as "thread": 12.
	Labels  map[string]string
	Numbers map[string]uint32
}

// StackOptions specify the content of a profile of stacks other than the stacks.
type StackOptions struct {
	Unit            string                      // of times: "nanoseconds" or "ticks"
	Sampled         bool                        // self times are numbers of samples, and there are no calls
	Start, Duration uint64                      // nanoseconds since 1970, and nanoseconds; 0 if not known
	Show            func(string) string         // returns the name to display for a symbol; may be nil
	Comments        []string                    // messages for the reader
	Name            func(calllog.FuncID) string // returns a function's symbol
	// Mappings and Place describe the code locations of frames, so that lines and disassembly
	// can be shown. Without them a location is a whole function.
	Mappings []StackMapping
	Place    func(calllog.FuncID) StackPlace
}

// StackMapping is a loaded part of a module, at its link-time address.
type StackMapping struct {
	File, BuildID        string
	Start, Limit, Offset uint64
	HasLines             bool // places in it have files and lines
}

// StackPlace is an instruction.
type StackPlace struct {
	Mapping int // index of the mapping that it is in, -1 for none
	Addr    uint64
	Frames  []Frame // the function and inlined functions, outermost first; not empty
}

// StackPprof returns the calls of a trace in pprof's format: a sample for each stack, with the
// calls that ended there and their self time. pprof computes totals itself. A location is a
// whole function, at the line of its declaration: a trace does not contain the lines of calls.
// The middle of stacks with more than MaxFrames is omitted, and that of shorter ones if all
// stacks together would be too large.
func StackPprof(groups []Stacks, funcs calllog.Funcs, opt StackOptions) *pprof.Profile {
	b := stackBuilder{
		funcs: funcs, opt: opt, locs: make(map[calllog.FuncID]*pprof.Location), objects: make(map[uint8]*pprof.Mapping),
		names: make(map[fileFunction]*pprof.Function),
	}
	b.p = &pprof.Profile{
		SampleType:        []*pprof.ValueType{{Type: "calls", Unit: "count"}, {Type: "time", Unit: opt.Unit}},
		DefaultSampleType: "time",
		TimeNanos:         int64(min(opt.Start, math.MaxInt64)),
		DurationNanos:     int64(min(opt.Duration, math.MaxInt64)),
		Comments:          opt.Comments,
	}
	if opt.Sampled {
		b.p.SampleType = []*pprof.ValueType{{Type: "samples", Unit: "count"}}
		b.p.DefaultSampleType = "samples"
	}
	all := 1
	for _, g := range groups {
		all += g.Trie.Len()
	}
	b.mappings()
	// No sum of all values may overflow.
	b.limit = math.MaxInt64 / uint64(all)
	most := frameLimit(groups)
	for _, g := range groups {
		b.add(g, most)
	}
	return b.p
}

// frameLimit returns how many frames a stack may have so that all have at most
// 16 million: each takes some 20 bytes until it is written.
func frameLimit(groups []Stacks) int {
	const all, least = 1 << 24, 32
	depths := make(map[uint32]int) // stacks of each depth
	for _, g := range groups {
		depth := make([]uint32, g.Trie.Len())
		for id, n := range g.Trie.Nodes() {
			depth[id] = depth[n.Parent] + 1
			depths[depth[id]]++
		}
	}
	for most := MaxFrames; ; most /= 2 {
		frames := 0
		for depth, n := range depths {
			frames += n * min(int(depth), most)
		}
		if frames <= all || most <= least {
			return most
		}
	}
}

type stackBuilder struct {
	funcs   calllog.Funcs
	opt     StackOptions
	p       *pprof.Profile
	limit   uint64 // of a value
	locs    map[calllog.FuncID]*pprof.Location
	objects map[uint8]*pprof.Mapping
	names   map[fileFunction]*pprof.Function // where there are places
}

func (b *stackBuilder) add(g Stacks, most int) {
	var labels map[string][]string
	if len(g.Labels) > 0 {
		labels = make(map[string][]string, len(g.Labels))
		for k, v := range g.Labels {
			labels[k] = []string{v}
		}
	}
	var numbers map[string][]int64
	if len(g.Numbers) > 0 {
		numbers = make(map[string][]int64, len(g.Numbers))
		for k, v := range g.Numbers {
			numbers[k] = []int64{int64(v)}
		}
	}
	EachStack(g.Trie, most, func(stack []calllog.FuncID, n *calltrie.Node) error {
		s := &pprof.Sample{
			Location: make([]*pprof.Location, len(stack)),
			Value:    b.values(n),
			Label:    labels,
			NumLabel: numbers,
		}
		for i, fn := range stack { // pprof has the innermost first
			s.Location[len(stack)-1-i] = b.location(fn)
		}
		b.p.Sample = append(b.p.Sample, s)
		return nil
	})
}

func (b *stackBuilder) values(n *calltrie.Node) []int64 {
	self := int64(min(n.Self, b.limit))
	if b.opt.Sampled {
		return []int64{self}
	}
	return []int64{int64(min(n.Calls, b.limit)), self}
}

// location returns the location that represents a function.
func (b *stackBuilder) location(id calllog.FuncID) *pprof.Location {
	loc := b.locs[id]
	if loc != nil {
		return loc
	}
	if b.opt.Place != nil && id != LeftOut {
		return b.place(id)
	}
	f := b.funcs[id]
	name := LeftOutName
	if id != LeftOut {
		name = b.opt.Name(id)
	}
	fn := &pprof.Function{
		ID: uint64(len(b.p.Function) + 1), Name: name, SystemName: name, Filename: f.File, StartLine: int64(f.Line),
	}
	if b.opt.Show != nil {
		fn.Name = b.opt.Show(name)
	}
	loc = &pprof.Location{ID: uint64(len(b.locs) + 1), Address: f.Addr, Line: []pprof.Line{{Function: fn, Line: int64(f.Line)}}}
	if id != LeftOut {
		loc.Mapping = b.mapping(id, &f)
	}
	b.locs[id] = loc
	b.p.Function, b.p.Location = append(b.p.Function, fn), append(b.p.Location, loc)
	return loc
}

// mapping returns the mapping of the object that contains a function, which spans the called
// functions.
func (b *stackBuilder) mapping(id calllog.FuncID, f *calllog.Func) *pprof.Mapping {
	m := b.objects[id.Object()]
	if m == nil {
		// Without HasFunctions pprof would look for the file to name functions.
		m = &pprof.Mapping{ID: uint64(len(b.p.Mapping) + 1), HasFunctions: true}
		b.objects[id.Object()] = m
		b.p.Mapping = append(b.p.Mapping, m)
	}
	if m.File == "" {
		m.File = f.Object
	}
	m.HasFilenames = m.HasFilenames || f.File != ""
	m.HasLineNumbers = m.HasLineNumbers || f.Line > 0
	if f.Addr != 0 {
		if m.Limit == 0 {
			m.Start = f.Addr
		}
		m.Start, m.Limit = min(m.Start, f.Addr), max(m.Limit, f.Addr+1)
	}
	return m
}
