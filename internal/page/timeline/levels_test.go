package timeline

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/calllog"
)

// name names functions in tests.
func name(fn calllog.FuncID) string { return "f" + strconv.Itoa(int(fn)) }

// built returns the index of logs.
func built(t testing.TB, logs ...calllog.Log) *Index {
	t.Helper()
	var b bytes.Buffer
	if err := Build(t.Context(), &b, &Source{Logs: logs, Name: name}); err != nil {
		t.Fatal(err)
	}
	x, err := Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// call is a call of a test.
type call struct {
	depth      int
	start, end uint64
	fn         calllog.FuncID
}

// drawCalls makes a thread's events and the calls that they are.
func drawCalls(t *rapid.T) (events []calllog.Event, calls []call) {
	now := rapid.Uint64Range(0, 1<<20).Draw(t, "start")
	step := rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64Range(0, 100), rapid.Uint64Range(0, 1<<16), rapid.Just[uint64](1<<16))
	var open []call
	for range rapid.IntRange(1, 200).Draw(t, "events") {
		now += step.Draw(t, "step")
		if n := len(open); n > 0 && (n == 4 || rapid.Bool().Draw(t, "exit")) {
			c := open[n-1]
			c.end = now
			open, calls = open[:n-1], append(calls, c)
			events = append(events, calllog.Event{Time: now, Func: c.fn, Kind: calllog.Exit})
			continue
		}
		fn := calllog.FuncID(rapid.IntRange(1, 4).Draw(t, "function"))
		open = append(open, call{depth: len(open) + 1, start: now, fn: fn})
		events = append(events, calllog.Event{Time: now, Func: fn, Kind: calllog.Enter})
	}
	for _, c := range slices.Backward(open) {
		c.end = now
		calls = append(calls, c)
		events = append(events, calllog.Event{Time: now, Func: c.fn, Kind: calllog.Exit})
	}
	return events, calls
}

// TestLevels compares the levels with what their definition says.
func TestLevels(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events, calls := drawCalls(t)
		log := &calllog.Memory{About: calllog.Info{Clock: calllog.Clock{Hz: 1e9, Start: events[0].Time}}, List: []calllog.Thread{{PID: 1, TID: 2}}, Content: [][]calllog.Part{{{Events: events}}}}
		var b bytes.Buffer
		if err := Build(t.Context(), &b, &Source{Logs: []calllog.Log{log}, Name: name, sweep: rapid.IntRange(1, 50).Draw(t, "sweep")}); err != nil {
			t.Fatal(err)
		}
		x, err := Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		for level := range uint8(30) {
			got, err := x.records(view{0, level, level, 0, maxTime})
			if err != nil {
				t.Fatal(err)
			}
			checkLevel(t, x, level, got, calls)
		}
		checkTiles(t, x)
	})
}

// checkLevel compares the records of a level with calls.
func checkLevel(t *rapid.T, x *Index, level uint8, got []Record, calls []call) {
	want := byDefinition(calls, level)
	if len(got) != len(want) {
		t.Fatalf("level %d: %d records, want %d\n%+v\n%+v", level, len(got), len(want), got, want)
	}
	for i := range got {
		g, w := got[i], want[i]
		most := uint64(0)
		for _, weight := range w.weights {
			most = max(most, weight)
		}
		fn, _ := strconv.Atoi(x.names[g.Func][1:])
		alike := g.Start == g.End && g.Kind == Single // calls of no time at one moment have no order
		if !alike && most-w.weights[calllog.FuncID(fn)] > w.all/4 {
			t.Fatalf("level %d: %+v has function %d of %v", level, g, fn, w.weights)
		}
		if g.From > level || g.To < level {
			t.Fatalf("level %d has %+v", level, g)
		}
		g.Func, g.From, g.To = 0, 0, 0
		if g != w.Record {
			t.Fatalf("level %d: %+v, want %+v", level, g, w.Record)
		}
	}
}

