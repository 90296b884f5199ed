package timeline

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/golden"
	"github.com/cairnprof/cairn/internal/page"
)

// example is a log with two threads, events and a call without an exit.
func example() *calllog.Memory {
	enter := func(at uint64, fn calllog.FuncID) calllog.Event { return calllog.Event{Time: at, Func: fn} }
	exit := func(at uint64, fn calllog.FuncID) calllog.Event {
		return calllog.Event{Time: at, Func: fn, Kind: calllog.Exit}
	}
	first := calllog.Part{
		Events: []calllog.Event{
			enter(1000, 1), enter(1010, 2), exit(1012, 2), enter(1013, 3), exit(1020, 3), enter(1020, 2), exit(1021, 2),
			{Time: 1025, Kind: calllog.Custom, Payload: 1},
			{Time: 1026, Kind: calllog.Typed, Payload: 2},
			enter(5000, 2), enter(5001, 4), exit(9000, 2), exit(10000, 1),
		},
		Payloads: []calllog.Payload{{Data: []byte("ready")}, {Type: 7, Data: []byte{0, 1}}},
	}
	second := calllog.Part{Events: []calllog.Event{enter(2000, 5), exit(3000, 5)}}
	return &calllog.Memory{
		About: calllog.Info{File: "example.log", Clock: calllog.Clock{Hz: 1e9, Start: 1000}},
		List:  []calllog.Thread{{PID: 10, TID: 10}, {PID: 10, TID: 11}}, Content: [][]calllog.Part{{first}, {second}},
	}
}

// TestGolden compares the formats with files: a page may be older than the server.
func TestGolden(t *testing.T) {
	t.Parallel()
	log := example()
	var index bytes.Buffer
	src := &Source{Logs: []calllog.Log{log}, Name: name}
	if err := Build(t.Context(), &index, src); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/example.levels", index.Bytes())
	x, err := Open(bytes.NewReader(index.Bytes()), int64(index.Len()))
	if err != nil {
		t.Fatal(err)
	}
	summary, err := json.MarshalIndent(x.Summary(false, []string{"example.log"}, nil), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/example.json", summary)
	for _, b := range append(x.Packs(), find(t, src, x, "timeline/tile/0/3/0.bin"), find(t, src, x, "timeline/range/0/4000/all.json")) {
		var data bytes.Buffer
		if err := b.Write(&data); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, "testdata/example-"+filepath.Base(filepath.Dir(b.Path))+"-"+filepath.Base(b.Path), data.Bytes())
	}
}

// find returns what a server answers.
func find(t *testing.T, src *Source, x *Index, path string) page.Blob {
	t.Helper()
	b, ok := NewRanges(src, x).Find(t.Context(), path)
	if !ok {
		t.Fatalf("there is no %s", path)
	}
	return b
}

// TestFind asks a server for data that does not exist.
func TestFind(t *testing.T) {
	t.Parallel()
	src := &Source{Logs: []calllog.Log{example()}, Name: name}
	r := NewRanges(src, built(t, example()))
	for _, path := range []string{
		"", "source/1.json", "timeline", "timeline/tile/0/0.bin", "timeline/tile/0/99/0.bin", "timeline/tile/-1/0/0.bin", "timeline/tile/0/0/0.json",
		"timeline/range/0/x/all.json", "timeline/range/0/9/9.json", "timeline/range/0/9/.json",
	} {
		if _, ok := r.Find(t.Context(), path); ok {
			t.Errorf("%q is found", path)
		}
	}
	for _, path := range []string{"timeline/tile/1/0/99.bin", "timeline/tile/2/0/0.bin", "timeline/range/9/9/all.json"} {
		if b, ok := r.Find(t.Context(), path); ok && b.Write(new(bytes.Buffer)) == nil {
			t.Errorf("%q has data", path)
		}
	}
}

// TestRange compares the graph of a range with the calls of it.
func TestRange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events, calls := drawCalls(t)
		start := events[0].Time
		log := &calllog.Memory{About: calllog.Info{Clock: calllog.Clock{Hz: 1e9, Start: start}}, List: []calllog.Thread{{PID: 1, TID: 2}}, Content: [][]calllog.Part{{{Events: events}}}}
		var b bytes.Buffer
		src := &Source{Logs: []calllog.Log{log}, Name: name}
		if err := Build(t.Context(), &b, src); err != nil {
			t.Fatal(err)
		}
		x, err := Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		from := rapid.Uint64Range(0, x.end).Draw(t, "from")
		to := rapid.Uint64Range(from+1, x.end+2).Draw(t, "to")
		g, err := NewRanges(src, x).Graph(t.Context(), from, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		var want, got uint64
		for _, c := range calls {
			if a, z := max(c.start-start, from), min(c.end-start, to); c.depth == 1 && a < z {
				want += z - a
			}
		}
		trie, self := g.Groups[0].Trie, uint64(0)
		for _, n := range trie.Nodes() {
			if n.Parent == calltrie.Root {
				got += n.Total
			}
			self += n.Self
		}
		if got != want || self != want {
			t.Fatalf("from %d to %d: %d, of functions %d, want %d", from, to, got, self, want)
		}
	})
}

func FuzzReadTile(f *testing.F) {
	x := built(f, example())
	for level := range x.Top() + 1 {
		tile, err := x.Tile(0, level, 0)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(tile.Append(nil))
		pack, err := x.Pack(0, level)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(pack.Append(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tile, err := ReadTile(data)
		if err != nil {
			return
		}
		again, err := ReadTile(tile.Append(nil))
		if err != nil || len(again.Records) != len(tile.Records) {
			t.Errorf("%v: %+v", err, tile)
		}
	})
}

func FuzzOpen(f *testing.F) {
	var b bytes.Buffer
	if err := Build(f.Context(), &b, &Source{Logs: []calllog.Log{example()}, Name: name}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		x.Summary(false, nil, nil)
		for lane := range x.lanes {
			if _, err := x.Tile(lane, 0, 0); err != nil {
				return
			}
			if _, err := x.Pack(lane, 0); err != nil {
				return
			}
		}
	})
}
