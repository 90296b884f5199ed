package tracelog_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// stacksLog returns a log of two threads: one calls f, which calls g; the other calls g.
func stacksLog() []byte {
	le := binary.LittleEndian
	w := tracelogtest.New(tracelog.Header{PID: 7, Monotonic: 1000, Mode: wire.ModeStacks})
	w.Trailer(&tracelog.Trailer{Period: 1_250_000, WorstGap: 3_000_000, Final: true})
	w.Module(&tracelog.Module{Start: 0x10000, End: 0x20000, Bias: 0x10000, Path: "/bin/app", BuildID: []byte("12345678"), Main: true, Instrumented: true})
	w.Close()
	log := w.Bytes()
	chunk := make([]byte, wire.ChunkSize)
	le.PutUint32(chunk, wire.ChunkMagic)
	le.PutUint16(chunk[wire.ChunkKindOffset:], wire.KindTree)
	le.PutUint64(chunk[wire.ChunkNumberOffset:], 1)
	at := wire.ChunkHeaderSize
	record := func(kind uint16, a uint32, fields ...uint64) {
		le.PutUint16(chunk[at:], kind)
		le.PutUint16(chunk[at+2:], wire.NodeSize)
		le.PutUint32(chunk[at+4:], a)
		for i, f := range fields {
			le.PutUint64(chunk[at+8+8*i:], f)
		}
		at += wire.NodeSize
	}
	record(wire.TypeTree, 7, 0, 3)
	record(wire.TypeNode, 1, 0x11000, 1, 5000, 0, 1)
	record(wire.TypeTree, 8)
	record(wire.TypeNode, 2, 0x12000, 10, 3000, 2, 0)
	record(wire.TypeNode, 3, 0x12000, 4, 100, 0, 0)
	return append(log, chunk...)
}

func openStacks(data []byte) (*tracelog.Stacks, error) {
	return tracelog.OpenStacks(bytes.NewReader(data), int64(len(data)), "log", nil)
}

// placeless returns nodes without their positions in the file.
func placeless(nodes []calllog.StackNode) []calllog.StackNode {
	out := slices.Clone(nodes)
	for i := range out {
		out[i].Offset = 0
	}
	return out
}

func TestStacks(t *testing.T) {
	t.Parallel()
	data := stacksLog()
	if !tracelog.DetectStacks(data) || tracelog.DetectTrace(data) {
		t.Error("it is not taken for what it is")
	}
	s, err := openStacks(data)
	if err != nil {
		t.Fatal(err)
	}
	if d := s.Info().Damage; len(d) > 0 {
		t.Fatal(d[0])
	}
	threads := s.Threads()
	if len(threads) != 2 || threads[0].TID != 7 || threads[1].TID != 8 || threads[0].PID != 7 || s.Lost != 3 {
		t.Errorf("threads %v, %d calls lost", threads, s.Lost)
	}
	f, g := calllog.StackNode{Parent: -1, Func: 0x400, Calls: 1, Total: 5000, Open: 1}, calllog.StackNode{Func: 0x800, Calls: 10, Total: 3000, Unwound: 2}
	if got := placeless(s.Nodes(0)); !slices.Equal(got, []calllog.StackNode{f, g}) {
		t.Errorf("%+v", got)
	}
	if got := placeless(s.Nodes(1)); !slices.Equal(got, []calllog.StackNode{{Parent: -1, Func: 0x800, Calls: 4, Total: 100}}) {
		t.Errorf("%+v", got)
	}
	for _, err := range s.Batches(0, 0, 1) {
		if err == nil || !strings.Contains(err.Error(), "has only sums") {
			t.Errorf("events: %v", err)
		}
	}
	if _, err := tracelog.Open(bytes.NewReader(data), int64(len(data)), "log"); err == nil {
		t.Error("it is taken for a log of spikes")
	}
}

// TestStacksDamage truncates a log at every byte of interest and changes bytes. It checks that
// what is read is never more than what was there, and that callers come first.
func TestStacksDamage(t *testing.T) {
	t.Parallel()
	data := stacksLog()
	for n := range data {
		if n > 512 && n%wire.ChunkSize > 512 {
			continue
		}
		checkStacks(t, data[:n])
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		bad := bytes.Clone(data)
		for range 1 + r.IntN(4) {
			at := r.IntN(3)*wire.ChunkSize + r.IntN(400)
			bad[at] ^= 1 << r.IntN(8)
		}
		checkStacks(t, bad)
	}
}

func checkStacks(t *testing.T, data []byte) {
	t.Helper()
	s, err := openStacks(data)
	if err != nil {
		return
	}
	for i := range s.Threads() {
		for k, n := range s.Nodes(i) {
			if n.Parent < -1 || n.Parent >= k {
				t.Fatalf("node %d has caller %d", k, n.Parent)
			}
		}
	}
}

func FuzzStacks(f *testing.F) {
	f.Add(stacksLog())
	f.Fuzz(func(t *testing.T, data []byte) { checkStacks(t, data) })
}
