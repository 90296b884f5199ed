package calllog

import (
	"errors"
	"iter"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// made returns a log with an event at each of the given times, thread by thread, in parts of
// three events.
func made(threads ...[]uint64) *Memory {
	m := &Memory{}
	for i, times := range threads {
		m.List = append(m.List, Thread{PID: 1, TID: uint32(i)})
		var parts []Part
		for times := range slices.Chunk(times, 3) {
			var p Part
			for _, at := range times {
				p.Events = append(p.Events, Event{Time: at, Func: FuncID(i), Kind: Custom, Payload: uint32(len(p.Payloads) + 1)})
				p.Payloads = append(p.Payloads, Payload{Args: []uint64{at}})
			}
			parts = append(parts, p)
		}
		m.Content = append(m.Content, parts)
	}
	return m
}

func TestByTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		threads := rapid.SliceOfN(rapid.SliceOfN(rapid.Uint64Range(0, 30), 0, 12), 0, 5).Draw(t, "times")
		steady := rapid.Bool().Draw(t, "steady clock")
		var want []uint64
		for _, times := range threads {
			if steady {
				slices.Sort(times)
			}
			want = append(want, times...)
		}
		got := make([][]uint64, len(threads))
		var order []uint64
		for it, err := range ByTime(made(threads...)) {
			if err != nil {
				t.Fatal(err)
			}
			if it.Data == nil || it.Data.Args[0] != it.Time {
				t.Fatalf("event at %d has payload %v", it.Time, it.Data)
			}
			got[it.Thread] = append(got[it.Thread], it.Time)
			order = append(order, it.Time)
		}
		for i, times := range threads {
			if !slices.Equal(got[i], times) {
				t.Fatalf("thread %d: %v, want %v", i, got[i], times)
			}
		}
		if slices.Sort(want); steady && !slices.Equal(order, want) {
			t.Fatalf("order %v, want %v", order, want)
		}
	})
}

// damaged is a log that yields damage before each batch and ends with an error.
type damaged struct {
	*Memory
	last error
}

func (d damaged) Batches(thread, from, to int) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		for b := range d.Memory.Batches(thread, from, to) {
			if !yield(nil, &Damage{What: "lost"}) || !yield(b, nil) {
				return
			}
		}
		if d.last != nil {
			yield(nil, d.last)
		}
	}
}

func TestByTimeDamage(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	for _, last := range []error{nil, gone} {
		events, places := 0, 0
		var failure error
		for _, err := range ByTime(damaged{made([]uint64{1, 2, 3, 4}, []uint64{2, 9}), last}) {
			var damage *Damage
			switch {
			case err == nil:
				events++
			case errors.As(err, &damage):
				places++
			default:
				failure = err
			}
		}
		if !errors.Is(failure, last) || last == nil && (events != 6 || places != 3) {
			t.Errorf("%d events, %d places, error %v; want 6, 3, %v", events, places, failure, last)
		}
	}
	for range ByTime(made([]uint64{1, 2}, []uint64{3})) {
		break // must not leak or hang
	}
}

func TestOnly(t *testing.T) {
	t.Parallel()
	log := Only(made([]uint64{1}, []uint64{2}, []uint64{3}), func(th Thread) bool { return th.TID != 1 })
	var got []uint64
	for it := range ByTime(log) {
		got = append(got, it.Time)
	}
	if !slices.Equal(got, []uint64{1, 3}) || len(log.Threads()) != 2 {
		t.Errorf("%v of %v", got, log.Threads())
	}
}

func TestNanoseconds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ticks := rapid.Uint64().Draw(t, "ticks")
		hz := rapid.Uint64Range(1, 1<<40).Draw(t, "hz")
		want := new(big.Int).Mul(new(big.Int).SetUint64(ticks), big.NewInt(1e9))
		want.Div(want, new(big.Int).SetUint64(hz))
		got := Clock{Hz: hz}.Nanoseconds(ticks)
		if !want.IsUint64() {
			if got != 1<<64-1 {
				t.Fatalf("%d ticks at %d Hz: %d, want the largest", ticks, hz, got)
			}
		} else if got != want.Uint64() {
			t.Fatalf("%d ticks at %d Hz: %d, want %d", ticks, hz, got, want)
		}
	})
}

func TestTicks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := Clock{Hz: rapid.Uint64Range(1, 1<<40).Draw(t, "hz")}
		n := rapid.Uint64Range(0, 1<<50).Draw(t, "nanoseconds")
		ticks := c.Ticks(n)
		if ticks == 1<<64-1 {
			return
		}
		if c.Nanoseconds(ticks) < n || ticks > 0 && c.Nanoseconds(ticks-1) >= n {
			t.Fatalf("%d ns at %d Hz: %d ticks", n, c.Hz, ticks)
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	id := MakeFuncID(3, 7)
	if id.Object() != 3 || id.Index() != 7 {
		t.Errorf("%x: object %d, index %d", uint32(id), id.Object(), id.Index())
	}
	funcs := Funcs{1: {Name: "main"}, 2: {Addr: 0x1f40}}
	for id, want := range map[FuncID]string{1: "main", 2: "@(1f40)", 12: "#12"} {
		if got := funcs.Name(id); got != want {
			t.Errorf("%d: %s, want %s", id, got, want)
		}
	}
}
