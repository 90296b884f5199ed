package export

import (
	"cmp"
	"math"

	"github.com/cairnprof/cairn/format/pprof"

	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/prof"
)

// Pprof returns the calls of the functions of m as a profile in pprof's format: a sample for
// each site, callee before caller, with the site's count, and one with only the callee for the
// calls that are attributed to no site. The flat value of a function is its number of calls.
// sampleType is the name of the values in pprof; go build -pgo needs samples. show returns the
// name to display, or is nil.
//
// Inlined frames are in the locations of the callers. src may be nil.
func Pprof(m *prof.Module, src Source, sites []Site, sampleType string, show func(string) string) *pprof.Profile {
	b := pprofBuilder{m: m, src: src, show: show, funcs: map[string]*pprof.Function{}, locs: map[uint64]*pprof.Location{}}
	b.p = &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: sampleType, Unit: "count"}},
		Mapping:    []*pprof.Mapping{b.mapping()},
	}
	if text := coverage.InexactText(m); text != "" {
		b.p.Comments = []string{text}
	}
	rest := make([]uint64, len(m.Funcs))
	for i := range m.Funcs {
		rest[i] = weight(m, i)
	}
	// No sum of all values may overflow.
	limit := uint64(math.MaxInt64) / uint64(len(sites)+len(m.Funcs)+1)
	add := func(count uint64, stack ...*pprof.Location) {
		if count > 0 {
			b.p.Sample = append(b.p.Sample, &pprof.Sample{Location: stack, Value: []int64{int64(min(count, limit))}})
		}
	}
	for _, s := range sites {
		rest[s.Callee] -= min(rest[s.Callee], s.Count)
		add(s.Count, b.entry(s.Callee), b.call(s))
	}
	for i := range m.Funcs {
		if rest[i] > 0 {
			add(rest[i], b.entry(i))
		}
	}
	return b.p
}

type pprofBuilder struct {
	m     *prof.Module
	src   Source
	show  func(string) string
	p     *pprof.Profile
	funcs map[string]*pprof.Function
	locs  map[uint64]*pprof.Location // by address; entries by the function's
}

func (b *pprofBuilder) mapping() *pprof.Mapping {
	mp := &pprof.Mapping{
		ID: 1, File: b.m.Module, BuildID: b.m.BuildID.String(),
		HasFunctions: true, HasFilenames: b.src != nil, HasLineNumbers: b.src != nil, HasInlineFrames: b.src != nil,
	}
	mp.Start = math.MaxUint64
	for i := range b.m.Funcs {
		for _, fr := range b.m.Funcs[i].Fragments {
			mp.Start, mp.Limit = min(mp.Start, fr.Addr), max(mp.Limit, fr.Addr+uint64(fr.Size))
		}
	}
	mp.Start = min(mp.Start, mp.Limit)
	return mp
}

// entry returns the location of the entry of function i.
func (b *pprofBuilder) entry(i int) *pprof.Location {
	f := &b.m.Funcs[i]
	loc, fresh := b.location(f.Addr())
	if fresh {
		file, start := b.defined(f)
		loc.Line = []pprof.Line{{Function: b.function(b.name(f), file, start), Line: int64(start)}}
	}
	return loc
}

// call returns the location of a site.
func (b *pprofBuilder) call(s Site) *pprof.Location {
	loc, fresh := b.location(s.Addr)
	if !fresh {
		return loc
	}
	f := &b.m.Funcs[s.Caller]
	file, start := b.defined(f)
	var frames []Frame
	if b.src != nil {
		frames = b.src.Frames(s.Addr)
	}
	if len(frames) == 0 {
		frames = []Frame{{File: file, Start: start, Line: start}}
	}
	for k := len(frames) - 1; k >= 0; k-- { // innermost first
		fr := frames[k]
		if k == 0 {
			fr.Func, fr.File, fr.Start = b.name(f), cmp.Or(file, fr.File), cmp.Or(fr.Start, start)
		}
		loc.Line = append(loc.Line, pprof.Line{Function: b.function(fr.Func, fr.File, fr.Start), Line: int64(fr.Line)})
	}
	return loc
}

// location returns the location at addr, and whether it is new.
func (b *pprofBuilder) location(addr uint64) (loc *pprof.Location, fresh bool) {
	loc = b.locs[addr]
	if loc != nil {
		return loc, false
	}
	loc = &pprof.Location{ID: uint64(len(b.locs) + 1), Mapping: b.p.Mapping[0], Address: addr}
	b.locs[addr] = loc
	b.p.Location = append(b.p.Location, loc)
	return loc, true
}

// name returns the name of f as the compiler knows it.
func (b *pprofBuilder) name(f *prof.Func) string {
	if b.src == nil {
		return f.Name
	}
	return funcName(f, b.src)
}

// defined returns the location of f's definition, as far as it is known.
func (b *pprofBuilder) defined(f *prof.Func) (file string, line int) {
	if b.src == nil {
		return f.File, 0
	}
	file, line = b.src.Entry(f.Addr())
	if frames := b.src.Frames(f.Addr()); len(frames) > 0 && frames[0].Start > 0 {
		line = frames[0].Start
	}
	return cmp.Or(file, f.File), line
}

func (b *pprofBuilder) function(name, file string, start int) *pprof.Function {
	fn := b.funcs[name]
	if fn == nil {
		fn = &pprof.Function{ID: uint64(len(b.funcs) + 1), Name: name, SystemName: name}
		if b.show != nil {
			fn.Name = b.show(name)
		}
		b.funcs[name] = fn
		b.p.Function = append(b.p.Function, fn)
	}
	fn.Filename, fn.StartLine = cmp.Or(fn.Filename, file), cmp.Or(fn.StartLine, int64(start))
	return fn
}
