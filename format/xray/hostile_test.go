package xray_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/format/xray/xraytest"
)

// readAll reads everything a log has in every way, and returns the number of
// events.
func readAll(t testing.TB, data []byte) int {
	l, err := xray.Open(bytes.NewReader(data), int64(len(data)), "log")
	if err != nil {
		return 0
	}
	events := 0
	for i, th := range l.Threads() {
		for b, err := range l.Batches(i, 0, th.Parts) {
			if err != nil {
				mustBeDamage(t, l, err)
				continue
			}
			events += len(b.Events)
			for _, e := range b.Events {
				if int(e.Payload) > len(b.Payloads) || e.Kind > calllog.Typed {
					t.Fatalf("event %+v with %d payloads", e, len(b.Payloads))
				}
			}
		}
	}
	end := int64(32)
	for r, err := range l.Records() {
		if err != nil {
			mustBeDamage(t, l, err)
		}
		if r.Offset != end || r.Size < 0 {
			t.Fatalf("a record at %#x, of %d bytes, behind one that ends at %#x", r.Offset, r.Size, end)
		}
		end = r.Offset + r.Size
	}
	if end != int64(len(data)) {
		t.Fatalf("the last record ends at %#x of %#x bytes", end, len(data))
	}
	return events
}

func mustBeDamage(t testing.TB, l *xray.Log, err error) {
	var d *calllog.Damage
	if !errors.As(err, &d) {
		t.Fatal(err)
	}
	if d.Offset < 32 || d.Size < 0 || d.Offset+d.Size > l.Info().Size || d.What == "" {
		t.Fatalf("damage %+v in %d bytes", d, l.Info().Size)
	}
}

// TestEveryCut checks that a log that is truncated anywhere has all that is complete before the
// end.
func TestEveryCut(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		b.BufferSize = 512
		mixed(b, 14)
		data := b.Bytes()
		last := 0
		for n := range len(data) + 1 {
			events := readAll(t, data[:n])
			if events < last || events > last+3 {
				t.Fatalf("%d bytes have %d events, and one less %d", n, events, last)
			}
			last = events
		}
		if got, _ := read(t, b.Memory()); last != totalEvents(got) {
			t.Errorf("%d events in the whole log, want %d", last, totalEvents(got))
		}
	})
}

// seeds are small logs of every format, with everything in them.
func seeds() [][]byte {
	var list [][]byte
	for _, f := range xraytest.Formats() {
		b := xraytest.New(f)
		b.BufferSize = 512
		b.TypedDefect = f.Version == 5
		mixed(b, 40)
		n := b.Blocks()
		order := []int{n - 1}
		for i := range n {
			order = append(order, i)
		}
		list = append(list, b.Assemble(order...))
	}
	return list
}

// mutate damages a log: bits, bytes, numbers that are lengths, and larger parts.
func mutate(r *rand.Rand, data []byte) []byte {
	data = bytes.Clone(data)
	for range 1 + r.IntN(8) {
		at := r.IntN(len(data))
		switch r.IntN(7) {
		case 0:
			data[at] ^= 1 << r.IntN(8)
		case 1:
			data[at] = byte(r.Uint32())
		case 2:
			for i := at; i < min(at+4, len(data)); i++ {
				data[i] = 0xff
			}
		case 3:
			clear(data[at:min(at+r.IntN(64), len(data))])
		case 4:
			data = append(data[:at:at], data[min(at+r.IntN(40), len(data)-1):]...)
		case 5:
			from := r.IntN(len(data))
			data = append(data[:at:at], append(bytes.Clone(data[from:min(from+r.IntN(600), len(data))]), data[at:]...)...)
		case 6:
			data = data[:max(at, min(33, len(data)))]
		}
	}
	return data
}

// TestMutants checks that damaged logs are read without a panic, in limited time and little
// memory.
func TestMutants(t *testing.T) {
	logs := seeds()
	r := rand.New(rand.NewPCG(1, 2))
	count := 10_000
	if testing.Short() {
		count = 500
	}
	var before, after runtime.MemStats
	for i := range count {
		data := mutate(r, logs[i%len(logs)])
		runtime.ReadMemStats(&before)
		start := time.Now()
		readAll(t, data)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		// The decoder's buffers are 0.5 MiB.
		if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
			t.Fatalf("mutant %d, of %d bytes: %d bytes allocated", i, len(data), n)
		}
		if took > 10*time.Minute {
			t.Fatalf("mutant %d took %v", i, took)
		}
	}
}

// TestHostileSizes checks that the time for large logs that consist of damage is proportional
// to their size.
func TestHostileSizes(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	fill := map[string]func(b *xraytest.Builder, i int) []byte{
		"extents":   func(b *xraytest.Builder, _ int) []byte { return b.Metadata(7, []byte{16, 0, 0, 0, 0, 0, 0, 0}) },
		"empty":     func(b *xraytest.Builder, _ int) []byte { return b.Metadata(7, make([]byte, 8)) },
		"buffers":   func(b *xraytest.Builder, _ int) []byte { return b.Metadata(0, nil) },
		"arguments": func(b *xraytest.Builder, _ int) []byte { return b.Metadata(6, nil) },
		"garbage":   func(_ *xraytest.Builder, i int) []byte { return []byte{byte(i), byte(i >> 8), byte(i * 7)} },
		"back": func(_ *xraytest.Builder, i int) []byte {
			time := uint64(1_000_000 + i - i%2*i/3)
			r := binary.LittleEndian.AppendUint64([]byte{0, 0, 1, 0, 1, 0, 0, 0}, time)
			return append(r, 9, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		},
	}
	for name, piece := range fill {
		for _, f := range []xraytest.Format{fdr5, basic3, {FDR: true, Version: 1}} {
			b := xraytest.New(f)
			th := b.Thread(1, 1)
			b.BufferSize = 1 << 30
			th.Enter(1, 1000)
			for n, i := 0, 0; n < size; i++ {
				p := piece(b, i)
				th.Raw(p)
				n += len(p)
			}
			if f.Version == 1 && f.FDR {
				b.BufferSize = size
			}
			data := b.Bytes()
			start := time.Now()
			readAll(t, data)
			if took := time.Since(start); took > 10*time.Minute {
				t.Errorf("%s in %v took %v", name, f, took)
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, data := range seeds() {
		f.Add(data)
		f.Add(data[:32])
		f.Add(data[:len(data)-5])
	}
	f.Fuzz(func(t *testing.T, data []byte) { readAll(t, data) })
}
