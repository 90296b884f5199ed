package tracelog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
	"github.com/cairnprof/cairn/format/tracelog/wire"
)

var header = tracelog.Header{PID: 42, Realtime: 1e18, Monotonic: 5e9, TSC: 77, TSCHz: 2e9, Mode: 7}

// episode returns an episode with all there is.
func episode(tid uint32, number uint64) *tracelog.Episode {
	ms := uint64(1e6)
	return &tracelog.Episode{
		TID: tid, Number: number, Time: 5e9 + number*100*ms, Peak: tracelog.Interval{Lo: 16 * ms, Hi: 17 * ms},
		Threshold: 10 * ms, Blind: 3, Frame: 2323, Flags: tracelog.Preempted, Switches: 2, Found: 2,
		Stack: []tracelog.Entry{
			{PC: 0x401010, Time: tracelog.Interval{Lo: 16 * ms, Hi: 17 * ms}, SP: 0x100},
			{PC: 0x401020, Time: tracelog.Interval{Lo: 20 * ms, Hi: 21 * ms}, SP: 0x200},
			{PC: 0x7f0000000000, Flags: tracelog.NoStamp},
		},
		Children: []tracelog.Entry{{PC: 0x401030, Time: tracelog.Interval{Lo: 9 * ms, Hi: 10 * ms}, SP: 0x80}},
		Texts:    []tracelog.Text{{Kind: tracelog.Description, Time: 1, SP: 0x100, PC: 2, Text: "mesh=scorpion"}},
		Parents: []tracelog.Parent{{
			PC: 0x401028, Ended: 5e9 + number*100*ms + 9, Time: tracelog.Interval{Lo: 20 * ms, Hi: 21 * ms}, Threshold: 10 * ms, SP: 0x200,
		}},
	}
}

func trailer() *tracelog.Trailer {
	return &tracelog.Trailer{
		Time: 9e9, Ticks: 1000, Blind: 1, Late: 2, WorstGap: 3, Borderline: 4, Slow: 5, Dropped: 6, Limited: 7,
		Threshold: 1e7, Period: 125e4, Low: 25e5, Signal: true, Threads: 2, Idle: 8, TickerCPU: 9, Episodes: 10, Final: true,
	}
}

// sample returns a log of several chunks that has records of all types.
func sample() []byte {
	w := tracelogtest.New(header)
	w.Room(1000)
	w.Trailer(trailer())
	w.Module(&tracelog.Module{Number: 0, Time: 1, Bias: 0, Start: 0x400000, End: 0x402000, BuildID: bytes.Repeat([]byte{7}, 20), Path: "/bin/game", Main: true, Instrumented: true})
	w.Module(&tracelog.Module{Number: 1, Time: 2, Bias: 0x7f0000000000, Start: 0x7f0000000000, End: 0x7f0000001000, Path: "/lib/libc.so.6"})
	w.Thread(tracelog.Thread{TID: 1, Name: "old"})
	w.Thread(tracelog.Thread{TID: 2, Name: "loader"})
	w.Thread(tracelog.Thread{TID: 1, Name: "MainThread"})
	w.Text(2, 0, &tracelog.Text{Kind: tracelog.Message, Text: "first"})
	for n := uint64(1); n <= 10; n++ {
		w.Episode(episode(uint32(1+n%2), n))
	}
	w.Parent(9, 5, &tracelog.Parent{})
	w.Stall(tracelog.Stall{From: 6e9, To: 7e9, Waited: 5})
	w.Raw(99, 1, make([]byte, 16))
	w.Raw(wire.TypeJoined, 1, make([]byte, wire.JoinedSize-wire.RecordHeaderSize))
	w.Module(&tracelog.Module{Number: 1, Time: 2, Unloaded: 8e9, Path: "/lib/libc.so.6"})
	w.Seen(&tracelog.Seen{PC: 0x401010, Hash: 9, Count: 118, Worst: 3, Sum: 4, Last: 5, Episode: 1})
	return w.Bytes()
}

