package xray_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/format/xray/xraytest"
)

// TestConcurrent reads a log with several goroutines at once, each with its own memory.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	for _, f := range []xraytest.Format{fdr5, basic3} {
		b := xraytest.New(f)
		mixed(b, 3000)
		l := open(t, b.Bytes())
		want, _ := read(t, l)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i, th := range l.Threads() {
					n := 0
					for batch, err := range l.Batches(i, 0, th.Parts) {
						if err != nil {
							t.Error(err)
							return
						}
						for _, e := range batch.Events {
							if w := want[i].events[n]; w.Time != e.Time || w.Func != e.Func || w.Kind != e.Kind {
								t.Errorf("thread %d, event %d: %+v, want %+v", i, n, e, w)
								return
							}
							n++
						}
					}
				}
			})
		}
		wg.Wait()
	}
}

// Events may be missing before a block, and not between the runs of a basic log.
func TestBreaks(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		b.BufferSize = 512
		mixed(b, 2000)
		l := open(t, b.Bytes())
		for i, th := range l.Threads() {
			for k := range th.Parts {
				first := true
				for batch := range l.Batches(i, k, k+1) {
					if batch.Break != (first && b.Format.FDR) {
						t.Fatalf("thread %d, part %d: break %v", i, k, batch.Break)
					}
					first = false
				}
			}
		}
	})
}

// TestBreakAtDamage checks that damage is reported between the right batches, and is a break.
func TestBreakAtDamage(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		th := b.Thread(1, 1)
		calls(th, 1, 1000, 3)
		bad := bytes.Repeat([]byte{0x18}, 32) // calls of kind 4, and no basic record
		if b.Format.Big {
			bad = bytes.Repeat([]byte{0x41}, 32)
		}
		th.Raw(bad)
		calls(th, 2, 2000, 3)
		var batches [][]calllog.Event
		var breaks []bool
		l := open(t, b.Bytes())
		damage := len(l.Info().Damage)
		for batch, err := range l.Batches(0, 0, l.Threads()[0].Parts) {
			var d *calllog.Damage
			if errors.As(err, &d) {
				damage++
				continue
			}
			batches = append(batches, eventsOf(batch))
			breaks = append(breaks, batch.Break)
		}
		if damage != 1 || len(batches) != 2 || len(batches[0]) != 6 || len(batches[1]) != 6 || !breaks[1] {
			t.Errorf("%d damages, batches %v, breaks %v", damage, batches, breaks)
		}
	})
}

func eventsOf(b *calllog.Batch) []calllog.Event { return append([]calllog.Event(nil), b.Events...) }

// failing is a file that cannot be read any more after some time.
type failing struct {
	io.ReaderAt
	broken atomic.Bool
	err    error
}

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	if f.broken.Load() {
		return 0, f.err
	}
	return f.ReaderAt.ReadAt(p, off)
}

// TestReadErrors checks that a failure to read, unlike damage, ends a log with an error that
// has the position.
func TestReadErrors(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		mixed(b, 3000)
		data := b.Bytes()
		for _, test := range []struct {
			err  error
			want string
		}{{errors.New("broken disk"), "broken disk"}, {io.EOF, "was truncated"}} {
			r := &failing{ReaderAt: bytes.NewReader(data), err: test.err}
			l, err := xray.Open(r, int64(len(data)), "log")
			if err != nil {
				t.Fatal(err)
			}
			r.broken.Store(true)
			var last error
			n := 0
			for _, last = range l.Batches(0, 0, l.Threads()[0].Parts) {
				n++
			}
			for _, err := range l.Records() {
				last = errors.Join(last, err)
				n++
			}
			if n != 2 || last == nil || strings.Count(last.Error(), test.want) != 2 || !strings.HasPrefix(last.Error(), "log: offset 0x20: ") {
				t.Errorf("%d yields, the last %v", n, last)
			}
			if _, err := xray.Open(r, int64(len(data)), "log"); err == nil || !strings.HasPrefix(err.Error(), "log: reading the header: ") {
				t.Errorf("opening it: %v", err)
			}
		}
	})
}

// TestStopEarly checks that a consumer that stops gets nothing more.
func TestStopEarly(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		mixed(b, 3000)
		data := b.Bytes()
		for i := 0x500; i < len(data); i += 0x501 {
			data[i] ^= 0x55
		}
		l := open(t, data)
		for stop := range 40 {
			n := 0
			for range l.Batches(0, 0, l.Threads()[0].Parts) {
				if n++; n > stop {
					break
				}
			}
			n = 0
			for range l.Records() {
				if n++; n > stop*100 {
					break
				}
			}
		}
	})
}

// TestRecordsFrom checks that records from an offset on are those of the whole log, with few
// before it.
func TestRecordsFrom(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		b.BufferSize = 512
		mixed(b, 2000)
		l := open(t, b.Bytes())
		var all []int64
		for r := range l.Records() {
			all = append(all, r.Offset)
		}
		for i := 0; i < len(all); i += 397 {
			var got []int64
			early := 0
			for r, err := range l.RecordsFrom(all[i]) {
				if r.Offset < all[i] {
					early++
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, r.Offset)
			}
			if !slices.Equal(got, all[i:]) || early > 1024 {
				t.Fatalf("from %#x: %d records and %d before, want %d", all[i], len(got), early, len(all)-i)
			}
		}
	})
}
