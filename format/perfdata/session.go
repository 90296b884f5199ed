package perfdata

import (
	"context"
	"errors"
	"io"

	"github.com/cairnprof/cairn/sample"
)

// session is one pass through the records.
type session struct {
	*Reader

	yield    func(*sample.Batch, error) bool
	stopped  bool // yield returned false
	batch    *sample.Batch
	rounds   rounds
	unpacker *unpacker
	unpacked []byte // output of unpacker that is not a whole record yet
	traces   *traces
	failed   error // the error of reading a trace
	held     held
}

// batchSize is the size from which a batch is yielded.
const batchSize = 1 << 20

func (s *session) close() {
	s.in.close()
	if s.unpacker != nil {
		s.unpacker.stop()
	}
}

func (s *session) run(ctx context.Context) error {
	if s.spe && len(s.attrs) > 0 {
		found, err := s.findTraces()
		if err != nil {
			return err
		}
		s.traces = found
	}
	if err := s.initialMaps(); err != nil {
		return err
	}
	if err := s.records(ctx); err != nil {
		return err
	}
	s.flushHeld()
	s.trace(1<<64 - 1)
	return s.failed
}

// records takes the records of the file.
func (s *session) records(ctx context.Context) error {
	for !s.stopped && s.failed == nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := s.next()
		s.stats.Bytes = s.in.pos
		switch {
		case err == io.EOF:
			s.rounds.flush(1<<64-1, s.record)
			return nil
		case errors.Is(err, errCut):
			s.bad(badEnd, s.in.pos)
			s.rounds.flush(1<<64-1, s.record)
			return nil
		case err != nil:
			return err
		}
		if err := s.handle(r); err != nil {
			s.bad(err.Error(), r.offset)
			s.rounds.flush(1<<64-1, s.record)
			return nil
		}
	}
	return nil
}

// next returns the next record of the file.
func (s *session) next() (record, error) {
	if s.begin != nil {
		r := *s.begin
		s.begin = nil
		return r, nil
	}
	return s.in.next()
}

func (s *session) bad(what string, offset int64) {
	s.stats.Damaged(what, s.info.File, 0, offset)
}

// handle handles a record of the file. An error means that nothing after it can be read.
func (s *session) handle(r record) error {
	kind, _, _ := header(r.data, s.big)
	f := fields{data: r.body(), big: s.big}
	switch {
	case kind < recordKernelEnd:
		s.queue(r)
	case kind == recordFinishedRound:
		s.rounds.end(s.record)
	case kind == recordAuxTrace:
		size := min(f.u64(), 1<<62) // what was traced follows
		s.in.skip(int64(size))
		if !s.spe {
			s.stats.Trace.Undecoded += min(size, uint64(max(0, s.info.Size)))
		}
	case kind == recordEventID:
		s.eventIDs(r.body())
	case kind == recordTracingData, kind == recordAttr:
		return s.describing(r)
	case kind == recordCompressed:
		return s.unpack(r.body(), r.offset)
	case kind == recordCompressed2:
		size := f.u64()
		return s.unpack(f.next(min(size, uint64(len(f.data)))), r.offset)
	}
	return nil
}

// unpack handles the records inside a compressed one.
func (s *session) unpack(payload []byte, offset int64) error {
	if s.unpacker == nil {
		s.unpacker = newUnpacker()
	}
	out, err := s.unpacker.unpack(payload)
	if err != nil {
		return errors.New("cannot decompress (" + err.Error() + "): nothing after it can be read")
	}
	data := append(s.unpacked, out...)
	rest := data
	for len(rest) >= recordHeader && !s.stopped {
		_, _, size := header(rest, s.big)
		if size < recordHeader {
			return errors.New(badEnd)
		}
		if int(size) > len(rest) {
			break
		}
		if kind, _, _ := header(rest, s.big); kind < recordKernelEnd { // no others are packed
			s.queue(record{data: rest[:size], offset: offset})
		}
		rest = rest[size:]
	}
	s.unpacked = append(data[:0], rest...)
	return nil
}

// queue queues a record of the kernel until older ones have been read. Records without a time do not wait.
func (s *session) queue(r record) {
	time, ok := s.timeOf(r)
	if !ok || time == 0 || time == 1<<64-1 {
		s.record(r)
		return
	}
	s.rounds.add(r, time, s.record)
}

