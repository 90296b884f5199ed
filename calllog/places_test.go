package calllog

import (
	"bytes"
	"errors"
	"iter"
	"reflect"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// drawn returns a log of threads with calls that may lack their exits, and exits that
// may lack their calls.
func drawn(t *rapid.T) *Memory {
	m := &Memory{}
	for tid := range rapid.IntRange(1, 3).Draw(t, "threads") {
		m.List = append(m.List, Thread{PID: 1, TID: uint32(tid)})
		var parts []Part
		now := uint64(0)
		for range rapid.IntRange(0, 12).Draw(t, "parts") {
			p := Part{Break: rapid.IntRange(0, 4).Draw(t, "break") == 0}
			for range rapid.IntRange(0, 5).Draw(t, "events") {
				now += rapid.Uint64Range(0, 3).Draw(t, "later")
				e := Event{Time: now, Func: FuncID(rapid.IntRange(1, 4).Draw(t, "function"))}
				if rapid.IntRange(0, 20).Draw(t, "back") == 0 {
					e.Time = now / 2
				}
				switch e.Kind = rapid.SampledFrom([]Kind{Enter, Enter, EnterArgs, Exit, Exit, TailExit, Custom, Suspend, Resume}).Draw(t, "kind"); e.Kind {
				case EnterArgs:
					p.Payloads = append(p.Payloads, Payload{Args: []uint64{now}})
				case Custom:
					p.Payloads = append(p.Payloads, Payload{Data: []byte("data")})
				}
				if e.Kind == EnterArgs || e.Kind == Custom {
					e.Payload = uint32(len(p.Payloads))
				}
				p.Events = append(p.Events, e)
			}
			parts = append(parts, p)
		}
		m.Content = append(m.Content, parts)
	}
	return m
}

// items returns all events and damage of a log.
func items(t *rapid.T, log Log) (all []Item) {
	for th := range log.Threads() {
		for it, err := range Events(log, th) {
			if err != nil {
				t.Fatal(err)
			}
			if it.Data != nil {
				data := *it.Data
				it.Data = &data
			}
			it.Payload = 0
			all = append(all, it)
		}
	}
	return all
}

func drawSelection(t *rapid.T) Selection {
	want := Selection{
		From:   rapid.Uint64Range(0, 60).Draw(t, "from"),
		Depth:  rapid.IntRange(0, 3).Draw(t, "depth"),
		Longer: rapid.Uint64Range(0, 6).Draw(t, "longer"), UpperBound: rapid.Bool().Draw(t, "upper"),
	}
	if rapid.Bool().Draw(t, "end") {
		want.To = want.From + rapid.Uint64Range(1, 20).Draw(t, "to")
	}
	if fn := FuncID(rapid.IntRange(0, 4).Draw(t, "within")); fn > 0 {
		want.Within = func(id FuncID) bool { return id == fn }
	}
	want.DropOpen = want.To == 0 && rapid.Bool().Draw(t, "drop")
	return want
}

// TestPlaces checks that selections give the same events with the places that earlier
// selections stored, after these were written and read back.
func TestPlaces(t *testing.T) {
	t.Parallel()
	skipped := 0
	rapid.Check(t, func(t *rapid.T) {
		m := drawn(t)
		places := NewPlaces(len(m.List))
		step := rapid.IntRange(1, 3).Draw(t, "step")
		for range 3 {
			want := drawSelection(t)
			var log Log = &counted{Memory: m}
			if rapid.Bool().Draw(t, "some threads") {
				log = Only(log, func(th Thread) bool { return th.TID > 0 })
			}
			want.whole = true
			expected := items(t, Select(log, want))
			want.whole, want.step = false, step
			if want.Places = places; rapid.Bool().Draw(t, "read again") {
				key := []byte("log")
				again, err := ReadPlaces(places.AppendTo(nil, key), key, m.Threads())
				if err != nil {
					t.Fatal(err)
				}
				places, want.Places = again, again
			}
			if got := items(t, Select(log, want)); !reflect.DeepEqual(got, expected) {
				t.Fatalf("%+v:\n%v\nwant\n%v\nof %+v\nplaces %+v", want, got, expected, m.Content, places.threads)
			}
		}
		for _, list := range places.threads {
			skipped += len(list)
		}
	})
	if skipped == 0 {
		t.Error("no place was kept")
	}
}

// counted is a log that counts the parts that are read.
type counted struct {
	*Memory
	parts atomic.Int64
}

func (c *counted) Batches(thread, from, to int) iter.Seq2[*Batch, error] {
	c.parts.Add(int64(to - from))
	return c.Memory.Batches(thread, from, to)
}

// TestPlacesSkip checks that a second selection reads only what is after the last stored place.
func TestPlacesSkip(t *testing.T) {
	t.Parallel()
	m := &Memory{List: []Thread{{TID: 1}}, Content: [][]Part{{}}}
	for i := range uint64(100) {
		m.Content[0] = append(m.Content[0], Part{Events: []Event{{Time: 10 * i, Func: FuncID(i), Kind: Enter}, {Time: 10*i + 5, Func: FuncID(i + i%2), Kind: Exit}}})
	}
	places := NewPlaces(1)
	for range 2 {
		log := &counted{Memory: m}
		for _, err := range Select(log, Selection{From: 500, To: 530, Places: places, step: 1}).Batches(0, 0, 1) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if first := len(places.threads[0]) == 0; !first && log.parts.Load() > 160 {
			t.Errorf("%d parts were read", log.parts.Load())
		}
	}
	log := &counted{Memory: m}
	for range Select(log, Selection{From: 500, To: 530, Places: places, step: 1}).Batches(0, 0, 1) {
		continue
	}
	// All parts are announced to what looks for exits, which ends at the first.
	if got := log.parts.Load() - 100; got > 5 {
		t.Errorf("%d parts were read of 3 that are wanted", got)
	}
}

// TestPlacesError checks that an error other than damage ends the events.
func TestPlacesError(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	places := NewPlaces(1)
	errs := 0
	for _, err := range Select(damaged{made([]uint64{1, 2, 3, 4, 5, 6, 7}), gone}, Selection{From: 100, Places: places, step: 1}).Batches(0, 0, 1) {
		if errors.Is(err, gone) {
			errs++
		}
	}
	if errs != 1 {
		t.Errorf("%d errors", errs)
	}
}

// TestPlacesOfOneLog checks that a second selection from one log starts at a place that the
// first one stored.
func TestPlacesOfOneLog(t *testing.T) {
	t.Parallel()
	m := &Memory{List: []Thread{{TID: 1}}, Content: [][]Part{{}}}
	for i := range uint64(100) {
		m.Content[0] = append(m.Content[0], Part{Events: []Event{{Time: 10 * i, Func: 1, Kind: Enter}, {Time: 10*i + 5, Func: 1, Kind: Exit}}})
	}
	whole := &counted{Memory: m}
	log := Select(whole, Selection{From: 900, To: 910, Places: NewPlaces(1), step: 1})
	for range 2 {
		before := whole.parts.Load()
		for _, err := range log.Batches(0, 0, 1) {
			if err != nil {
				t.Fatal(err)
			}
		}
		// Asking for exits announces all parts.
		if n := whole.parts.Load() - before - 100; before > 0 && n > 5 {
			t.Errorf("%d parts were read the second time", n)
		}
	}
}

func FuzzReadPlaces(f *testing.F) {
	threads := []Thread{{TID: 1, Parts: 9}, {TID: 2, Parts: 4}}
	p := NewPlaces(2)
	p.add(0, place{part: 2, now: 70, last: 60, border: -1, stack: []openCall{{Event{Time: 5, Func: 7, Kind: EnterArgs}, []uint64{1}, 6}}})
	p.add(0, place{part: 8, now: 90, last: 90, over: 3})
	p.add(1, place{part: 1, border: 1})
	all := p.AppendTo(nil, []byte("key"))
	f.Add(all[:len(all)-4])
	none := NewPlaces(2).AppendTo(nil, []byte("key"))
	f.Add(none[:len(none)-4])
	f.Fuzz(func(t *testing.T, data []byte) {
		// Checksums would leave nothing to be found.
		p, err := readPlaces(data, []byte("key"), threads)
		if err != nil {
			return
		}
		again, err := ReadPlaces(p.AppendTo(nil, []byte("key")), []byte("key"), threads)
		if err != nil || !reflect.DeepEqual(p.threads, again.threads) {
			t.Fatalf("%v: %v", err, again)
		}
		if _, err := ReadPlaces(p.AppendTo(nil, []byte("other")), []byte("key"), threads); err == nil {
			t.Fatal("places of another log")
		}
		if whole := p.AppendTo(nil, []byte("key")); !bytes.HasPrefix(whole, []byte(placesMagic)) {
			t.Fatal("no magic")
		}
	})
}
