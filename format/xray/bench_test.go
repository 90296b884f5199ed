package xray_test

import (
	"testing"

	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/format/xray/xraytest"
)

// hot is a log of a hot loop: the usual case.
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
