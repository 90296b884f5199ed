package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/internal/fleet/journal"
	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/prof"
)

// queryTimeout bounds the wait for shards that have no owner.
const queryTimeout = 30 * time.Second

// shardOf returns the shard of a build.
func shardOf(id prof.BuildID, shards int) int {
	h := fnv.New64a()
	h.Write([]byte(id))
	z := h.Sum64()
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(shards))
}

// Submit makes items durable. Files that were sent before are stored again, and ignored when they are merged: only
// the owner of their shard knows them.
func (c *Cluster) Submit(ctx context.Context, items []inbox.Item) (collector.Result, []inbox.Refusal, error) {
	if err := c.notReady(); err != nil {
		return collector.Result{}, nil, err
	}
	if free, err := c.o.Collector.Free(); err != nil {
		return collector.Result{}, nil, err
	} else if free < c.o.Collector.MinFree {
		return collector.Result{}, nil, collector.ErrNoSpace
	}
	parts := make([][]inbox.Item, len(c.list()))
	for i := range items {
		n := shardOf(items[i].Build, len(parts))
		parts[n] = append(parts[n], items[i])
	}
	var refused []inbox.Refusal
	for n := range parts {
		more, err := c.submit(ctx, n, parts[n])
		if err != nil {
			return collector.Result{}, nil, err
		}
		refused = append(refused, more...)
	}
	return collector.Result{Files: len(items) - len(refused)}, refused, nil
}

// submit appends items to the journal of their shard.
func (c *Cluster) submit(ctx context.Context, n int, items []inbox.Item) (refused []inbox.Refusal, err error) {
	refused, err = c.check(ctx, n, items)
	if err != nil {
		return nil, err
	}
	taken := items[:0]
	for i := range items {
		if !isRefused(&items[i], refused) {
			taken = append(taken, items[i])
		}
	}
	return refused, c.append(ctx, n, taken)
}

func isRefused(it *inbox.Item, refused []inbox.Refusal) bool {
	for i := range refused {
		if refused[i].Index == it.Index {
			return true
		}
	}
	return false
}

// now returns the time of the machine's clock at the start, plus the time since: a clock that is set while
// the node runs changes nothing.
func (c *Cluster) now() time.Time { return c.started.Add(time.Since(c.started)) }

// append appends items as one record, or as several if they are too large for one message.
func (c *Cluster) append(ctx context.Context, n int, items []inbox.Item) error {
	if len(items) == 0 {
		return nil
	}
	_, err := collector.Append(ctx, c.journals[n], c.now(), items)
	if errors.Is(err, journal.ErrTooLarge) && len(items) > 1 {
		half := len(items) / 2
		if err = c.append(ctx, n, items[:half]); err == nil {
			err = c.append(ctx, n, items[half:])
		}
	}
	return err
}

// check asks the owner of a shard whether it accepts maps. If many files wait for maps, it also asks about raw
// files.
func (c *Cluster) check(ctx context.Context, n int, items []inbox.Item) ([]inbox.Refusal, error) {
	waiting := int64(0)
	for _, m := range c.members.alive() {
		waiting += m.Waiting
	}
	full := waiting > c.o.Collector.MaxWaiting
	var maps, raws []inbox.Item
	for _, it := range items {
		switch it.Kind {
		case inbox.Map:
			maps = append(maps, it)
		case inbox.Raw:
			raws = append(raws, it)
		}
	}
	if full && len(raws) > 0 {
		if err := c.known(ctx, n, raws); err != nil {
			return nil, err
		}
	}
	if len(maps) == 0 {
		return nil, nil
	}
	data, err := inbox.Bundle(maps)
	if err != nil {
		return nil, err
	}
	refused, err := get[[]inbox.Refusal](ctx, c, n, question{What: "check", Data: data, Claims: maps[0].Claims})
	for i := range refused {
		if at := refused[i].Index; at >= 0 && at < len(maps) {
			refused[i].Index = maps[at].Index
		}
	}
	return refused, err
}

// known returns ErrWaiting if a shard does not have the maps of all builds of raw files.
func (c *Cluster) known(ctx context.Context, n int, raws []inbox.Item) error {
	ids := make(map[string]bool)
	for i := range raws {
		ids[raws[i].Build.String()] = true
	}
	q := tally.Query{IDs: slices.Sorted(maps.Keys(ids))}
	builds, err := get[[]tally.Build](ctx, c, n, question{What: "builds", Query: q})
	if err != nil {
		return err
	}
	mapped := make(map[string]bool)
	for i := range builds {
		mapped[builds[i].Build] = builds[i].Mapped
	}
	for i := range raws {
		if !mapped[raws[i].Build.String()] {
			return collector.ErrWaiting
		}
	}
	return nil
}

// get asks a shard for a value.
func get[T any](ctx context.Context, c *Cluster, n int, q question) (v T, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	data, err := c.ask(ctx, n, q)
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	return v, err
}

// askFor asks the shard of a build.
func (c *Cluster) askFor(ctx context.Context, id prof.BuildID, q question) ([]byte, error) {
	if err := c.notReady(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	q.Build = []byte(id)
	return c.ask(ctx, shardOf(id, len(c.list())), q)
}

// Builds returns the list of the builds of a query, of all shards.
func (c *Cluster) Builds(ctx context.Context, q tally.Query) ([]tally.Build, error) {
	if err := c.notReady(); err != nil {
		return nil, err
	}
	lists := make([][]tally.Build, len(c.list()))
	for n := range lists {
		var err error
		if lists[n], err = get[[]tally.Build](ctx, c, n, question{What: "builds", Query: q}); err != nil {
			return nil, err
		}
	}
	return tally.JoinBuilds(q, lists...), nil
}

// Profile returns the profile of a build as a file.
func (c *Cluster) Profile(ctx context.Context, id prof.BuildID) ([]byte, error) {
	return c.askFor(ctx, id, question{What: "profile"})
}

// Map returns the map of a build as a file.
func (c *Cluster) Map(ctx context.Context, id prof.BuildID) ([]byte, error) {
	return c.askFor(ctx, id, question{What: "map"})
}

// Logs returns the list of the logs of a build.
func (c *Cluster) Logs(ctx context.Context, id prof.BuildID) (list []tally.Log, err error) {
	data, err := c.askFor(ctx, id, question{What: "logs"})
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	return list, err
}

// LogFile returns a log of a build.
func (c *Cluster) LogFile(ctx context.Context, id prof.BuildID, key inbox.Key) ([]byte, error) {
	return c.askFor(ctx, id, question{What: "log", Key: key})
}

// Spikes returns the places of the spikes of a build.
func (c *Cluster) Spikes(ctx context.Context, id prof.BuildID) (list []tally.Spike, err error) {
	data, err := c.askFor(ctx, id, question{What: "spikes"})
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	return list, err
}

// Status returns the sums over the shards of this node.
func (c *Cluster) Status() collector.Status {
	s := collector.Status{Err: c.notReady()}
	for _, shard := range c.list() {
		if owned := shard.owned(); owned != nil {
			s.Add(owned.Status())
		}
	}
	return s
}
