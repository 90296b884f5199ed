package tracelog

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// DetectStacks reports whether a file that begins with head is a log of mode
// stacks. It needs 56 bytes.
func DetectStacks(head []byte) bool {
	return Detect(head) && len(head) >= wire.ModeOffset+4 && binary.LittleEndian.Uint32(head[wire.ModeOffset:]) == wire.ModeStacks
}

// Stacks is an open log of mode stacks. It implements calllog.Sums.
type Stacks struct {
	Header  Header
	Modules []Module
	Trailer *Trailer // nil if it was lost
	// Lost counts calls that there was no room for, Deeper those beyond the depth that the program was built for.
	Lost, Deeper uint64
	// Ended are threads whose calls are together in one, which has no number.
	Ended uint64
	// Shared is the number of ended goroutines whose calls are part of another's, which the same go statement
	// started.
	Shared uint64
	// Untimed and Timed report whether there are functions of that kind, Longest whether
	// there are some with their longest calls.
	Untimed, Timed, Longest bool

	info    calllog.Info
	threads []calllog.Thread
	nodes   [][]calllog.StackNode // by thread
}

// stackRef is where a record's node is.
type stackRef struct {
	thread int32 // plus 1; 0: none
	node   int32 // -1: the root
}

// OpenStacks reads a log of mode stacks, of size bytes. Messages call it name.
// objects numbers its modules; nil if no other log must agree.
func OpenStacks(r io.ReaderAt, size int64, name string, objects *Objects) (*Stacks, error) {
	h, err := headerOf(r, size, name)
	if err != nil {
		return nil, err
	}
	if h.Mode != wire.ModeStacks {
		return nil, fmt.Errorf("%s: not a log of mode stacks, but of mode %d", name, h.Mode)
	}
	e := &Events{Header: h, r: r, info: calllog.Info{File: name, Format: "cairn log of stacks", Size: size, Clock: calllog.Clock{Hz: 1e9}}}
	s := &Stacks{Header: h}
	var trees []int64 // chunks
	buf := make([]byte, wire.ChunkSize)
	for off := int64(wire.ChunkSize); off < size; off += wire.ChunkSize {
		chunk, err := e.stackChunk(buf, off)
		if err != nil {
			return nil, err
		}
		if chunk == nil {
			continue
		}
		switch binary.LittleEndian.Uint16(chunk[wire.ChunkKindOffset:]) {
		case wire.KindTree:
			trees = append(trees, off)
		case wire.KindRecords:
			if off == wire.ChunkSize && len(chunk) >= wire.ChunkHeaderSize+wire.TrailerSize {
				if rec, err := decode(chunk[wire.ChunkHeaderSize:][:wire.TrailerSize], off+wire.ChunkHeaderSize, CallsOlder); err == nil {
					s.Trailer = rec.trailer
				}
			}
			if err := e.readRecords(off, int64(len(chunk))); err != nil {
				return nil, err
			}
		}
	}
	s.Modules = e.Modules
	if objects == nil {
		objects = &Objects{}
	}
	e.place(objects)
	if err := s.read(e, trees, objects); err != nil {
		return nil, err
	}
	s.info = e.info
	s.notes()
	return s, nil
}

// stackChunk reads the chunk at off, nil if there is none.
func (e *Events) stackChunk(buf []byte, off int64) ([]byte, error) {
	chunk := buf[:min(int64(len(buf)), e.info.Size-off)]
	if n, err := e.r.ReadAt(chunk, off); n < len(chunk) {
		return nil, fmt.Errorf("%s: offset %#x: %w", e.info.File, off, err)
	}
	end, _, what := chunkEnd(chunk)
	if what != "" {
		e.noteDamage(e.damage(off, int64(len(chunk)), "%s", what))
	}
	if end == 0 {
		return nil, nil
	}
	return chunk, nil
}

