package perfdata

import (
	"cmp"
	"errors"
	"io"
	"math/bits"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/armspe"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/sample"
)

// Arm's Statistical Profiling Extension writes to buffers of its own. perf record copies pieces
// of these, each after a record of type AUXTRACE: one buffer for each processor, or for
// each thread. A piece can come much later than the records of its time, so all pieces are
// found first, and read in step with the other records.

// auxArmSPE is the type of trace that an AUXTRACE_INFO record announces.
const auxArmSPE = 4

// clock converts the time of Arm's generic timer to that of perf.
type clock struct{ shift, mult, zero uint64 }

// perfTime converts a time as the documentation of struct perf_event_mmap_page describes.
func (c *clock) perfTime(cycles uint64) uint64 {
	whole, rest := cycles>>c.shift, cycles&(1<<c.shift-1)
	return c.zero + whole*c.mult + rest*c.mult>>c.shift
}

// tracing handles a record that describes how the trace was recorded.
func (p *Reader) tracing(kind uint32, body []byte) {
	f := fields{data: body, big: p.big}
	if kind == recordTimeConv {
		c := clock{f.u64(), f.u64(), f.u64()}
		if !f.short && c.shift < 64 {
			p.clock = &c
		}
		return
	}
	if f.u32() != auxArmSPE || p.spe {
		return
	}
	f.u32()
	p.spe, p.speEvent = true, p.eventOfTrace([3]uint64{f.u64(), f.u64(), f.u64()})
}

// eventOfTrace returns the event of the trace, found by its name, or by its type, which is the first
// of three numbers or, in newer files, the last.
func (p *Reader) eventOfTrace(numbers [3]uint64) uint16 {
	const firstDynamic = 6 // types below it are not of devices
	i := slices.IndexFunc(p.attrs, func(a attr) bool {
		return strings.HasPrefix(a.name, "arm_spe") || a.kind >= firstDynamic && (a.kind == numbers[0] || a.kind == numbers[2])
	})
	return uint16(max(0, i))
}

// traceInfo looks for the trace in the records at the beginning of a file.
func (p *Reader) traceInfo() error {
	in := p.in.again()
	defer in.close()
	for {
		r, err := in.next()
		if err == io.EOF || errors.Is(err, errCut) {
			return nil // Batches reports it
		}
		if err != nil {
			return err
		}
		kind, _, _ := header(r.data, p.big)
		switch {
		case kind == recordAuxTraceInfo, kind == recordTimeConv:
			p.tracing(kind, r.body())
		case kind < recordKernelEnd, kind == recordAuxTrace, kind == recordCompressed, kind == recordCompressed2:
			return nil
		}
	}
}

// piece is a part of a buffer that is in the file.
type piece struct {
	offset, size int64  // in the file
	at           uint64 // in the buffer
}

// trace is what was written to a buffer.
type trace struct {
	cpu, tid int32 // of which one is -1
	pieces   []piece
	largest  int64 // of the pieces, in bytes
	in       input // of the first piece
	at       uint64
	end      uint64 // of the piece, in the buffer
	decoder  armspe.Decoder
	record   armspe.Record
	time     uint64 // of the record, or of the last one that has a time
}

// untimed is the time of records that have none. They come last.
const untimed = 1<<64 - 2

// traces are those of a file. The one whose record is the oldest is the first.
type traces struct {
	session *session
	all     []*trace
	threads map[int32]int32 // the process of each
	running map[int32]int32 // the thread of each processor
	context bool            // records name their thread
}

// findTraces finds the pieces of all buffers.
func (s *session) findTraces() (*traces, error) {
	in := s.in.again()
	defer in.close()
	byBuffer := map[uint32]*trace{}
	found := &traces{session: s, threads: map[int32]int32{}, running: map[int32]int32{}}
	for {
		r, err := in.next()
		if err == io.EOF || errors.Is(err, errCut) {
			break // session.records reports it
		}
		if err != nil {
			return nil, err
		}
		kind, _, _ := header(r.data, s.big)
		f := fields{data: r.body(), big: s.big}
		switch kind {
		case recordTracingData:
			in.skip(tracingDataSize(&f))
		case recordAuxTrace:
			size, at := int64(min(f.u64(), 1<<62)), f.u64()
			f.u64() // a number that is the same for the pieces of one reading
			buffer, tid, cpu := f.u32(), int32(f.u32()), int32(f.u32())
			t := byBuffer[buffer]
			if t == nil {
				t = &trace{cpu: cpu, tid: tid, time: untimed}
				byBuffer[buffer] = t
				found.all = append(found.all, t)
			}
			size = min(size, in.end-in.pos)
			t.pieces = append(t.pieces, piece{in.pos, size, at})
			t.largest = max(t.largest, size)
			in.skip(size)
		}
	}
	traces := found.all
	found.all = nil
	for _, t := range traces {
		ok, err := found.next(t)
		if err != nil {
			return nil, err
		}
		if ok {
			found.all = append(found.all, t)
		}
	}
	stablesort.Func(found.all, byTime)
	return found, nil
}

func byTime(a, b *trace) int { return cmp.Compare(a.time, b.time) }

// next goes to the next branch of a trace. It returns false if there is none.
func (ts *traces) next(t *trace) (ok bool, err error) {
	for {
		if ok, err := t.read(ts.session); !ok || err != nil {
			return false, err
		}
		if c := ts.session.clock; c != nil && t.record.Time != 0 {
			now := c.perfTime(t.record.Time)
			if t.time != untimed {
				now = max(now, t.time)
			}
			t.time = now
		}
		if t.record.HasContext {
			ts.context = true
		}
		if t.record.IsBranch {
			return true, nil
		}
	}
}

