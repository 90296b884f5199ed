package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// MaxStacks is how many sampled stacks a model has at most.
const MaxStacks = 500

// spikes adds the calls that took too long.
func (b *builder) spikes() {
	s := b.in.Spikes
	if s == nil {
		return
	}
	b.m.Spikes = &Spikes{Groups: orEmpty(s.Spikes), Open: s.Open, OpenLeft: s.OpenLeft, Timelines: s.Timelines, Left: s.Left, Reach: orEmpty(s.Reach), Notes: s.Notes, Suggestions: []Suggestion{}}
	if s.Late.Time > 0 {
		b.m.Spikes.Late = &s.Late
	}
	for _, g := range s.Suggestions {
		b.m.Spikes.Suggestions = append(b.m.Spikes.Suggestions, Suggestion{g.Place.Function, g.Place.File, g.Place.Line, g.Markup, g.Why})
	}
	if s.Left > 0 {
		b.m.Limits = append(b.m.Limits, fmt.Sprintf("%d more stacks of spikes are not included; cairn spikes --top 0 prints all.", s.Left))
	}
	if s.OpenLeft > 0 {
		b.m.Limits = append(b.m.Limits, fmt.Sprintf("%d more calls that have not ended are not included; cairn spikes --top 0 prints all.", s.OpenLeft))
	}
	for i, g := range s.Spikes {
		of := b.spiked(g)
		of.Count += g.Seen
		of.Worst = max(of.Worst, longest(g))
		of.Groups = append(of.Groups, i)
	}
	for _, g := range s.Open {
		of := b.spiked(g)
		of.Open += uint64(1 + g.Open.Alike)
		of.Worst = max(of.Worst, g.Interval[0])
	}
}

// spiked returns the spikes of the function that is the peak of one.
func (b *builder) spiked(g *spikes.Object) *Spiked {
	fn := &b.m.Functions[b.function(cmp.Or(g.Peak.Symbol, g.Peak.Function), g.Peak.File, 0)]
	if fn.Spikes == nil {
		fn.Spikes = &Spiked{Groups: []int{}}
	}
	return fn.Spikes
}

// longest returns the lower bound of the longest call of a group. The value by which groups of
// callers are ranked is less: the time that no call below explains.
func longest(g *spikes.Object) uint64 {
	if g.Caller != nil {
		return g.Interval[0]
	}
	return max(g.Worst, g.Interval[0])
}

// longestGroup returns the index of the group with the longest call, the first of those that are equal.
func longestGroup(groups []*spikes.Object) int {
	at := 0
	for i, g := range groups {
		if longest(g) > longest(groups[at]) {
			at = i
		}
	}
	return at
}

// sampledFrame is a frame of sampled stacks.
type sampledFrame struct {
	fn                int
	restored, inlined bool
}

// samples adds sampled stacks.
func (b *builder) samples() {
	s := b.in.Samples
	if s == nil {
		return
	}
	trie := s.Merged()
	frames := b.sampledFrames(s)
	b.sampledFunctions(trie, frames)
	sum := &Samples{Count: s.Samples, Restored: s.Inferred, Stacks: []Stack{}}
	for id, n := range trie.Nodes() {
		if n.Self == 0 {
			continue
		}
		st := Stack{Count: n.Self}
		for at := id; at != calltrie.Root; at = trie.Node(at).Parent {
			f := frames[trie.Node(at).Func]
			st.Frames = append(st.Frames, Frame{f.fn, f.restored, f.inlined})
		}
		slices.Reverse(st.Frames)
		sum.Stacks = append(sum.Stacks, st)
	}
	stablesort.Func(sum.Stacks, func(x, y Stack) int { return cmp.Compare(y.Count, x.Count) })
	if n := len(sum.Stacks) - MaxStacks; n > 0 {
		sum.Stacks, sum.Left = sum.Stacks[:MaxStacks], n
		b.m.Limits = append(b.m.Limits, fmt.Sprintf("The %d heaviest of %d sampled stacks are listed.", MaxStacks, MaxStacks+n))
	}
	b.m.Samples = sum
}

// sampledFrames finds the function of each frame that stacks have.
func (b *builder) sampledFrames(s *profgen.Stacks) map[calllog.FuncID]sampledFrame {
	ids := make([]calllog.FuncID, 0, len(s.Funcs))
	for id := range s.Funcs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	frames := make(map[calllog.FuncID]sampledFrame, len(ids))
	for _, id := range ids {
		symbol := s.Funcs.Name(id)
		var f sampledFrame
		symbol, f.restored = strings.CutSuffix(symbol, profgen.InferredSuffix)
		symbol, f.inlined = strings.CutSuffix(symbol, profgen.InlinedSuffix)
		f.fn = b.function(symbol, s.Funcs[id].File, s.Funcs[id].Line)
		frames[id] = f
	}
	return frames
}

// sampledFunctions adds the samples of functions and edges. A sample counts once for a
// function, even if the function is on its stack several times.
func (b *builder) sampledFunctions(trie *calltrie.Trie, frames map[calllog.FuncID]sampledFrame) {
	for id, n := range trie.Nodes() {
		f := frames[n.Func]
		fn := &b.m.Functions[f.fn]
		if fn.Samples == nil {
			fn.Samples = &Sampled{}
		}
		fn.Samples.Self += n.Self
		outer := false
		for at := n.Parent; at != calltrie.Root && !outer; at = trie.Node(at).Parent {
			outer = frames[trie.Node(at).Func].fn == f.fn
		}
		if !outer {
			fn.Samples.Total += n.Total
			if f.restored {
				fn.Samples.Restored += n.Total
			}
		}
		if parent := trie.Node(id).Parent; parent != calltrie.Root {
			p := frames[trie.Node(parent).Func]
			e := b.edge(p.fn, f.fn)
			e.Samples += n.Total
			if p.restored || f.restored {
				e.Restored += n.Total
			}
		}
	}
}
