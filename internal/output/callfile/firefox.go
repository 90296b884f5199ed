package callfile

import (
	"context"
	"io"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/firefoxprofile"
	"github.com/cairnprof/cairn/internal/verb"
)

// firefox writes a profile for the Firefox Profiler.
func (v *converter) firefox(ctx context.Context, w io.Writer) error {
	meta := firefoxprofile.Meta{Product: v.set.Title(), Program: verb.Program()}
	if v.set.Clock.Epoch {
		meta.Start = v.origins()[0]
	}
	out := firefoxEvents{firefoxprofile.NewWriter(w, meta)}
	return v.events(ctx, out, func(id calllog.FuncID) int {
		fn := v.set.Funcs[id]
		return out.Function(firefoxprofile.Function{Name: v.set.Name(id), File: fn.File, Line: fn.Line})
	})
}

// firefoxEvents writes calls without their arguments, and events as markers.
type firefoxEvents struct{ *firefoxprofile.Writer }

func (x firefoxEvents) Begin(at uint64, fn int, _ []uint64) error { return x.Writer.Begin(at, fn) }

func (x firefoxEvents) Instant(at uint64, kind calllog.Kind, _ *calllog.Payload) error {
	return x.Marker(at, kind.String())
}
