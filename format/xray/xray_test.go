package xray_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/format/xray/xraytest"
)

func open(t testing.TB, data []byte) *xray.Log {
	t.Helper()
	l, err := xray.Open(bytes.NewReader(data), int64(len(data)), "log")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// event is an event with its payload, to compare and print.
type event struct {
	calllog.Event
	args string
	data string
	kind uint16
}

// thread is all that a log has of a thread.
type thread struct {
	pid, tid uint32
	events   []event
}

// read returns what a log has, and the damage in its stream.
func read(t testing.TB, l calllog.Log) (threads []thread, damage []*calllog.Damage) {
	t.Helper()
	for i, th := range l.Threads() {
		out := thread{pid: th.PID, tid: th.TID}
		for b, err := range l.Batches(i, 0, th.Parts) {
			var d *calllog.Damage
			switch {
			case errors.As(err, &d):
				damage = append(damage, d)
				continue
			case err != nil:
				t.Fatal(err)
			}
			for _, e := range b.Events {
				x := event{Event: e}
				if e.Payload != 0 {
					p := b.Payloads[e.Payload-1]
					x.Payload = 1
					x.args, x.data, x.kind = fmt.Sprint(p.Args), string(p.Data), p.Type
				}
				out.events = append(out.events, x)
			}
		}
		threads = append(threads, out)
	}
	return threads, damage
}

// compare fails if a log is not what was written.
func compare(t *testing.T, l *xray.Log, want calllog.Log) {
	t.Helper()
	got, damage := read(t, l)
	if len(damage) > 0 || len(l.Info().Damage) > 0 {
		t.Errorf("damage: %v, %v", damage, l.Info().Damage)
	}
	compareThreads(t, got, want)
}

func compareThreads(t *testing.T, got []thread, want calllog.Log) {
	t.Helper()
	wanted, _ := read(t, want)
	if len(got) != len(wanted) {
		t.Fatalf("%d threads, want %d", len(got), len(wanted))
	}
	for i := range got {
		g, w := got[i], wanted[i]
		if g.pid != w.pid || g.tid != w.tid {
			t.Errorf("thread %d: %d/%d, want %d/%d", i, g.pid, g.tid, w.pid, w.tid)
		}
		if !slices.Equal(g.events, w.events) {
			at := 0
			for at < min(len(g.events), len(w.events)) && g.events[at] == w.events[at] {
				at++
			}
			t.Errorf("thread %d/%d: %d events, want %d; the first that differs is number %d:\n%+v\n%+v",
				g.pid, g.tid, len(g.events), len(w.events), at, g.events[at:min(at+2, len(g.events))], w.events[at:min(at+2, len(w.events))])
		}
	}
}

// every runs a test for each format.
func every(t *testing.T, test func(t *testing.T, b *xraytest.Builder)) {
	t.Parallel()
	for _, f := range xraytest.Formats() {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			test(t, xraytest.New(f))
		})
	}
}

// mixed writes everything that a log can have.
func mixed(b *xraytest.Builder, calls int) {
	const start = 5_000_000_000
	one, two, child := b.Thread(100, 100), b.Thread(100, 101), b.Thread(103, 103)
	time := uint64(start)
	tick := func() uint64 { time += 17; return time }
	one.Enter(1, tick())
	for i := range calls {
		f := calllog.FuncID(2 + i%7)
		two.Enter(f, tick())
		one.EnterArgs(f, tick(), uint64(i), 1<<63|uint64(i))
		switch i % 11 {
		case 0:
			one.Custom(tick(), []byte(fmt.Sprintf("event %d", i)))
		case 3:
			two.Typed(tick(), uint16(i), []byte("typed\x00\xff"))
		case 5:
			one.CPU(uint16(i % 64))
		case 6:
			child.Enter(calllog.MakeFuncID(3, 9), tick())
		case 7:
			child.TailExit(calllog.MakeFuncID(3, 9), tick())
		case 8:
			time += 1 << 33
		case 9:
			time -= 5 // a clock that goes back
			two.Custom(tick(), nil)
		}
		one.TailExit(f, tick())
		two.Exit(f, tick())
	}
	one.Exit(1, tick())
}

func TestEveryFormat(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		mixed(b, 500)
		l := open(t, b.Bytes())
		compare(t, l, b.Memory())
		if c := l.Info().Clock; c.Hz != 1e9 || c.Claimed != 0 || c.Start != b.Memory().About.Clock.Start {
			t.Errorf("clock %+v", c)
		}
	})
}

func TestSmallBlocks(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		b.BufferSize = 512
		mixed(b, 3000)
		compare(t, open(t, b.Bytes()), b.Memory())
	})
}

func TestLargeBlocks(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		b.BufferSize = 3 << 20
		mixed(b, 15_000)
		compare(t, open(t, b.Bytes()), b.Memory())
	})
}

// Parts can be read apart.
func TestPartsApart(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		b.BufferSize = 1024
		mixed(b, 3000)
		l := open(t, b.Bytes())
		for i, th := range l.Threads() {
			n, whole := 0, 0
			for k := range th.Parts {
				for batch, err := range l.Batches(i, k, k+1) {
					if err != nil {
						t.Fatal(err)
					}
					n += len(batch.Events)
				}
			}
			for batch := range l.Batches(i, 0, th.Parts) {
				whole += len(batch.Events)
			}
			if n != whole || n == 0 {
				t.Errorf("thread %d: %d events in parts, %d as a whole", i, n, whole)
			}
		}
	})
}
