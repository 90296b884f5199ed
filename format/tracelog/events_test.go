package tracelog_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/calls/account"
)

var le = binary.LittleEndian

const origin = 5_000_000_000 // ns

func fnv32(b []byte) uint32 {
	h := fnv.New32a()
	h.Write(b)
	return h.Sum32()
}

// callsHeader returns the first 64 KiB and the chunk of records of a log, with
// a module at start that is linked for link.
func callsHeader(start, link uint64) []byte {
	file := make([]byte, 2*wire.ChunkSize)
	copy(file, wire.Magic)
	le.PutUint16(file[wire.VersionOffset:], wire.Version)
	le.PutUint16(file[wire.SizeOffset:], wire.HeaderSize)
	le.PutUint32(file[wire.PIDOffset:], 7)
	le.PutUint64(file[wire.MonotonicOffset:], origin)
	le.PutUint32(file[wire.ModeOffset:], wire.ModeTrace)
	le.PutUint32(file[wire.ChecksumOffset:], fnv32(file[:wire.ChecksumOffset]))
	c := file[wire.ChunkSize:]
	le.PutUint32(c, wire.ChunkMagic)
	le.PutUint16(c[wire.ChunkKindOffset:], wire.KindRecords)
	r := c[wire.ChunkHeaderSize:]
	le.PutUint16(r, wire.TypeTrace)
	le.PutUint16(r[2:], wire.TraceSize)
	le.PutUint64(r[24:], 250_000)
	r = r[wire.TraceSize:]
	path := "/bin/app"
	le.PutUint16(r, wire.TypeModule)
	le.PutUint16(r[2:], wire.ModuleSize+8)
	le.PutUint64(r[16:], start-link)
	le.PutUint64(r[24:], start)
	le.PutUint64(r[32:], start+200<<20)
	le.PutUint32(r[40:], wire.ModuleMain|wire.ModuleInstrumented)
	le.PutUint16(r[44:], 20)
	le.PutUint16(r[46:], uint16(len(path)))
	copy(r[48:], "12345678901234567890")
	copy(r[wire.ModuleSize:], path)
	return file
}

// event is an event as it is stored in a chunk.
type event struct{ clock, word uint32 }

// callsChunk returns a chunk that was begun at clock. It is live unless it is full.
func callsChunk(tid, sequence, before uint32, clock uint64, live bool, events ...event) []byte {
	c := make([]byte, wire.ChunkSize)
	le.PutUint32(c, wire.ChunkMagic)
	le.PutUint16(c[wire.ChunkKindOffset:], wire.KindEvents)
	le.PutUint32(c[wire.ChunkTIDOffset:], tid)
	le.PutUint32(c[wire.ChunkSequenceOffset:], sequence)
	le.PutUint64(c[wire.ChunkFirstOffset:], origin+(clock-1)*wire.ClockUnit)
	le.PutUint32(c[wire.ChunkBeforeOffset:], before)
	if !live {
		le.PutUint32(c[wire.ChunkUsedOffset:], wire.MaxPayload)
		le.PutUint32(c[wire.ChunkChecksumOffset:], fnv32(c[:wire.ChunkChecksumOffset]))
	}
	for i, e := range events {
		le.PutUint32(c[wire.ChunkHeaderSize+8*i:], e.clock)
		le.PutUint32(c[wire.ChunkHeaderSize+8*i+4:], e.word)
	}
	return c
}

func openCalls(t testing.TB, file []byte, objects *tracelog.Objects) *tracelog.Events {
	t.Helper()
	l, err := tracelog.OpenEvents(bytes.NewReader(file), int64(len(file)), "x", objects)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// times returns the times of a thread, and whether each batch has a break.
func times(t *testing.T, l calllog.Log, thread int) (at []uint64, breaks []bool) {
	t.Helper()
	for b, err := range l.Batches(thread, 0, l.Threads()[thread].Parts) {
		if err != nil {
			t.Fatal(err)
		}
		breaks = append(breaks, b.Break)
		for _, e := range b.Events {
			at = append(at, e.Time)
		}
	}
	return at, breaks
}

const base = 0x7f00_f000_0000 // of the module: its low half wraps

func TestEventsFunctions(t *testing.T) {
	t.Parallel()
	var objects tracelog.Objects
	ids := func(start uint64) (ids []calllog.FuncID) {
		file := slices.Concat(callsHeader(start, 0), callsChunk(9, 0, 0, 1, true,
			event{1, uint32(start + 0x1000)}, event{1, uint32(start+150<<20) | wire.EventTailExit}, event{2, 0x10}))
		for e, err := range openCalls(t, file, &objects).Records() {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, e.Func)
		}
		return ids
	}
	want := []calllog.FuncID{
		calllog.MakeFuncID(0, 0x400), calllog.MakeFuncID(2, (150-128)<<20>>2), calllog.MakeFuncID(255, 4),
	}
	for _, start := range []uint64{base, 0x5555_5555_4000} {
		if got := ids(start); !slices.Equal(got, want) {
			t.Errorf("%x: %x, want %x", start, got, want)
		}
	}
	list := objects.List()
	if len(list) != 4 || list[2].Low != 128<<20 || list[2].Path != "/bin/app" || list[2].Function(150<<20) != want[1] {
		t.Errorf("%+v", list)
	}
}

