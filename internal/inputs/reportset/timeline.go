package reportset

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/calls/stackdiff"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/inputs/spikeset"
	"github.com/cairnprof/cairn/internal/page"
	"github.com/cairnprof/cairn/internal/page/timeline"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// timeline builds the time line of logs of calls and of spikes.
func (r *reader) timeline(ctx context.Context) error {
	logs := slices.Concat(r.paths[calllogs], r.paths[xraylogs], r.paths[gotraces])
	marks, windows, err := r.marks()
	if err != nil || len(logs) == 0 && marks == nil {
		return err
	}
	var f logset.Choice
	f.SetDefaults()
	f.Maps = r.xrayMaps()
	// Notes about the logs have been printed before.
	quiet := &verb.Streams{In: r.streams.In, Out: io.Discard, Err: io.Discard}
	set, err := f.Open(quiet, slices.Concat(logs, windows), &report.Names{})
	if err != nil {
		return err
	}
	r.onClose(set.Close)
	src := &timeline.Source{Logs: set.Single(), Name: locked(set.Name), Options: f.Options}
	first := len(src.Logs) - len(windows) // the calls around spikes are the last
	if marks != nil {
		src.Logs = append(src.Logs[:first], marked(marks, src.Logs[first:])...)
		src.Threads = func(log int, t calllog.Thread) string {
			if log < first {
				return ""
			}
			return marks.Name(log-first, t.TID)
		}
	}
	if len(src.Logs) == 0 {
		return nil
	}
	var on *timeline.Marks
	if marks != nil {
		origins, _ := calllog.Origins(src.Logs)
		on = marks.On(origins[first:])
		src.End = on.End()
	}
	x, err := r.levels(ctx, src)
	if err != nil {
		return err
	}
	var names []string
	for _, log := range src.Logs {
		names = append(names, filepath.Base(log.Info().File))
	}
	r.src.Timeline = x.Summary(r.served, names, on)
	if r.served {
		ranges := timeline.NewRanges(src, x)
		r.src.Find = func(path string) (page.Blob, bool) { return ranges.Find(ctx, path) }
		return nil
	}
	r.src.Blobs = append(r.src.Blobs, x.Packs()...)
	return nil
}

// marks reads spikes and frames. It returns the logs that have the calls around spikes, too.
func (r *reader) marks() (marks *spikeset.Marks, windows []string, err error) {
	paths := r.paths[spikelog]
	if len(paths) == 0 {
		return nil, nil, nil
	}
	quiet := &verb.Streams{In: r.streams.In, Out: io.Discard, Err: io.Discard}
	if marks, err = spikeset.ReadMarks(quiet, &report.Names{}, paths, r.withBuildID()); err != nil {
		return nil, nil, err
	}
	for _, path := range paths {
		if logset.IsLog(path, r.streams) {
			windows = append(windows, path)
		}
	}
	return marks, windows, nil
}

// marked returns the logs of marks with their threads. Some have the calls around spikes.
func marked(marks *spikeset.Marks, windows []calllog.Log) []calllog.Log {
	var list []calllog.Log
	for i, name := range marks.Names {
		var of calllog.Log
		for _, w := range windows {
			if w.Info().File == name {
				of = w
			}
		}
		list = append(list, marks.Lanes(i, of))
	}
	return list
}

// levels writes the index of a time line to a file without a name, which the system removes
// when it is closed.
func (r *reader) levels(ctx context.Context, src *timeline.Source) (*timeline.Index, error) {
	cache, err := verb.CacheDir()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(cache, "levels-")
	if err != nil {
		return nil, err
	}
	r.onClose(func() { file.Close() })
	if err := os.Remove(file.Name()); err != nil {
		return nil, err
	}
	done := verb.Working(r.streams, "computing the time line")
	err = timeline.Build(ctx, file, src)
	done()
	if err != nil {
		return nil, err
	}
	st, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return timeline.Open(file, st.Size())
}

// onClose has something done when the report is closed.
func (r *reader) onClose(f func()) {
	before := r.src.Close
	r.src.Close = func() {
		f()
		if before != nil {
			before()
		}
	}
}

// locked returns name for several goroutines.
func locked(name func(calllog.FuncID) string) func(calllog.FuncID) string {
	var mu sync.Mutex
	return func(fn calllog.FuncID) string {
		mu.Lock()
		defer mu.Unlock()
		return name(fn)
	}
}

// flame adds a flame graph of logs of calls.
func (r *reader) flame(title string, doc flamegraph.Document) (*timeline.Flame, error) {
	flames, _ := r.src.Flame.(*timeline.Flames)
	if flames == nil {
		flames = timeline.NewFlames()
		r.src.Flame = flames
	}
	var data bytes.Buffer
	if _, err := flamegraph.WriteData(&data, doc, flamegraph.Options{}); err != nil {
		return nil, err
	}
	r.src.Blobs = append(r.src.Blobs, flames.Add(title, data.Bytes()))
	return &flames.Graphs[len(flames.Graphs)-1], nil
}

// sum opens logs of calls and sums them.
func (r *reader) sum(ctx context.Context, paths []string) (*logset.Set, *calltrie.Trie, error) {
	var f logset.Choice
	f.SetDefaults()
	f.Maps = r.xrayMaps()
	set, err := f.Open(r.streams, paths, &report.Names{})
	if err != nil {
		return nil, nil, err
	}
	results, err := set.Account(ctx, f.Options)
	if err != nil {
		set.Close()
		return nil, nil, err
	}
	return set, logset.Merged(results), nil
}

// logsOf returns the logs of calls that a path names, none if it has other inputs.
func (r *reader) logsOf(path string) []string {
	if verb.IsURL(path) {
		return nil
	}
	in := New(r.streams)
	if in.Add(path) != nil || len(in.paths[profiles])+len(in.paths[raws]) > 0 {
		return nil
	}
	return slices.Concat(in.paths[calllogs], in.paths[xraylogs])
}

// compareCalls adds the flame graph of the differences from other logs.
func (r *reader) compareCalls(ctx context.Context, path string, others []string) error {
	logs := slices.Concat(r.paths[calllogs], r.paths[xraylogs])
	if len(logs) == 0 {
		return verb.Usagef("--against %s: there is no log of calls to compare with it", path)
	}
	before, old, err := r.sum(ctx, others)
	if err != nil {
		return err
	}
	defer before.Close()
	now, sum, err := r.sum(ctx, logs)
	if err != nil {
		return err
	}
	defer now.Close()
	if before.Clock.Unit() != now.Clock.Unit() {
		return fmt.Errorf("--against %s: its times are in %s, those of the logs in %s", path, before.Clock.Unit(), now.Clock.Unit())
	}
	diff := stackdiff.Tries(stackdiff.Side{Trie: old, Name: before.Symbol}, stackdiff.Side{Trie: sum, Name: now.Symbol})
	doc := &flamegraph.Diff{Unit: now.Clock.Unit(), Before: filepath.Base(path), After: now.Title()}
	for _, name := range diff.Names {
		doc.Names = append(doc.Names, now.Names.Show(name))
	}
	none := &calltrie.Stats{}
	for i := range diff.Nodes {
		n := &diff.Nodes[i]
		doc.Nodes = append(doc.Nodes, flamegraph.DiffNode{Func: n.Func, Parent: n.Parent, A: *cmp.Or(n.StatsA, none), B: *cmp.Or(n.StatsB, none)})
	}
	_, err = r.flame("Difference from "+filepath.Base(path), doc)
	return err
}