// timeOf returns the time of a record, in nanoseconds of the clock in use.
func (s *session) timeOf(r record) (uint64, bool) {
	if len(s.attrs) == 0 {
		return 0, false
	}
	body := r.body()
	if kind, _, _ := header(r.data, s.big); kind == recordSample {
		a, _, ok := s.eventOf(body)
		if !ok {
			return 0, false
		}
		at, ok := a.timeAt()
		if !ok || at+8 > len(body) {
			return 0, false
		}
		return number64(body[at:], s.big), true
	}
	before, ok := s.attrs[0].timeBeforeEnd()
	if !ok || before > len(body) {
		return 0, false
	}
	return number64(body[len(body)-before:], s.big), true
}

// eventOf returns the event of a sample.
func (s *session) eventOf(body []byte) (*attr, uint16, bool) {
	if len(s.attrs) == 0 {
		return nil, 0, false
	}
	first := &s.attrs[0]
	if len(s.attrs) == 1 {
		return first, 0, true
	}
	// perf makes sure that the id is in the same place for all.
	at, ok := first.idAt()
	if !ok {
		return first, 0, true
	}
	if at+8 > len(body) {
		return nil, 0, false
	}
	i, ok := s.ids[number64(body[at:], s.big)]
	if !ok {
		return nil, 0, false
	}
	return &s.attrs[i], i, true
}

// record adds a record to the batch.
func (s *session) record(r record) {
	if s.stopped {
		return
	}
	kind, misc, _ := header(r.data, s.big)
	if s.traces != nil {
		if time, ok := s.timeOf(r); ok && time != 1<<64-1 {
			s.trace(time)
		}
		s.traces.see(kind, misc, r.body())
	}
	switch kind {
	case recordSample:
		s.sample(r)
	case recordMmap, recordMmap2, recordComm, recordFork, recordExit:
		body := r.body()
		if len(s.attrs) > 0 {
			body = body[:max(0, len(body)-s.attrs[0].trailer())]
		}
		e, ok := event(kind, misc, body, s.big)
		if !ok {
			s.bad(badRecord, r.offset)
			return
		}
		if m := &e.Mapping; e.Kind == sample.Map && m.BuildID == "" {
			m.BuildID = s.info.BuildIDs[m.Path] // perf record reads them at its end
		}
		if len(s.batch.Samples) > 0 {
			s.give()
		}
		s.batch.Events = append(s.batch.Events, e)
	case recordCallchain:
		s.complete(r)
	case recordAux:
		if s.spe {
			s.aux(r)
		}
	case recordLost, recordLostSamples:
		f := fields{data: r.body(), big: s.big}
		if kind == recordLost {
			f.u64() // the id of the event
		}
		s.stats.Lost += f.u64()
	}
}

// aux counts the losses that the kernel reports of a piece of the trace.
func (s *session) aux(r record) {
	f := fields{data: r.body(), big: s.big}
	f.u64() // the place and
	f.u64() // size in the buffer
	flags := f.u64()
	if f.short {
		s.bad(badRecord, r.offset)
		return
	}
	l := &s.stats.Trace
	l.Pieces++
	l.Truncated += flags & auxTruncated
	l.Partial += flags & auxPartial / auxPartial
	l.Collisions += flags & auxCollision / auxCollision
	if flags&(auxTruncated|auxPartial|auxCollision) != 0 {
		l.Lossy++
	}
}

// trace yields the samples of traces before a time.
func (s *session) trace(time uint64) {
	if s.traces != nil && s.failed == nil {
		s.failed = s.traces.until(time)
	}
}

func (s *session) sample(r record) {
	a, i, ok := s.eventOf(r.body())
	if !ok {
		s.bad(badEventID, r.offset)
		return
	}
	if a.sampleKind() == sample.Nothing {
		return
	}
	x := sampleOf(a, i, r, s.big, s.batch)
	if x.Sample == nil {
		s.bad(badRecord, r.offset)
		return
	}
	x.InCalls = s.ofSimpleperf() && !x.AtCalls
	s.stats.WrongPath += x.wrongPath
	if x.deferred != 0 {
		s.hold(x.deferred, x.Sample)
		return
	}
	s.stats.Add(x.Sample)
	if s.batch.Size() > batchSize {
		s.give()
	}
}

// give yields the batch and begins another.
func (s *session) give() {
	if len(s.batch.Events) == 0 && len(s.batch.Samples) == 0 {
		return
	}
	if !s.yield(s.batch, nil) {
		s.stopped = true
	}
	s.batch = sample.NewBatch()
}
