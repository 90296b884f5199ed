package timeline

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/cairnprof/cairn/calllog"
)

// program is a log of a program that is generated while it is read, so that it takes no memory.
type program struct {
	calls   int // of each thread
	threads int
}

func (p *program) Info() *calllog.Info {
	return &calllog.Info{File: "program", Clock: calllog.Clock{Hz: 1e9}}
}

func (p *program) Threads() []calllog.Thread {
	list := make([]calllog.Thread, p.threads)
	for i := range list {
		list[i] = calllog.Thread{PID: 1, TID: uint32(i + 1), Parts: 1, Bytes: int64(p.calls) * 16}
	}
	return list
}

// Batches yields calls in which a function calls a few functions of the next depth. Nearly all
// take less than a microsecond, and some wait.
func (p *program) Batches(thread, _, _ int) iter.Seq2[*calllog.Batch, error] {
	return func(yield func(*calllog.Batch, error) bool) {
		r := &run{rand: rand.New(rand.NewPCG(uint64(thread), 7)), left: p.calls, yield: yield}
		r.event(calllog.Enter, 1)
		for r.left > 0 && !r.stopped {
			r.call(2, 2)
		}
		r.event(calllog.Exit, 1)
		if !r.stopped {
			yield(&r.batch, nil)
		}
	}
}

type run struct {
	rand    *rand.Rand
	now     uint64
	left    int
	batch   calllog.Batch
	yield   func(*calllog.Batch, error) bool
	stopped bool
}

func (r *run) event(k calllog.Kind, fn calllog.FuncID) {
	bits := r.rand.Uint64()
	r.now += 5 + bits%32
	if bits>>44 == 0 { // one of a million waits
		r.now += bits % 1e8
	}
	r.batch.Events = append(r.batch.Events, calllog.Event{Time: r.now, Func: fn, Kind: k})
	if len(r.batch.Events) == 4096 {
		r.stopped = r.stopped || !r.yield(&r.batch, nil)
		r.batch.Events = r.batch.Events[:0]
	}
}

func (r *run) call(fn calllog.FuncID, depth int) {
	r.left--
	r.event(calllog.Enter, fn)
	if depth < 14 {
		for n := r.rand.IntN(5) - 1; n > 0 && r.left > 0; n-- {
			r.call(calllog.FuncID(1+(int(fn)*7+r.rand.IntN(6))%400), depth+1)
		}
	}
	r.event(calllog.Exit, fn)
}

// counter counts bytes.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// BenchmarkBuild builds the levels of logs of several sizes. B/call is the size of the index,
// heap-MB the memory in use at its end.
func BenchmarkBuild(b *testing.B) {
	for _, calls := range []int{1e6, 1e7, 1e8} {
		b.Run(fmt.Sprintf("calls=%.0e", float64(calls)), func(b *testing.B) {
			for b.Loop() {
				var size counter
				runtime.GC()
				if err := Build(b.Context(), &size, &Source{Logs: []calllog.Log{&program{calls, 1}}, Name: name}); err != nil {
					b.Fatal(err)
				}
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				b.ReportMetric(float64(m.HeapInuse)/1e6, "heap-MB")
				b.ReportMetric(float64(size)/float64(calls), "B/call")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(calls), "ns/call")
		})
	}
}

// BenchmarkProgram measures the part of BenchmarkBuild that generates the log.
func BenchmarkProgram(b *testing.B) {
	const calls = 1e7
	for b.Loop() {
		for range (&program{calls, 1}).Batches(0, 0, 1) {
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/calls, "ns/call")
}

// BenchmarkTile makes tiles of a log of 10^7 calls, from the finest level to the coarsest.
func BenchmarkTile(b *testing.B) {
	var index bytes.Buffer
	if err := Build(b.Context(), &index, &Source{Logs: []calllog.Log{&program{1e7, 1}}, Name: name}); err != nil {
		b.Fatal(err)
	}
	x, err := Open(bytes.NewReader(index.Bytes()), int64(index.Len()))
	if err != nil {
		b.Fatal(err)
	}
	for level := uint8(0); level <= x.Top(); level += 6 {
		b.Run(fmt.Sprintf("level=%d", level), func(b *testing.B) {
			last := x.end >> (level + tileBits)
			for i := uint64(0); b.Loop(); i++ {
				if _, err := x.Tile(0, level, i*7919%(last+1)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

var _ io.Writer = (*counter)(nil)
