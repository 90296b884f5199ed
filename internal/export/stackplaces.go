package export

import (
	"github.com/cairnprof/cairn/format/pprof"

	"github.com/cairnprof/cairn/calllog"
)

// fileFunction is a function with lines in a file. Such as have some in several files,
// which are included, are several functions to pprof.
type fileFunction struct {
	name, file string
}

// mappings builds the mappings of places.
func (b *stackBuilder) mappings() {
	for i, m := range b.opt.Mappings {
		b.p.Mapping = append(b.p.Mapping, &pprof.Mapping{
			ID: uint64(i + 1), File: m.File, BuildID: m.BuildID, Start: m.Start, Limit: m.Limit, Offset: m.Offset,
			HasFunctions: true, HasFilenames: m.HasLines, HasLineNumbers: m.HasLines, HasInlineFrames: m.HasLines,
		})
	}
}

// place returns the location of an instruction.
func (b *stackBuilder) place(id calllog.FuncID) *pprof.Location {
	at := b.opt.Place(id)
	loc := &pprof.Location{ID: uint64(len(b.locs) + 1), Address: at.Addr}
	if at.Mapping >= 0 {
		loc.Mapping = b.p.Mapping[at.Mapping]
	}
	for i := len(at.Frames) - 1; i >= 0; i-- { // innermost first
		f := &at.Frames[i]
		loc.Line = append(loc.Line, pprof.Line{Function: b.function(f), Line: int64(f.Line)})
	}
	b.locs[id] = loc
	b.p.Location = append(b.p.Location, loc)
	return loc
}

func (b *stackBuilder) function(f *Frame) *pprof.Function {
	key := fileFunction{f.Func, f.File}
	fn := b.names[key]
	if fn == nil {
		fn = &pprof.Function{ID: uint64(len(b.p.Function) + 1), Name: f.Func, SystemName: f.Func, Filename: f.File, StartLine: int64(f.Start)}
		if b.opt.Show != nil {
			fn.Name = b.opt.Show(f.Func)
		}
		b.names[key] = fn
		b.p.Function = append(b.p.Function, fn)
	}
	return fn
}