// read reads the trees. Records have fixed places, so a damaged one costs only itself and the nodes below it.
func (s *Stacks) read(e *Events, chunks []int64, objects *Objects) error {
	const each = wire.MaxPayload / wire.NodeSize
	limit := uint64(len(chunks)+len(e.info.Damage)) * each // of numbers: chunks may be missing
	refs := make([]stackRef, 1, len(chunks)*each+1)
	buf := make([]byte, wire.ChunkSize)
	for _, off := range chunks {
		chunk, err := e.stackChunk(buf, off)
		if err != nil || chunk == nil {
			return err
		}
		first := binary.LittleEndian.Uint64(chunk[wire.ChunkNumberOffset:])
		if first == 0 || first > limit || (first-1)%each != 0 || first < uint64(len(refs)) {
			e.noteDamage(e.damage(off, int64(len(chunk)), "its records are numbered from %d", first))
			continue
		}
		refs = append(refs, make([]stackRef, int(first)-len(refs))...)
		for at := wire.ChunkHeaderSize; at+wire.NodeSize <= len(chunk); at += wire.NodeSize {
			rec := chunk[at : at+wire.NodeSize]
			if rec[0] == 0 && rec[1] == 0 {
				break
			}
			ref, what := s.record(e, rec, off+int64(at), refs, objects)
			if what != "" {
				e.noteDamage(e.damage(off+int64(at), wire.NodeSize, "%s", what))
			}
			refs = append(refs, ref)
		}
	}
	return nil
}

// record handles the record of a tree or a node. what describes an error in it.
func (s *Stacks) record(e *Events, rec []byte, off int64, refs []stackRef, objects *Objects) (ref stackRef, what string) {
	le := binary.LittleEndian
	kind, a := le.Uint16(rec), le.Uint32(rec[4:])
	field := func(i int) uint64 { return le.Uint64(rec[8*i:]) }
	switch {
	case le.Uint16(rec[2:]) != wire.NodeSize:
		return ref, fmt.Sprintf("a record of %d bytes, not %d", le.Uint16(rec[2:]), wire.NodeSize)
	case kind == wire.TypeTree:
		if len(refs) == 1 {
			s.Lost, s.Deeper = field(2), field(3)
		}
		if a == 0 {
			s.Ended += field(1)
		} else {
			s.Shared += field(1)
		}
		s.threads = append(s.threads, calllog.Thread{PID: s.Header.PID, TID: a, Parts: 1})
		s.nodes = append(s.nodes, nil)
		return stackRef{int32(len(s.threads)), -1}, ""
	case kind != wire.TypeNode:
		return ref, fmt.Sprintf("a record of type %d among stacks", kind)
	case uint64(a) >= uint64(len(refs)) || refs[a].thread == 0:
		return ref, "a function whose caller is not there"
	}
	n := calllog.StackNode{
		Parent: int(refs[a].node), Offset: off, Func: e.functionOf(field(1), le.Uint32(rec[44:])>>wire.NodeModuleShift, objects),
		Calls: field(2), Total: field(3), Unwound: field(4), Open: uint64(le.Uint32(rec[40:])), Longest: field(6),
	}
	flags := le.Uint32(rec[44:])
	n.Untimed, n.HasLongest = flags&wire.NodeUntimed != 0, flags&wire.NodeLongest != 0
	const most = 1 << 60 // calls, and nanoseconds: 36 years
	if n.Calls > most || n.Total > most || n.Longest > most || n.Unwound > n.Calls+1<<20 || n.Open > 1<<20 {
		return ref, "counters of a function that cannot be"
	}
	s.Untimed = s.Untimed || n.Untimed
	s.Timed = s.Timed || !n.Untimed
	s.Longest = s.Longest || n.HasLongest
	ref.thread = refs[a].thread
	list := &s.nodes[ref.thread-1]
	ref.node = int32(len(*list))
	*list = append(*list, n)
	s.threads[ref.thread-1].Bytes += wire.NodeSize
	return ref, ""
}

