package calllog

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/internal/callstack"
)

// TestDigest checks that a selection does not change if the events before From are replaced by
// their digest.
func TestDigest(t *testing.T) {
	t.Parallel()
	digested := 0
	rapid.Check(t, func(t *rapid.T) {
		m := drawn(t)
		want := drawSelection(t)
		want.whole = true
		expected := items(t, Select(m, want))
		want.whole, want.step = false, rapid.IntRange(1, 4).Draw(t, "step")
		want.Workers = rapid.IntRange(1, 3).Draw(t, "workers")
		if got := items(t, Select(m, want)); !reflect.DeepEqual(got, expected) {
			t.Fatalf("%+v:\n%v\nwant\n%v\nof %+v", want, got, expected, m.Content)
		}
		for th := range m.List {
			for i := range m.Content[th] {
				if d := digestParts(m, th, i, i+1); d.now < want.From {
					digested++
				}
			}
		}
	})
	if digested == 0 {
		t.Error("nothing was before what was looked at")
	}
}

// timedParts is a log that knows the time at which each of its parts begins.
type timedParts struct{ *Memory }

func (l timedParts) PartTime(thread, part int) (uint64, bool) {
	events := l.Content[thread][part].Events
	if len(events) == 0 {
		return 0, false
	}
	return events[0].Time, true
}

// TestLookback checks that a selection with a limit on how much is read before From equals a
// selection from a log that begins there.
func TestLookback(t *testing.T) {
	t.Parallel()
	blind := 0
	rapid.Check(t, func(t *rapid.T) {
		m := drawn(t)
		want := drawSelection(t)
		want.step = rapid.IntRange(1, 3).Draw(t, "step")
		want.Lookback = rapid.Int64Range(1, 100).Draw(t, "lookback")
		some := Select(timedParts{m}, want)
		short := &Memory{List: m.List, Content: slices.Clone(m.Content)}
		n := 0
		for th := range m.List {
			at := some.(*selected).starts[th]
			if at.part > 0 {
				n++
				if first, ok := (timedParts{m}).PartTime(th, at.part); ok && first > want.From {
					t.Fatalf("reading begins at %d, behind %d", first, want.From)
				}
			}
			short.Content[th] = m.Content[th][at.part:]
		}
		if n != Blind(some) {
			t.Fatalf("%d threads of %d begin in the middle", Blind(some), n)
		}
		blind += n
		// Whether there are exits at all is asked of the whole thread.
		for th := range m.List {
			if flat, _ := EntersOnly(m.Batches(th, 0, len(m.Content[th]))); flat {
				return
			}
			if flat, _ := EntersOnly(short.Batches(th, 0, len(short.Content[th]))); flat {
				return
			}
		}
		want.Lookback = 0
		if got, expected := items(t, some), items(t, Select(short, want)); !reflect.DeepEqual(got, expected) {
			t.Fatalf("%+v:\n%v\nwant\n%v\nof %+v", want, got, expected, m.Content)
		}
	})
	if blind == 0 {
		t.Error("all was read always")
	}
}

// TestDigestDeep checks exits in stacks that are deeper than the digest tracks.
func TestDigestDeep(t *testing.T) {
	t.Parallel()
	for _, over := range []int{-1, 0, 1, 10} {
		t.Run(fmt.Sprint(over), func(t *testing.T) {
			t.Parallel()
			m := &Memory{List: []Thread{{TID: 1}}, Content: [][]Part{nil}}
			now := uint64(0)
			add := func(kind Kind, n int) {
				p := Part{}
				for i := range n {
					now++
					p.Events = append(p.Events, Event{Time: now, Func: FuncID(1 + i%3), Kind: kind})
				}
				m.Content[0] = append(m.Content[0], p)
			}
			add(Enter, callstack.MaxDepth+over)
			add(Enter, 3)
			add(Exit, 7)
			add(Exit, 5)
			from := now
			add(Exit, 9)
			add(Enter, 2)
			want := Selection{From: from, whole: true}
			expected, err := all(Select(m, want))
			if err != nil {
				t.Fatal(err)
			}
			want.whole, want.step = false, 1
			got, err := all(Select(m, want))
			if err != nil || !reflect.DeepEqual(got, expected) {
				t.Errorf("%v: %d events of %d, or others", err, len(got), len(expected))
			}
		})
	}
}

// all returns the events of the first thread.
func all(log Log) (events []Event, err error) {
	for b, err := range log.Batches(0, 0, log.Threads()[0].Parts) {
		if err != nil {
			return nil, err
		}
		events = append(events, b.Events...)
	}
	return events, nil
}
