package calllog

// PartTimer is a log that knows when its parts begin without reading them.
type PartTimer interface {
	// PartTime returns the time of the first event of a part of Threads()[thread], or a
	// time before it. It is not ok if that is not known.
	PartTime(thread, part int) (ticks uint64, ok bool)
}

// start is where the reading of a thread begins.
type start struct {
	part  int
	place *place // what is open there, nil for nothing
	blind bool   // something may be open there, and is not known
}

// startOf returns where to begin so that the calls open at the beginning of the selection are known.
func (s *selected) startOf(thread int) (at start) {
	if s.want.From == 0 {
		return at
	}
	if s.want.Places != nil {
		if p := s.want.Places.before(s.origin(thread), s.want.From); p != nil {
			at = start{part: p.part, place: p}
		}
	}
	if s.want.Lookback <= 0 {
		return at
	}
	first := s.partBefore(thread, s.want.From)
	if t := &s.threads[thread]; t.Bytes > 0 {
		first -= int(float64(s.want.Lookback) / float64(t.Bytes) * float64(s.parts[thread]))
	}
	if first > at.part {
		at = start{part: first, blind: true}
	}
	return at
}

// partBefore returns the last part of a thread that begins at time or before, among those before the first that
// does not; 0 if that is not known.
func (s *selected) partBefore(thread int, time uint64) int {
	timer, ok := whole(s.Log).(PartTimer)
	if !ok {
		return 0
	}
	origin, last := s.origin(thread), 0
	for i := range s.parts[thread] {
		t, ok := timer.PartTime(origin, i)
		if !ok {
			continue
		}
		if t > time {
			break
		}
		last = i
	}
	return last
}

// whole returns the log that others were made of.
func whole(log Log) Log {
	for {
		part, ok := log.(interface{ Unwrap() Log })
		if !ok {
			return log
		}
		log = part.Unwrap()
	}
}

// Blind returns the number of threads, in a log that Select made, in which calls may be missing because they
// began before what Lookback allows to read.
func Blind(log Log) (threads int) {
	if s, ok := log.(*selected); ok {
		for i := range s.starts {
			if s.starts[i].blind {
				threads++
			}
		}
	}
	return threads
}
