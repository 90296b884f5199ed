package tracelog_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// firstRecord is where the first record of a log begins.
const firstRecord = wire.ChunkSize + wire.ChunkHeaderSize

// starterCounts are numbers of starters that the record of startersLog has no room for, but for the first.
var starterCounts = []uint16{3, 4, wire.MaxStarters, wire.MaxStarters + 1, 0x7fff, 0xffff}

// startersLog returns a log of threads 9 and 10, which have events, with starters of thread 9.
func startersLog(name string, starters ...uint64) []byte {
	w := tracelogtest.New(tracelog.Header{PID: 7, Monotonic: origin, Mode: wire.ModeTrace, Micro: true})
	w.Thread(tracelog.Thread{TID: 9, Name: name, Starters: starters})
	w.Thread(tracelog.Thread{TID: 10, Name: "ten"})
	return slices.Concat(w.Bytes(), callsChunk(9, 0, 0, 1, true, event{1, 16}), callsChunk(10, 0, 0, 1, true, event{1, 16}))
}

// hostileLog returns a log whose thread 9 has three starters and claims to have count.
func hostileLog(count uint16) []byte {
	data := startersLog("nine", 11, 12, 13)
	binary.LittleEndian.PutUint16(data[firstRecord+18:], count)
	return data
}

// TestStarters reads threads with names of all lengths up to 17, and up to as many starters as there may be.
func TestStarters(t *testing.T) {
	t.Parallel()
	for length := range 18 {
		for _, count := range []int{0, 1, 2, wire.MaxStarters} {
			name := strings.Repeat("n", length)
			var starters []uint64
			var want []calllog.FuncID
			for i := range count {
				starters = append(starters, uint64(i+1)<<8)
				want = append(want, calllog.MakeFuncID(255, uint32(i+1)<<6))
			}
			threads := openCalls(t, startersLog(name, starters...), nil).Threads()
			if len(threads) != 2 || threads[0].Name != name || threads[1].Name != "ten" || len(threads[1].Starters) != 0 {
				t.Fatalf("name of %d bytes, %d starters: %+v", length, count, threads)
			}
			if !slices.Equal(threads[0].Starters, want) {
				t.Fatalf("name of %d bytes: starters %#x, want %#x", length, threads[0].Starters, want)
			}
		}
	}
}

// TestHostileStarters reads threads that claim more starters than their records have room for. Each is one error with
// the offset of the record, the other records are read, and no memory is allocated for the claimed starters.
func TestHostileStarters(t *testing.T) {
	most := allocated(t, hostileLog(starterCounts[0])) + 16<<10 // and an error, and what the runtime allocates meanwhile
	for _, count := range starterCounts[1:] {
		data := hostileLog(count)
		l := openCalls(t, data, nil)
		threads, damage := l.Threads(), l.Info().Damage
		if len(threads) != 2 || len(threads[0].Starters) != 0 || threads[1].Name != "ten" || len(damage) != 1 {
			t.Fatalf("%d starters: %+v, %v", count, threads, damage)
		}
		want := fmt.Sprintf("x: offset %#x: a thread has %d starters, there is room for 3", firstRecord, count)
		if !strings.Contains(damage[0].Error(), want) {
			t.Errorf("%q, want %q", damage[0], want)
		}
		if n := allocated(t, data); n > most {
			t.Errorf("%d starters: %d bytes of memory, at most %d are expected", count, n, most)
		}
	}
}

// allocated returns the bytes that opening a log allocates.
func allocated(t *testing.T, data []byte) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	openCalls(t, data, nil)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