func read(t testing.TB, data []byte) (*tracelog.Log, []*tracelog.Episode, []*tracelog.Seen) {
	t.Helper()
	l, err := tracelog.Open(bytes.NewReader(data), int64(len(data)), "x.cairnlog")
	if err != nil {
		t.Fatal(err)
	}
	var list []*tracelog.Episode
	for e, err := range l.Episodes() {
		var d *calllog.Damage
		if err != nil && !errors.As(err, &d) {
			t.Fatal(err)
		}
		if e != nil {
			list = append(list, e)
		}
	}
	var seen []*tracelog.Seen
	for s, err := range l.Seen() {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, s)
	}
	return l, list, seen
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	l, list, seen := read(t, sample())
	if l.Header != header {
		t.Errorf("header %+v", l.Header)
	}
	if !reflect.DeepEqual(l.Trailer, trailer()) {
		t.Errorf("trailer %+v", l.Trailer)
	}
	if want := []tracelog.Thread{{TID: 1, Name: "MainThread"}, {TID: 2, Name: "loader"}}; !reflect.DeepEqual(l.Threads, want) {
		t.Errorf("threads %v", l.Threads)
	}
	if len(l.Modules) != 2 || l.Modules[0].Path != "/bin/game" || len(l.Modules[0].BuildID) != 20 || l.Modules[1].Unloaded != 8e9 {
		t.Errorf("modules %+v", l.Modules)
	}
	if !l.Modules[1].Instrumented {
		t.Error("a module that joined later has no probes")
	}
	if i := l.ModuleIndex(0x7f0000000010, 6e9); i != 1 {
		t.Errorf("module of an address: %d", i)
	}
	if len(l.Stalls) != 1 || l.Unknown != 1 || l.Orphans != 1 || l.Damaged != 0 || l.Written != 10 {
		t.Errorf("stalls %v, unknown %d, orphans %d, damaged %v", l.Stalls, l.Unknown, l.Orphans, l.Damage)
	}
	if len(seen) != 1 || seen[0].Count != 118 || seen[0].Episode != 1 {
		t.Errorf("seen %+v", seen)
	}
	if len(list) != 10 {
		t.Fatalf("%d episodes", len(list))
	}
	for _, e := range list {
		want := episode(e.TID, e.Number)
		want.Order = e.Number - 1
		if e.Number == 1 { // what was said before it is in front
			want.Texts = append([]tracelog.Text{{Kind: tracelog.Message, Text: "first"}}, want.Texts...)
		}
		if !reflect.DeepEqual(e, want) {
			t.Errorf("episode %d:\n got %+v\nwant %+v", e.Number, e, want)
		}
	}
}