// read reads a record. It returns false at the end.
func (t *trace) read(s *session) (ok bool, err error) {
	for {
		b, err := t.in.peek(armspe.MaxSize)
		if err != nil {
			return false, err
		}
		p, whole := armspe.Parse(b, t.at)
		if !whole {
			if len(t.pieces) == 0 {
				if t.decoder.Begun() || len(b) > 0 {
					s.bad(badTrace, t.in.pos)
				}
				return false, nil
			}
			if len(b) > 0 {
				s.bad(badTrace, t.in.pos)
				t.decoder = armspe.Decoder{}
			}
			if t.pieces[0].at != t.end && t.decoder.Begun() { // what followed was lost
				s.bad(badTrace, t.in.pos)
				t.decoder = armspe.Decoder{}
			}
			t.begin(s.in.file)
			continue
		}
		if p.Kind == armspe.Bad && !t.decoder.Damaged() {
			s.bad(badTrace, t.in.pos)
		}
		t.in.skip(int64(p.Size))
		t.at += uint64(p.Size)
		if t.record, ok = t.decoder.Add(p); ok {
			return true, nil
		}
	}
}

// begin goes to the next piece.
func (t *trace) begin(file io.ReaderAt) {
	const most = 64 << 10 // bytes that are read at once
	memory := t.in.memory
	if memory == nil {
		memory = make([]byte, min(most, t.largest)+armspe.MaxSize)
	}
	p := t.pieces[0]
	t.pieces = t.pieces[1:]
	t.in, t.at = input{file: file, pos: p.offset, end: p.offset + p.size, memory: memory}, p.at
	t.end = p.at + uint64(p.size)
}

// until yields the samples of all branches before a time.
func (ts *traces) until(time uint64) error {
	for len(ts.all) > 0 && ts.all[0].time < time && !ts.session.stopped {
		t := ts.all[0]
		ts.give(t)
		ok, err := ts.next(t)
		if err != nil {
			return err
		}
		if ok {
			ts.settle()
		} else {
			ts.all = ts.all[1:]
		}
	}
	return nil
}

// settle moves the first trace, whose time has changed, to its place.
func (ts *traces) settle() {
	t := ts.all[0]
	i, _ := slices.BinarySearchFunc(ts.all[1:], t, byTime)
	copy(ts.all, ts.all[1:1+i])
	ts.all[i] = t
}

// give makes a sample from the current branch of a trace.
func (ts *traces) give(t *trace) {
	s := ts.session
	s.batch.Branch(t.record.Address, t.record.Target, t.record.Mispredicted)
	if t.record.Previous != 0 {
		s.batch.Branch(0, t.record.Previous, false)
	}
	pid, tid := ts.threadOf(t)
	s.stats.Add(s.batch.End(sample.Sample{PID: pid, TID: tid, Count: 1, Period: 1, Event: s.speEvent}))
	if s.batch.Size() > batchSize {
		s.give()
	}
}

// threadOf returns the thread of a trace's current record.
func (ts *traces) threadOf(t *trace) (pid, tid int32) {
	tid = t.tid
	running, known := ts.running[t.cpu]
	switch {
	case t.record.HasContext:
		tid = int32(t.record.Context)
	case ts.context && tid == -1:
		return sample.UnknownPID, sample.UnknownPID
	case tid == -1 && known:
		tid = running
	}
	if pid, ok := ts.threads[tid]; ok {
		return pid, tid
	}
	return sample.UnknownPID, tid
}

// see records what a record of the kernel says about threads.
func (ts *traces) see(kind uint32, misc uint16, body []byte) {
	s := ts.session
	f := fields{data: body, big: s.big}
	switch kind {
	case recordMmap, recordMmap2, recordComm:
		pid, tid := int32(f.u32()), int32(f.u32())
		ts.threads[tid] = pid
	case recordFork:
		pid := int32(f.u32())
		f.u32()
		ts.threads[int32(f.u32())] = pid
	case recordItraceStart:
		pid, tid := int32(f.u32()), int32(f.u32())
		ts.runs(body, pid, tid)
	case recordSwitch, recordSwitchCPU:
		at := len(body) - s.attrs[0].trailer()
		if s.attrs[0].sampleType&sampleTID == 0 || at < 0 {
			return
		}
		own := fields{data: body[at:], big: s.big}
		pid, tid := int32(own.u32()), int32(own.u32())
		if misc&miscSwitchOut != 0 { // the thread that follows is named for a whole processor only
			if kind == recordSwitch {
				return
			}
			pid, tid = int32(f.u32()), int32(f.u32())
		}
		ts.runs(body, pid, tid)
	}
}

// runs records which thread a processor runs from a record on.
func (ts *traces) runs(body []byte, pid, tid int32) {
	a := &ts.session.attrs[0]
	if a.sampleType&sampleCPU == 0 || a.trailer() == 0 {
		return
	}
	at := len(body) - 8*bits.OnesCount64(a.sampleType&(sampleCPU|sampleIdentifier))
	if at < 0 || pid < 0 {
		return
	}
	ts.threads[tid] = pid
	ts.running[int32(number32(body[at:], ts.session.big))] = tid
}
