package xray_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/format/xray/xraytest"
)

// hot is a log of a hot loop, the usual case.
func hot(f xraytest.Format, calls int) []byte {
	b := xraytest.New(f)
	t := b.Thread(1, 1)
	for i := range uint64(calls) {
		t.Enter(5, 1000+i*100)
		t.Exit(5, 1050+i*100)
	}
	return b.Bytes()
}

func benchmarkDecode(b *testing.B, f xraytest.Format) {
	data := hot(f, 1_000_000)
	l := open(b, data)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	events := 0
	for b.Loop() {
		for batch, err := range l.Batches(0, 0, l.Threads()[0].Parts) {
			if err != nil {
				b.Fatal(err)
			}
			events += len(batch.Events)
		}
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

func BenchmarkDecodeFDR(b *testing.B) {
	benchmarkDecode(b, xraytest.Format{FDR: true, Version: 5})
}

func BenchmarkDecodeBasic(b *testing.B) { benchmarkDecode(b, xraytest.Format{Version: 3}) }

func BenchmarkDecodeBigEndian(b *testing.B) {
	benchmarkDecode(b, xraytest.Format{FDR: true, Version: 5, Big: true})
}

func benchmarkOpen(b *testing.B, f xraytest.Format) {
	data := hot(f, 1_000_000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var l *xray.Log
	for b.Loop() {
		l = open(b, data)
	}
	if len(l.Threads()) != 1 {
		b.Fatal("not one thread")
	}
}

func BenchmarkOpenFDR(b *testing.B) {
	benchmarkOpen(b, xraytest.Format{FDR: true, Version: 5})
}

func BenchmarkOpenBasic(b *testing.B) { benchmarkOpen(b, xraytest.Format{Version: 3}) }

// nested is a log with calls as deep as a stack usually is. The outermost call is as long as
// the log.
func nested(f xraytest.Format, calls int) []byte {
	b := xraytest.New(f)
	t := b.Thread(1, 1)
	now, open := uint64(1000), []calllog.FuncID{}
	random := rand.New(rand.NewPCG(1, 2))
	for range calls {
		for len(open) > 2 && random.IntN(40) < len(open) {
			now += 50
			t.Exit(open[len(open)-1], now)
			open = open[:len(open)-1]
		}
		now += 50
		open = append(open, calllog.FuncID(1+random.IntN(1000)))
		t.Enter(open[len(open)-1], now)
	}
	return b.Bytes()
}

// counted counts the bytes that are read.
type counted struct {
	io.ReaderAt
	n atomic.Int64
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	c.n.Add(int64(len(p)))
	return c.ReaderAt.ReadAt(p, off)
}

// window opens a log and reads a hundredth of its time, from nine tenths on. It returns
// how many events that has and how many bytes were read.
func window(t testing.TB, data []byte, places *calllog.Places) (events int, read int64) {
	r := &counted{ReaderAt: bytes.NewReader(data)}
	l, err := xray.Open(r, int64(len(data)), "log")
	if err != nil {
		t.Fatal(err)
	}
	start := l.Info().Clock.Start
	last := start + uint64(len(data))/16*100 // each call has two records of 8 bytes, 50 apart
	want := calllog.Selection{From: start + (last-start)*9/10, To: start + (last-start)*91/100, Places: places}
	for b, err := range calllog.Select(l, want).Batches(0, 0, 1) {
		if err != nil {
			t.Fatal(err)
		}
		events += len(b.Events)
	}
	return events, r.n.Load()
}

// TestWindow checks that of a log that was opened before, only the block headers and the
// selected data are read.
func TestWindow(t *testing.T) {
	t.Parallel()
	data := nested(xraytest.Format{FDR: true, Version: 5}, 500_000)
	want, all := window(t, data, nil)
	places := calllog.NewPlaces(1)
	window(t, data, places)
	got, read := window(t, data, places)
	if got != want || want < 5000 {
		t.Errorf("%d events, want %d", got, want)
	}
	if most := all * 4 / 10; read > most {
		t.Errorf("%d bytes of %d were read, without places %d", read, len(data), all)
	}
}

// BenchmarkWindow reports how many bytes are read for a hundredth of a log.
func BenchmarkWindow(b *testing.B) {
	data := nested(xraytest.Format{FDR: true, Version: 5}, 8_000_000)
	places := calllog.NewPlaces(1)
	window(b, data, places)
	for name, places := range map[string]*calllog.Places{"first": nil, "again": places} {
		b.Run(name, func(b *testing.B) {
			read := int64(0)
			for b.Loop() {
				_, read = window(b, data, places)
			}
			b.ReportMetric(float64(read), "bytes-read")
			b.ReportMetric(float64(len(data)), "bytes-of-log")
		})
	}
}
