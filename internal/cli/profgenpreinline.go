package cli

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/objfile"
	"github.com/cairnprof/cairn/internal/profgen"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/unwind"
)

// preinlineFlags are those of the pre-inliner.
type preinlineFlags struct {
	preinline bool
	bySize    bool
	decide    profgen.Preinline
}

func (f *preinlineFlags) register(fl *pflag.FlagSet) {
	fl.BoolVar(&f.preinline, "csspgo-preinliner", false, "decide which calls are to be inlined, and keep the contexts of these only")
	f.decide = profgen.NewPreinline()
	fl.BoolVar(&f.bySize, "use-context-cost-for-preinliner", true, "with it: the cost of inlining is the size of machine code, and not the number of places")
	fl.BoolVar(&f.decide.Replay, "csspgo-replay-preinline", false, "with it: inline what was inlined in the binary")
}

// loadScopes reads what was inlined where, if the pre-inliner is to know.
func (r *profgenRun) loadScopes(files []*objfile.File) error {
	if !r.preinline {
		return nil
	}
	for _, f := range files {
		scopes, err := f.Scopes()
		if err != nil && !errors.Is(err, objfile.ErrNoScopes) && !errors.Is(err, objfile.ErrNoDebug) {
			return err
		}
		r.scopes = append(r.scopes, scopes)
	}
	return nil
}

// preinlined runs the pre-inliner on contexts, if that is asked for.
func (r *profgenRun) preinlined(s *Streams, list []sampleprof.Context, counts *unwind.Result, probes *profgen.Probes) []sampleprof.Context {
	if !r.preinline {
		return list
	}
	if r.bySize {
		r.decide.Sizes = profgen.NewSizes(r.code, r.scopes, probes, counts)
	}
	list, done := r.decide.Contexts(list)
	note(s, "pre-inliner: of %s %s are kept, to be inlined", plural(done.Before, "context"), report.Count(done.Inlined))
	return list
}
