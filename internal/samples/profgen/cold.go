package profgen

import (
	"cmp"

	"github.com/cairnprof/cairn/format/sampleprof"
)

// Thresholds define which counts are hot and which are cold. Missing values are LLVM's.
type Thresholds struct {
	// The shares of all counts, in millionths, whose smallest count is the threshold of hot
	// counts, and above which counts are cold. They are rounded up to those in summaries.
	HotCutoff, ColdCutoff uint64
	// The thresholds themselves, if they are given.
	Hot, Cold *uint64
}

// LLVM's defaults.
const (
	HotCutoff  = 990_000
	ColdCutoff = 999_999
)

func (t *Thresholds) hot(s *sampleprof.Summary) uint64 {
	if t.Hot != nil {
		return *t.Hot
	}
	return s.Least(cmp.Or(t.HotCutoff, HotCutoff))
}

func (t *Thresholds) cold(s *sampleprof.Summary) uint64 {
	if t.Cold != nil {
		return *t.Cold
	}
	return s.Least(cmp.Or(t.ColdCutoff, ColdCutoff))
}

// Cold specifies how contexts and functions with few samples are treated.
type Cold struct {
	Merge bool // contexts are merged into those of their innermost frames
	Depth int  // number of innermost frames; 1 is the function itself
	Trim  bool // contexts that are still cold are removed
	// Own removes only functions' own profiles among cold contexts, and keeps contexts that
	// are to be inlined. Merge applies to them in any case.
	Own bool
	// Summary defines which counts are cold; if nil, the summary of the contexts is used.
	Summary    *sampleprof.Summary
	Thresholds Thresholds
}

// Cut describes what was done with cold contexts.
type Cut struct {
	Threshold     uint64 // totals below it were cold
	Before, After int    // contexts
}

// Contexts applies c to contexts, and takes ownership of their samples. All contexts that are
// not hot are cold: a context is useful only if it is hot.
func (c Cold) Contexts(contexts []sampleprof.Context) ([]sampleprof.Context, Cut) {
	if c.Summary == nil {
		summary := sampleprof.Summarize(contexts)
		c.Summary = &summary
	}
	cut := Cut{c.Thresholds.hot(c.Summary), len(contexts), len(contexts)}
	if cut.Threshold == 0 {
		return contexts, cut
	}
	var hot, merged node
	for _, x := range contexts {
		switch {
		case x.Samples.Total() >= cut.Threshold, c.Own && !c.Merge && len(x.Frames) > 1:
			hot.path(x.Frames).samples = x.Samples
		case c.Merge:
			inner := x.Frames[max(len(x.Frames)-c.Depth, 0):]
			merged.path(inner).counted().Add(x.Samples)
		}
	}
	for _, m := range merged.list() {
		n := hot.path(m.Frames)
		if c.Trim && n.samples == nil && m.Samples.Total() < cut.Threshold {
			continue
		}
		n.counted().Add(m.Samples)
	}
	out := hot.list()
	cut.After = len(out)
	return out, cut
}

// Functions removes cold functions from p, if c requests it.
func (c Cold) Functions(p sampleprof.Profile) Cut {
	summary := sampleprof.SummarizeProfile(p)
	cut := Cut{c.Thresholds.cold(&summary), len(p), len(p)}
	if c.Trim {
		for name, s := range p {
			if s.Total() < cut.Threshold {
				delete(p, name)
			}
		}
	}
	cut.After = len(p)
	return cut
}