// TestStrange builds levels of events that no program has: the calls that accounting makes of
// them are all there, on each level, and none overlaps another.
func TestStrange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var events []calllog.Event
		at := rapid.OneOf(rapid.Uint64Range(0, 100), rapid.Uint64())
		for range rapid.IntRange(0, 100).Draw(t, "events") {
			events = append(events, calllog.Event{
				Time: at.Draw(t, "time"), Func: calllog.FuncID(rapid.IntRange(1, 3).Draw(t, "function")), Kind: calllog.Kind(rapid.IntRange(0, 6).Draw(t, "kind")),
			})
		}
		log := &calllog.Memory{List: []calllog.Thread{{PID: 1, TID: 2}}, Content: [][]calllog.Part{{{Events: events}}}}
		var b bytes.Buffer
		if err := Build(t.Context(), &b, &Source{Logs: []calllog.Log{log}, Name: name, sweep: 3}); err != nil {
			t.Fatal(err)
		}
		x, err := Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		for level := range x.Top() + 1 {
			got, err := x.records(view{0, level, level, 0, maxTime + 1})
			if err != nil {
				t.Fatal(err)
			}
			calls, depth, end := uint64(0), 0, uint64(0)
			for _, r := range got {
				calls += r.Calls
				if r.Depth == depth && r.Start < end {
					t.Fatalf("level %d: %+v begins before %d", level, r, end)
				}
				depth, end = r.Depth, r.End
			}
			if l := x.lanes[0]; calls != l.Calls+l.Events-l.Deeper {
				t.Fatalf("level %d has %d calls of %+v", level, calls, l)
			}
		}
	})
}

type defined struct {
	Record
	weights map[calllog.FuncID]uint64
	all     uint64
}

// byDefinition makes the records of a level.
func byDefinition(calls []call, level uint8) []defined {
	calls = slices.Clone(calls)
	slices.SortStableFunc(calls, func(a, b call) int { return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.start, b.start)) })
	origin := slices.MinFunc(calls, func(a, b call) int { return cmp.Compare(a.start, b.start) }).start
	cells := make(map[[2]uint64]int)
	var list []defined
	for _, c := range calls {
		c.start, c.end = c.start-origin, c.end-origin
		weight := c.end - c.start + 1
		cell := [2]uint64{uint64(c.depth), c.start >> level}
		at, ok := cells[cell]
		short := c.end-c.start < 1<<level && level > 0
		if short && ok {
			d := &list[at]
			d.Kind = Block
			d.Idle += c.start - d.End
			d.End = c.end
			d.Calls++
			d.all += weight
			d.weights[c.fn] += weight
			continue
		}
		if short {
			cells[cell] = len(list)
		}
		list = append(list, defined{
			Record{Depth: c.depth, Start: c.start, End: c.end, Calls: 1}, map[calllog.FuncID]uint64{c.fn: weight}, weight,
		})
	}
	return list
}

// checkTiles compares what tiles have with a look at all of the time, and reads them back.
func checkTiles(t *rapid.T, x *Index) {
	level := uint8(rapid.IntRange(0, int(x.Top())).Draw(t, "level"))
	all, err := x.records(view{0, level, level, 0, maxTime})
	if err != nil {
		t.Fatal(err)
	}
	number := rapid.Uint64Range(0, x.end>>(level+tileBits)).Draw(t, "tile")
	tile, err := x.Tile(0, level, number)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(all, func(r Record) bool { return !r.touches(tile.Start, tile.Start+1<<(level+tileBits)) })
	for i := range want {
		want[i].From, want[i].To = level, level
		tile.Records[i].From, tile.Records[i].To = level, level
	}
	if !slices.Equal(tile.Records, want) {
		t.Fatalf("%+v, want %+v", tile.Records, want)
	}
	again, err := ReadTile(tile.Append(nil))
	if err != nil || fmt.Sprint(again) != fmt.Sprint(tile) {
		t.Fatalf("%v: %+v, want %+v", err, again, tile)
	}
	pack, err := x.Pack(0, level)
	if err != nil {
		t.Fatal(err)
	}
	data := pack.Append(nil)
	if again, err = ReadTile(data); err != nil || !bytes.Equal(again.Append(nil), data) {
		t.Fatalf("%v: %+v, want %+v", err, again, pack)
	}
}