// TestEventsTimes checks that the high half of a time is that of the chunk, and that older
// events belong to a signal handler or, at the end of a live chunk, are left over.
func TestEventsTimes(t *testing.T) {
	t.Parallel()
	const f = uint32(base&(1<<32-1)) + 16
	late := uint64(5)<<32 - 2
	file := slices.Concat(callsHeader(base, 0),
		callsChunk(9, 4, 0, late, false, event{0xfffffffe, f}, event{1, f}, event{0, 0}, event{0xfffffffe, f | 1}, event{3, f | 1}),
		callsChunk(9, 7, 5, late+10, true, event{20, f}, event{17, f}, event{17, f | 1}),
		make([]byte, wire.ChunkSize),                     // not begun
		callsChunk(9, 9, 9, late+50, true, event{60, f}), // one is missing before it
		callsChunk(9, 11, 0, late+90, true, event{100, f}))
	l := openCalls(t, file, nil)
	if n := len(l.Threads()); n != 2 {
		t.Fatalf("%d threads, want that id and the one who got it later", n)
	}
	high := uint64(5) << 32
	at, breaks := times(t, l, 0)
	if want := []uint64{high - 2, high + 1, high + 1, high + 3, high + 20, high + 60}; !slices.Equal(at, want) {
		t.Errorf("%d, want %d", at, want)
	}
	if !slices.Equal(breaks, []bool{false, false, true}) {
		t.Error(breaks)
	}
	if l.Info().Clock.Start != late || l.Info().Clock.Hz != 50_000 {
		t.Errorf("%+v", l.Info().Clock)
	}
}

func TestEventsRefusals(t *testing.T) {
	t.Parallel()
	file := callsHeader(base, 0)
	if _, err := tracelog.Open(bytes.NewReader(file), int64(len(file)), "x"); err == nil || !strings.Contains(err.Error(), "cairn stacks") {
		t.Error(err)
	}
	le.PutUint32(file[wire.ModeOffset:], 7)
	le.PutUint32(file[wire.ChecksumOffset:], fnv32(file[:wire.ChecksumOffset]))
	if _, err := tracelog.OpenEvents(bytes.NewReader(file), int64(len(file)), "x", nil); err == nil || !strings.Contains(err.Error(), "cairn spikes") {
		t.Error(err)
	}
}

// checkCalls reads all of a file that may be damaged, in both ways.
func checkCalls(t testing.TB, file []byte) {
	t.Helper()
	l, err := tracelog.OpenEvents(bytes.NewReader(file), int64(len(file)), "x", nil)
	if err != nil {
		return
	}
	records, events := 0, 0
	var damage *calllog.Damage
	for _, err := range l.Records() {
		if err == nil {
			records++
		} else if !errors.As(err, &damage) {
			t.Fatal(err)
		}
	}
	for i, th := range l.Threads() {
		for b, err := range l.Batches(i, 0, th.Parts) {
			if err == nil {
				events += len(b.Events)
			} else if !errors.As(err, &damage) {
				t.Fatal(err)
			}
		}
	}
	if records != events {
		t.Fatalf("%d records, %d events", records, events)
	}
	if _, err := account.Run(context.Background(), l, account.Options{Workers: 1}); err != nil {
		t.Fatal(err)
	}
}

func callsSample() []byte {
	const f = uint32(base&(1<<32-1)) + 16
	return slices.Concat(callsHeader(base, 0),
		callsChunk(9, 0, 0, 1, false, event{1, f}, event{2, f + 16}, event{300, f + 16 | 1}),
		callsChunk(8, 1, 0, 5, true, event{5, f}, event{9, f | 2}),
		callsChunk(9, 2, 1, 600, true, event{600, f | 1}))
}

func TestEventsMutants(t *testing.T) {
	t.Parallel()
	sample := callsSample()
	rng := rand.New(rand.NewPCG(1, 2))
	// Where there is something: the headers and what follows them.
	var places []int
	for i, b := range sample {
		if b != 0 || i%wire.ChunkSize < 256 {
			places = append(places, i)
		}
	}
	mutants := 10_000
	if testing.Short() {
		mutants = 500
	}
	for range mutants {
		undo := map[int]byte{}
		for range 1 + rng.IntN(4) {
			at := places[rng.IntN(len(places))]
			if _, ok := undo[at]; !ok {
				undo[at] = sample[at]
			}
			sample[at] = byte(rng.IntN(256))
			if rng.IntN(2) == 0 {
				sample[at] = undo[at] ^ 1<<rng.IntN(8)
			}
		}
		le.PutUint32(sample[wire.ChecksumOffset:], fnv32(sample[:wire.ChecksumOffset]))
		end := len(sample)
		if rng.IntN(4) == 0 {
			end = places[rng.IntN(len(places))] + 1
		}
		checkCalls(t, sample[:end])
		for at, b := range undo {
			sample[at] = b
		}
	}
}

func FuzzEvents(f *testing.F) {
	sample := callsSample()
	f.Add(sample[wire.ChunkSize:wire.ChunkSize+300], sample[2*wire.ChunkSize:2*wire.ChunkSize+128])
	for _, count := range starterCounts {
		f.Add(hostileLog(count)[wire.ChunkSize:][:200], sample[2*wire.ChunkSize:2*wire.ChunkSize+128])
	}
	f.Fuzz(func(t *testing.T, records, events []byte) {
		file := slices.Clone(sample)
		copy(file[wire.ChunkSize:2*wire.ChunkSize], records)
		copy(file[2*wire.ChunkSize:], events)
		checkCalls(t, file)
		copy(file[3*wire.ChunkSize+wire.ChunkHeaderSize:], events)
		checkCalls(t, file)
	})
}
