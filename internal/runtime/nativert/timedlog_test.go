package nativert

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// spikeLog is the content of a log, read by the layout in package wire.
type spikeLog struct {
	pid, flags uint32
	started    uint64 // CLOCK_MONOTONIC
	modules    []spikeModule
	episodes   []spikeEpisode
	parents    []spikeParent
	threads    map[uint32]string
	stalls     [][2]uint64
	trailer    spikeTrailer
	seen       uint64
	queued     uint64 // episodes that the process ended before the writer took, and maybe before it counted
}

type spikeModule struct {
	path         string
	start, end   uint64
	instrumented bool
}

type spikeEpisode struct {
	tid, flags             uint32
	number, end, lo, hi, t uint64
	blind                  uint64
	frames                 uint32
	stack, children        []spikeEntry
}

type spikeEntry struct {
	pc, lo, hi uint64
	flags, sp  uint32
}

type spikeParent struct {
	tid                 uint32
	number, end, lo, hi uint64
	flags, sp           uint32
}

type spikeTrailer struct {
	flags                                            uint32
	ticks, blind, worst, borderline, slow, dropped   uint64
	limited, threshold, period, low, idle, cpu, seen uint64
	threads, kind, window, signalled, blocked        uint32
	hz, backwards                                    uint64
}

// judged returns how many calls were found long, or may have been: with a late clock, calls
// move from one group to the other.
func (l *spikeLog) judged() int { return len(l.episodes) + int(l.trailer.borderline) }

var le = binary.LittleEndian

// readLogs reads the logs of a directory.
func readLogs(t *testing.T, dir string) []*spikeLog {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+wire.Suffix))
	if err != nil {
		t.Fatal(err)
	}
	var out []*spikeLog
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, parseLog(t, f, data))
	}
	return out
}

func parseLog(t *testing.T, name string, data []byte) *spikeLog {
	t.Helper()
	if len(data) < wire.ChunkSize || string(data[:8]) != wire.Magic {
		t.Fatalf("%s: not a log", name)
	}
	l := &spikeLog{
		pid: le.Uint32(data[wire.PIDOffset:]), flags: le.Uint32(data[wire.FlagsOffset:]),
		started: le.Uint64(data[wire.MonotonicOffset:]), threads: map[uint32]string{},
	}
	var queues [][]byte
	flight := l.flags&wire.Flight != 0
	for at, n := wire.ChunkSize, uint32(0); at < len(data); at, n = at+wire.ChunkSize, n+1 {
		c := data[at:]
		if len(c) >= wire.ChunkSize && (flight && le.Uint16(c[wire.ChunkKindOffset:]) == wire.KindFlight || le.Uint32(c) == 0) {
			n-- // calls, or room that was not used
			continue
		}
		if len(c) < wire.ChunkSize || le.Uint32(c) != wire.ChunkMagic {
			t.Fatalf("%s: no chunk at %d", name, at)
		}
		if le.Uint16(c[wire.ChunkKindOffset:]) == wire.KindQueue {
			queues = append(queues, c[wire.ChunkHeaderSize:wire.ChunkSize])
			n--
			continue
		}
		if s := le.Uint32(c[wire.ChunkSequenceOffset:]); s != n {
			t.Errorf("%s: chunk %d has number %d", name, n, s)
		}
		used := int(le.Uint32(c[wire.ChunkUsedOffset:]))
		p := c[wire.ChunkHeaderSize:wire.ChunkSize]
		if used != 0 {
			p = p[:used]
		}
		for len(p) >= wire.RecordHeaderSize && le.Uint16(p) != 0 {
			size := int(le.Uint16(p[2:]))
			if size < wire.RecordHeaderSize || size%8 != 0 || size > len(p) {
				t.Fatalf("%s: record of %d bytes at %d", name, size, at)
			}
			l.record(p[:size])
			p = p[size:]
		}
	}
	for _, q := range queues {
		for ; len(q) >= wire.QueueSize; q = q[wire.QueueSize:] {
			l.queue(t, q)
		}
	}
	return l
}

// queue reads what a thread has left in its queue, unless it is the end of what was put into
// the log.
func (l *spikeLog) queue(t *testing.T, q []byte) {
	t.Helper()
	head, read, ring := le.Uint64(q), le.Uint64(q[8:]), q[wire.QueueHeaderSize:]
	for read < head {
		r := ring[read%wire.QueueRoom:]
		if le.Uint16(r) == wire.QueueSkip {
			read += uint64(len(r))
			continue
		}
		size := le.Uint16(r[2:])
		if size < wire.RecordHeaderSize || int(size) > len(r) || uint64(size) > head-read {
			t.Fatalf("a record of %d bytes in a queue", size)
		}
		read += uint64(size)
		if n := len(l.episodes); le.Uint16(r) == wire.TypeEpisode && n > 0 && l.episodes[n-1].number == le.Uint64(r[8:]) {
			continue
		}
		if le.Uint16(r) == wire.TypeEpisode {
			l.queued++
		}
		if le.Uint16(r) != wire.TypeFrames {
			l.record(r[:size])
		}
	}
}

func (l *spikeLog) record(r []byte) {
	a := le.Uint32(r[4:])
	u := func(at int) uint64 { return le.Uint64(r[at:]) }
	h := func(at int) uint32 { return le.Uint32(r[at:]) }
	switch le.Uint16(r) {
	case wire.TypeModule:
		n := int(le.Uint16(r[46:]))
		l.modules = append(l.modules, spikeModule{
			string(r[wire.ModuleSize : wire.ModuleSize+n]), u(24), u(32), h(40)&wire.ModuleInstrumented != 0,
		})
	case wire.TypeThread:
		l.threads[a] = string(r[wire.ThreadSize : wire.ThreadSize+int(le.Uint16(r[16:]))])
	case wire.TypeStall:
		l.stalls = append(l.stalls, [2]uint64{u(8), u(16)})
	case wire.TypeSeen:
		l.seen += u(24)
	case wire.TypeParent:
		l.parents = append(l.parents, spikeParent{a, u(8), u(16), u(24), u(32), h(56), h(60)})
	case wire.TypeTrailer:
		l.trailer = spikeTrailer{
			a, u(16), u(24), u(40), u(48), u(56), u(64), u(72), u(80), u(88), u(96), u(112), u(120), u(128), h(108), h(104),
			h(144), h(148), h(152), u(160), u(168),
		}
	case wire.TypeEpisode:
		e := spikeEpisode{
			tid: a, number: u(8), end: u(16), lo: u(24), hi: u(32), t: u(40), flags: h(56), blind: u(72), frames: h(68),
		}
		stack, children := int(le.Uint16(r[64:])), int(le.Uint16(r[66:]))
		for i := range stack + children {
			at := wire.EpisodeSize + i*wire.EntrySize
			x := spikeEntry{u(at), u(at + 8), u(at + 16), h(at + 24), h(at + 28)}
			if i < stack {
				e.stack = append(e.stack, x)
			} else {
				e.children = append(e.children, x)
			}
		}
		l.episodes = append(l.episodes, e)
	}
}