// functionAt returns the number of the function at an address of the process.
func (e *Events) functionAt(addr uint64, objects *Objects) calllog.FuncID {
	return e.functionOf(addr, 0, objects)
}

// functionOf returns the number of the function at an address of a module that was unloaded, whose number is gone-1;
// if gone is 0, of the module that was last loaded at that address.
func (e *Events) functionOf(addr uint64, gone uint32, objects *Objects) calllog.FuncID {
	var found *Module
	for i := range e.Modules {
		m := &e.Modules[i]
		switch {
		case !m.Holds(addr), gone != 0 && gone != wire.NodeModuleMost && m.Number != gone-1:
		case found == nil, m.Unloaded == 0, found.Unloaded != 0 && m.Time >= found.Time:
			found = m
		}
	}
	if found == nil {
		return calllog.MakeFuncID(noObject, uint32(addr>>2))
	}
	within := addr - found.Bias
	low := within &^ (1<<windowShift - 1)
	return calllog.MakeFuncID(objects.number(found, low), uint32((within-low)>>2))
}

// wallClock is a note about logs of native programs.
const wallClock = "times are of the wall clock: the log does not tell time on a processor from waits but those in functions that only wait (mode spike does, of slow calls)"

func (s *Stacks) notes() {
	add := func(format string, args ...any) { s.info.Notes = append(s.info.Notes, fmt.Sprintf(format, args...)) }
	switch {
	case s.Untimed && !s.Timed:
		add("it has the number of calls of each stack, but no times")
	case s.Longest:
		add("it has the sums and the longest call of each stack, but no shortest calls and no percentiles")
	default:
		add("it has only sums of each stack: no shortest and longest calls and no percentiles")
	}
	switch t := s.Trailer; {
	case t == nil:
		add("it has no settings: it may be incomplete")
	case s.Timed:
		s.info.Clock.Step = t.Period
		add("the clock was updated every %d us (at worst after %d us): sums over many calls are more accurate than single calls",
			t.Period/1000, max(t.WorstGap, t.Period)/1000)
	}
	if s.Longest && s.Timed { // of a native program: those in Go have no longest calls, but waits
		add(wallClock)
	}
	if s.Trailer != nil && !s.Trailer.Final {
		add("the process did not end normally, or is still running: its last second may be missing")
	}
	if s.Untimed && s.Timed {
		add("it has no times of some functions: their time is self time of their callers")
	}
	if s.Ended > 0 {
		add("thread 0 is %d threads that have ended", s.Ended)
	}
	if s.Shared > 0 {
		add("a thread is one or several goroutines of the same go statement, one after the other, with the number of the first: %d have ended", s.Shared)
	}
	if s.Deeper > 0 {
		add("%d calls were deeper than --depth: their time is that of their caller at that depth", s.Deeper)
	}
	if s.Lost > 0 {
		add("%d calls are missing: no room for more stacks, in memory or in the file", s.Lost)
	}
}

// Nodes returns what a thread called, callers before their callees. The index is
// that of Threads.
func (s *Stacks) Nodes(thread int) []calllog.StackNode { return s.nodes[thread] }

// Has implements calllog.Sums.
func (s *Stacks) Has() (times, longest bool) { return s.Timed, s.Longest }

// Info implements calllog.Log.
func (s *Stacks) Info() *calllog.Info { return &s.info }

// Threads implements calllog.Log.
func (s *Stacks) Threads() []calllog.Thread { return slices.Clone(s.threads) }

// Batches implements calllog.Log.
func (s *Stacks) Batches(int, int, int) iter.Seq2[*calllog.Batch, error] {
	return func(yield func(*calllog.Batch, error) bool) {
		yield(nil, fmt.Errorf("%s: a log of mode stacks has only sums: build with --mode trace to record single calls", s.info.File))
	}
}
