package profgen

import "github.com/cairnprof/cairn/format/sampleprof"

// The shares of all counts, in millionths, whose smallest count is where LLVM calls
// contexts cold, and functions without contexts. The second is lower: what a context
// tells is of use only where code is hot.
const (
	hotCutoff  = 990_000
	coldCutoff = 999_999
)

// Cold says what becomes of contexts and functions with few samples.
type Cold struct {
	Merge bool // contexts are merged into those of their innermost frames
	Depth int  // so many; 1 is the function itself
	Trim  bool // what is cold after that is left out
	// Own: of what is cold, functions' own profiles only are left out, and contexts
	// that are to be inlined stay. Merging takes them all the same.
	Own bool
	// Summary says what is cold; if nil, that of the contexts does.
	Summary *sampleprof.Summary
}

// Cut is what was done about cold contexts.
type Cut struct {
	Threshold     uint64 // totals below it were cold
	Before, After int    // contexts
}

// Contexts applies c to contexts, whose samples it takes over.
func (c Cold) Contexts(contexts []sampleprof.Context) ([]sampleprof.Context, Cut) {
	if c.Summary == nil {
		summary := sampleprof.Summarize(contexts)
		c.Summary = &summary
	}
	cut := Cut{c.Summary.Least(hotCutoff), len(contexts), len(contexts)}
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
	cut := Cut{sampleprof.SummarizeProfile(p).Least(coldCutoff), len(p), len(p)}
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