// TestCut checks that a log that is truncated anywhere gives what is before the end, and at
// most one error for each chunk.
func TestCut(t *testing.T) {
	t.Parallel()
	data := sample()
	for n := range data {
		// Between records there is nothing to see but zeros: some of the cuts do.
		if n > wire.HeaderSize && n%wire.ChunkSize > 1200 && n%997 != 0 {
			continue
		}
		cut := data[:n]
		l, err := tracelog.Open(bytes.NewReader(cut), int64(n), "x")
		if n < wire.HeaderSize {
			if err == nil || !strings.HasPrefix(err.Error(), "x: ") {
				t.Fatalf("%d bytes: %v", n, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if len(l.Damage) > 1 {
			t.Fatalf("%d bytes: %v", n, l.Damage)
		}
		_, list, _ := read(t, cut)
		for i, e := range list {
			if len(e.Stack) != 3 || e.Number != uint64(i+1) {
				t.Fatalf("%d bytes: episode %d: %+v", n, i, e)
			}
		}
	}
}

// TestResync checks that damage loses at most the rest of its chunk.
func TestResync(t *testing.T) {
	t.Parallel()
	data := sample()
	chunks := len(data)/wire.ChunkSize - 1
	if chunks < 5 {
		t.Fatalf("%d chunks", chunks)
	}
	_, all, _ := read(t, data)
	for _, at := range []int{0, wire.ChunkChecksumOffset, wire.ChunkUsedOffset, wire.ChunkHeaderSize + 2} {
		bad := bytes.Clone(data)
		bad[3*wire.ChunkSize+at] ^= 0x55
		l, list, _ := read(t, bad)
		if len(l.Damage) != 1 || l.Damage[0].Offset < 3*wire.ChunkSize || l.Damage[0].Offset >= 4*wire.ChunkSize || l.Damaged > wire.ChunkSize {
			t.Errorf("%d: damage %v", at, l.Damage)
		}
		if len(list) < len(all)-4 || len(list) >= len(all) {
			t.Errorf("%d: %d episodes of %d", at, len(list), len(all))
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	good := sample()
	tests := []struct {
		name string
		edit func(b []byte) []byte
		want string
	}{
		{"no log", func([]byte) []byte { return []byte("hello, world") }, "x: not a log of spikes"},
		{"short", func(b []byte) []byte { return b[:20] }, "x: truncated header: 20 bytes of 64"},
		{"version", func(b []byte) []byte { b[8] = 2; return b }, "x: offset 8: unsupported version 2 of the log, expected 1"},
		{"checksum", func(b []byte) []byte { b[12]++; return b }, "x: offset 56: the header is damaged"},
	}
	for _, test := range tests {
		b := test.edit(bytes.Clone(good))
		_, err := tracelog.Open(bytes.NewReader(b), int64(len(b)), "x")
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestCalls reads the number of a system call by the table that the header of the log states, in usage and in calls that
// have not ended.
func TestCalls(t *testing.T) {
	t.Parallel()
	for table, want := range map[tracelog.SystemCalls]string{
		tracelog.CallsOlder: "getrusage", tracelog.CallsX86_64: "getrusage", tracelog.CallsGeneric: "futex", tracelog.CallsUnknown: "system call 98",
	} {
		h := header
		h.Calls = table
		w := tracelogtest.New(h)
		e := episode(1, 1)
		w.Episode(e)
		usage := make([]byte, wire.UsageSize-wire.RecordHeaderSize)
		binary.LittleEndian.PutUint64(usage, e.Number)
		binary.LittleEndian.PutUint64(usage[16-wire.RecordHeaderSize:], e.Time)
		binary.LittleEndian.PutUint32(usage[64-wire.RecordHeaderSize:], e.Stack[0].SP)
		binary.LittleEndian.PutUint32(usage[68-wire.RecordHeaderSize:], 98+1)
		w.Raw(wire.TypeUsage, 1, usage)
		open := make([]byte, wire.OpenSlot-wire.RecordHeaderSize)
		binary.LittleEndian.PutUint32(open[60-wire.RecordHeaderSize:], 98+1)
		binary.LittleEndian.PutUint16(open[64-wire.RecordHeaderSize:], 1)
		w.Raw(wire.TypeOpen, 2, open)
		l, episodes, _ := read(t, w.Bytes())
		if l.Header.Calls != table {
			t.Errorf("table %d is read as %d", table, l.Header.Calls)
		}
		if len(episodes) != 1 || episodes[0].Usage == nil || episodes[0].Usage.Call != want {
			t.Errorf("table %d: %+v, want %s", table, episodes, want)
		}
		if len(l.Open) != 1 || l.Open[0].Open.Call != want {
			t.Errorf("table %d: %+v, want %s", table, l.Open, want)
		}
	}
}

// TestMutants changes logs at random. It checks that nothing panics, that no nonsense is
// yielded, and that intact records are still read.
func TestMutants(t *testing.T) {
	t.Parallel()
	data := sample()
	// Only bytes that mean something are worth changing.
	var places []int
	for i, b := range data {
		if b != 0 && i >= wire.HeaderSize || i%wire.ChunkSize < 300 && i > wire.ChunkSize {
			places = append(places, i)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	mutants := 10_000
	if testing.Short() {
		mutants = 500
	}
	for range mutants {
		bad := bytes.Clone(data)
		for range 1 + random.IntN(3) {
			at := places[random.IntN(len(places))]
			switch random.IntN(3) {
			case 0:
				bad[at] = byte(random.Uint32())
			case 1:
				bad[at] ^= 1 << random.IntN(8)
			default:
				binary.LittleEndian.PutUint16(bad[at&^1:], uint16(random.Uint32()))
			}
		}
		check(t, bad)
	}
}

// check reads a log of any content.
func check(t testing.TB, data []byte) {
	t.Helper()
	l, err := tracelog.Open(bytes.NewReader(data), int64(len(data)), "x")
	if err != nil {
		if l != nil || !strings.HasPrefix(err.Error(), "x: ") {
			t.Fatalf("%v, %v", l, err)
		}
		return
	}
	for _, d := range l.Damage {
		if d.Offset < wire.ChunkSize || d.Offset+d.Size > int64(len(data)) {
			t.Fatalf("damage out of the file: %v", d)
		}
	}
	var n uint64
	for e, err := range l.Episodes() {
		var d *calllog.Damage
		switch {
		case errors.As(err, &d):
		case err != nil:
			t.Fatal(err)
		default:
			n++
			if e.Peak.Lo > e.Peak.Hi || len(e.Stack)+len(e.Children) > wire.MaxEntries {
				t.Fatalf("%+v", e)
			}
		}
	}
	if n != l.Written {
		t.Fatalf("%d episodes, %d before", n, l.Written)
	}
	for _, err := range l.Seen() {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	data := sample()
	f.Add(data[wire.ChunkSize : wire.ChunkSize+1100])
	f.Add(data[3*wire.ChunkSize : 3*wire.ChunkSize+900])
	for _, count := range starterCounts {
		f.Add(hostileLog(count)[wire.ChunkSize:][:200])
	}
	f.Fuzz(func(t *testing.T, chunk []byte) {
		// Chunks after a good header, each with at most 64 KiB of what is given.
		file := bytes.Clone(data[:wire.ChunkSize])
		check(t, append(file, chunk...))
		if len(chunk) >= wire.ChunkHeaderSize {
			c := bytes.Clone(chunk)
			binary.LittleEndian.PutUint32(c, wire.ChunkMagic)
			binary.LittleEndian.PutUint16(c[wire.ChunkFormOffset:], 0)
			binary.LittleEndian.PutUint32(c[wire.ChunkUsedOffset:], 0)
			check(t, append(file, c...))
		}
	})
}

// TestReadError checks that an error of the reader is returned with the file's name, however
// the log is read.
func TestReadError(t *testing.T) {
	t.Parallel()
	data := sample()
	_, err := tracelog.Open(bytes.NewReader(data[:len(data)-100]), int64(len(data)), "x")
	if err == nil || !strings.HasPrefix(err.Error(), "x: offset 0x") {
		t.Error(err)
	}
}

func BenchmarkEpisodes(b *testing.B) {
	w := tracelogtest.New(header)
	for n := range uint64(10_000) {
		w.Episode(episode(1, n+1))
	}
	data := w.Bytes()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		l, err := tracelog.Open(bytes.NewReader(data), int64(len(data)), "x")
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range l.Episodes() {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func Example() {
	data := sample()
	l, err := tracelog.Open(bytes.NewReader(data), int64(len(data)), "game.cairnlog")
	if err != nil {
		panic(err)
	}
	for e, err := range l.Episodes() {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("thread %d: %v ns, %d callers\n", e.TID, e.Peak, len(e.Stack)-1)
		break
	}
	// Output: thread 2: 16000000..17000000 ns, 2 callers
}
