package pipeline

import (
	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/profgen"
)

// preinline decides which calls are to be inlined, if requested. It returns the summary of its
// input, which later steps use for thresholds.
func (r run) preinline(p *sampleprof.File, b *binaries, c counts, probes *profgen.Probes) *sampleprof.Summary {
	if !p.HasContexts && (r.Preinline != nil || r.Cold.Merge || r.Nest) && !r.Quiet {
		r.Note("the profile has no contexts: nothing to inline, nest or merge")
	}
	if !p.HasContexts || r.Preinline == nil {
		return nil
	}
	decide := *r.Preinline
	decide.Lossy = r.Infer != InferFull
	if r.BySize {
		decide.Sizes = profgen.NewSizes(b.code, b.scopes, probes, c.Result)
	}
	var done profgen.Preinlined
	p.Contexts, done = decide.Contexts(p.Contexts)
	p.PreInlined = true
	r.Note("pre-inliner: of %s, %s are to be inlined, and %s are merged into their functions",
		report.Plural(done.Before, "context"), report.Count(done.Inlined), report.Count(done.Own))
	return &done.Summary
}

// cutCold merges or removes contexts and functions with few samples, as the plan specifies.
// before is the summary that determines the threshold; if it is nil, that of the profile is
// used.
func (r run) cutCold(p *sampleprof.File, before *sampleprof.Summary) {
	cold := r.Cold
	switch {
	case p.HasContexts && (cold.Merge || cold.Trim):
		var cut profgen.Cut
		cold.Summary = before
		p.Contexts, cut = cold.Contexts(p.Contexts)
		r.Note("contexts with a total below %s are cold: of %s, %s remain",
			report.Count(cut.Threshold), report.Plural(cut.Before, "context"), report.Count(cut.After))
	case !p.HasContexts && cold.Trim:
		functions := p.Profile()
		cut := cold.Functions(functions)
		p.SetProfile(functions)
		r.Note("functions with a total below %s are cold: %s of %s omitted",
			report.Count(cut.Threshold), report.Count(cut.Before-cut.After), report.Count(cut.Before))
	}
}

// nest converts contexts to the form in which they are written.
func (r run) nest(p *sampleprof.File) {
	switch {
	case p.HasContexts && r.Nest:
		p.SetProfile(profgen.Nest(p.Contexts))
	case p.HasContexts:
		p.Contexts = profgen.Unambiguous(p.Contexts)
	}
}
