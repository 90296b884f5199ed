//go:build cairn

package mark

import "time"

// pausedBy returns how long the goroutine was paused, up to end.
func (st *stack) pausedBy(end int64) int64 {
	if st.pauses > 0 {
		return st.paused + end - st.pausedAt
	}
	return st.paused
}

// lasted returns the bounds of how long an open span has lasted at end.
func (st *stack) lasted(e *span, end int64) (lo, hi int64) {
	paused := st.pausedBy(end) - e.paused
	lo = max(0, end-opened(e.word, end)-paused)
	return lo, max(lo, end-e.word-paused)
}

// ours runs f, our own work, and excludes its time from all open spans. It began at the time from.
func (st *stack) ours(from int64, f func()) {
	st.busy = true
	defer func() {
		st.busy = false
		if st.pauses == 0 {
			st.paused += now() - from
		}
	}()
	f()
}

// threshold returns that of span i: its own, or that set by a span around it, the nearest first, or the global
// one.
func (st *stack) threshold(i int) int64 {
	if own := st.spans[i].own; own != 0 {
		return own
	}
	for i--; i >= 0; i-- {
		if x := st.spans[i].extra; x != nil && x.children != 0 {
			return x.children
		}
	}
	return thresholds.global.Load()
}

// silent reports whether span i must not be reported.
func (st *stack) silent(i int) bool {
	if st.spans[i].ignore {
		return true
	}
	activity := int8(0)
	for j := i; j >= 0; j-- {
		x := st.spans[j].extra
		if x == nil {
			continue
		}
		if j < i && x.ignored {
			return true
		}
		if activity == 0 {
			activity = x.activity
		}
	}
	return activity < 0
}

// label returns the name that the program gave the goroutine, "" for none.
func (st *stack) label() string {
	for i := len(st.spans) - 1; i >= 0; i-- {
		if x := st.spans[i].extra; x != nil && x.label != "" {
			return x.label
		}
	}
	return ""
}

// slow ends span i, which looks slow. Spans that are open in it were never ended and are dropped.
func (st *stack) slow(i int) {
	end := now()
	st.spans = st.spans[:i+1]
	e := &st.spans[i]
	lo, hi := st.lasted(e, end)
	report.slow.Add(1)
	t := st.threshold(i)
	switch {
	case st.silent(i) || hi < t:
	case lo < t:
		report.borderline.Add(1)
	default:
		st.ours(end, func() { st.cross(i, end, lo, hi, t) })
	}
	if i == 0 {
		return
	}
	outer := &st.spans[i-1]
	spike := uint64(0)
	var below *child
	if e.extra != nil {
		spike, below = e.spike, e.best
	}
	if spike != 0 {
		outer.more().spike = spike
	}
	if best := outer.more().best; best == nil || best.hi < hi {
		c := &child{pc: e.pc, name: e.name, lo: lo, hi: hi}
		if below != nil && 2*below.hi >= hi {
			c.best = below
		}
		outer.best = c
	}
}

// cross reports span i, whose time reached the threshold t: as a caller of the
// spike in it, or as a spike.
func (st *stack) cross(i int, end, lo, hi, t int64) {
	e := &st.spans[i]
	x := e.more()
	s := &Spike{
		Number: x.spike, Parent: x.spike != 0, Name: e.name, Time: start.Add(time.Duration(end)),
		Min: time.Duration(lo), Max: time.Duration(hi), Threshold: time.Duration(t),
		Frame: frames.Load(), Label: st.label(),
	}
	if s.Name == "" {
		s.Name = resolve(e.pc).Name
	}
	if s.Parent {
		if s.Number&unwritten == 0 {
			x.addTexts(s)
			report.parent(i, e.pc, s, end)
		}
		return
	}
	trail := st.trail(i, end)
	x.spike = report.count(trail, end, lo)
	if x.spike&unwritten != 0 {
		return
	}
	s.Number = x.spike
	for c := x.best; c != nil && 2*c.hi >= hi; c = c.best {
		at := resolve(c.pc)
		at.Min, at.Max = time.Duration(c.lo), time.Duration(c.hi)
		if c.name != "" {
			at.Name, at.Section = c.name, true
		}
		s.Children = append(s.Children, at)
		hi = c.hi
	}
	for _, call := range trail {
		s.Stack = append(s.Stack, call.Call)
	}
	x.addTexts(s)
	report.spike(i, s, trail, end)
}

// addTexts adds the texts that the program attached to the span.
func (x *extra) addTexts(s *Spike) {
	s.Messages = x.messages
	if x.desc != nil {
		s.Desc = x.desc()
	}
}
