package timeline

import (
	"context"
	"fmt"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/flamegraph"
)

// Ranges computes the calls of parts of the time line from the logs themselves.
type Ranges struct {
	src     *Source
	index   *Index
	origins []uint64
	places  []*calllog.Places // found so far, by log
}

// NewRanges returns the ranges of the logs that an index was built of.
func NewRanges(src *Source, x *Index) *Ranges {
	r := &Ranges{src: src, index: x}
	r.origins, _ = calllog.Origins(src.Logs)
	for _, log := range src.Logs {
		r.places = append(r.places, calllog.NewPlaces(len(log.Threads())))
	}
	return r
}

// Graph returns the flame graph of the calls of some lanes, nil for all, between two times;
// calls are clipped to this range.
func (r *Ranges) Graph(ctx context.Context, from, to uint64, lanes []int) (*flamegraph.Profile, error) {
	if from >= to {
		return nil, fmt.Errorf("a range from %d to %d", from, to)
	}
	want := make(map[Lane]bool)
	for _, l := range lanes {
		if l < 0 || l >= len(r.index.lanes) {
			return nil, fmt.Errorf("the time line has no lane %d", l)
		}
		want[r.index.lanes[l].thread()] = true
	}
	all := calltrie.New()
	for i, log := range r.src.Logs {
		sum, err := r.trie(ctx, i, from, to, func(l Lane) bool { return lanes == nil || want[l] })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", log.Info().File, err)
		}
		all.Merge(calltrie.Root, sum, nil)
	}
	g := &flamegraph.Profile{Unit: r.index.unit, Name: r.src.Name, Groups: []flamegraph.Group{{Trie: all}}}
	for _, log := range r.src.Logs {
		g.Step = max(g.Step, log.Info().Clock.Step)
	}
	return g, nil
}

// trie returns the sums of a log between two times, in those lanes that are wanted.
func (r *Ranges) trie(ctx context.Context, i int, from, to uint64, wants func(Lane) bool) (*calltrie.Trie, error) {
	log, opt := r.src.Logs[i], r.src.Options
	clock := log.Info().Clock
	part := calllog.Only(log, func(t calllog.Thread) bool { return wants(laneOf(i, t)) })
	part = calllog.Select(part, calllog.Selection{
		From: clock.Ticks(later(r.origins[i], from)), To: max(1, clock.Ticks(later(r.origins[i], to))),
		UpperBound: opt.UpperBound, DropOpen: opt.DropOpen, Places: r.places[i],
	})
	res, err := account.Run(ctx, part, opt)
	if err != nil {
		return nil, err
	}
	return res.Merged(), nil
}

// later returns the time of a log's clock that is t after an origin, 0 if that is before the clock
// began.
func later(origin, t uint64) uint64 { return uint64(max(0, int64(origin+t))) }

// laneOf returns the lane of a thread without its calls.
func laneOf(log int, t calllog.Thread) Lane {
	return Lane{Log: log, PID: t.PID, TID: t.TID, Stack: t.Stack}
}

// thread returns the fields that identify a lane.
func (l *Lane) thread() Lane { return Lane{Log: l.Log, PID: l.PID, TID: l.TID, Stack: l.Stack} }
