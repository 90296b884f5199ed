package samples

import (
	"io"
	"path/filepath"

	"github.com/cairnprof/cairn/format/pprof"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/export"
	"github.com/cairnprof/cairn/internal/verb"
)

// pprof writes the stacks in pprof's format.
func (w stackWriter) pprof(out io.Writer) error {
	p, err := w.asPprof()
	if err != nil {
		return err
	}
	return p.Write(out)
}

// otlp writes the stacks as OpenTelemetry's ProfilesData.
func (w stackWriter) otlp(out io.Writer) error {
	p, err := w.asPprof()
	if err != nil {
		return err
	}
	name, buildID := w.program()
	return export.WriteOTLP(out, p, export.Resource{Service: name, BuildID: buildID, Writer: verb.Program()})
}

// program returns the name and the build id of the first binary.
func (w stackWriter) program() (name, buildID string) {
	p := w.Of.Programs[0]
	return filepath.Base(p.Path), p.BuildID
}

// asPprof returns the stacks in pprof's format, with the rules by which frames were restored as labels.
func (w stackWriter) asPprof() (*pprof.Profile, error) {
	var groups []export.Stacks
	for _, rules := range w.Rules() {
		g := export.Stacks{Trie: w.ByRules[rules]}
		if rules != "" {
			g.Labels = map[string]string{"inferred by": rules}
		}
		groups = append(groups, g)
	}
	opt := export.StackOptions{Sampled: true, Name: w.Funcs.Name, Show: w.Show, Comments: w.Notes}
	opt.Mappings, opt.Place = w.places()
	p := export.StackPprof(groups, w.Funcs, opt)
	return p, p.CheckValid()
}

// places returns the mappings of the binaries, and a function that returns the location of
// frames.
func (w stackWriter) places() ([]export.StackMapping, func(calllog.FuncID) export.StackPlace) {
	var mappings []export.StackMapping
	type span struct{ first, end int }
	of := map[string]span{} // the mappings of a binary, by its path
	for i, p := range w.Of.Programs {
		first := len(mappings)
		file, err := filepath.Abs(p.Path)
		if err != nil {
			file = p.Path
		}
		for _, seg := range p.Segments {
			if seg.Exec {
				mappings = append(mappings, export.StackMapping{
					File: file, BuildID: p.BuildID, Start: seg.Addr, Limit: seg.Addr + seg.Size, Offset: seg.Offset,
					HasLines: w.Of.Source.HasLines(i),
				})
			}
		}
		of[p.Path] = span{first, len(mappings)}
	}
	return mappings, func(id calllog.FuncID) export.StackPlace {
		at := w.Places[id]
		place := export.StackPlace{Mapping: -1, Addr: at.Addr}
		if at.Binary != nil {
			own := of[at.Binary.Path]
			for i, m := range mappings[own.first:own.end] {
				if m.Start <= at.Addr && at.Addr < m.Limit {
					place.Mapping = own.first + i
				}
			}
		}
		for _, f := range at.Frames {
			place.Frames = append(place.Frames, export.Frame{Func: f.Func, File: f.File, Line: f.Line, Start: f.Start})
		}
		return place
	}
}
