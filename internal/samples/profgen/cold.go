package profgen

import (
	"cmp"

	"github.com/cairnprof/cairn/format/sampleprof"
)

// Thresholds say which counts are hot and which are cold. What is not said is as LLVM has
// it.
type Thresholds struct {
	// The shares of all counts, in millionths, whose smallest count is where counts are
	// hot, and where they no longer are cold. They are rounded up to those that summaries
	// tell of.
	HotCutoff, ColdCutoff uint64
	// The counts themselves, if they are given.
	Hot, Cold *uint64
}

// LLVM's shares.
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

// Cold says what becomes of contexts and functions with few samples.
type Cold struct {
	Merge bool // contexts are merged into those of their innermost frames
	Depth int  // so many; 1 is the function itself
	Trim  bool // what is cold after that is left out
	// Own: of what is cold, functions' own profiles only are left out, and contexts
	// that are to be inlined stay. Merging takes them all the same.
	Own bool
	// Summary says what is cold; if nil, that of the contexts does.
	Summary    *sampleprof.Summary
	Thresholds Thresholds
}

// Cut is what was done about cold contexts.
type Cut struct {
	Threshold     uint64 // totals below it were cold
	Before, After int    // contexts
}

// Contexts applies c to contexts, whose samples it takes over. Cold are those that are not
// hot: a context is of use only there.
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

// Functions leaves out of p what is cold, if c says so.
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
