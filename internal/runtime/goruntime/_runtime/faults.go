package runtime

import "unsafe"

// Page faults of goroutines. The kernel counts those of threads: they are read when a goroutine begins to run and
// when it stops, once in a tick of the clock at most. So what ran for less than a tick may have those of a goroutine
// that ran on the thread in the same tick.

// cairnM is what a thread has; it is a field of m.
type cairnM struct {
	at     int64 // clock when the counts were read
	faults cairnFaults
}

type cairnFaults struct{ minor, major uint32 }

func (a cairnFaults) less(b cairnFaults) cairnFaults {
	return cairnFaults{a.minor - b.minor, a.major - b.major}
}

func cairnReadFaults() (f cairnFaults) {
	f.minor, f.major = cairnThreadFaults()
	return f
}

// cairnPaged is a time in which a goroutine did not run, and its faults until then.
type cairnPaged struct {
	from, to int64
	faults   cairnFaults
}

const (
	cairnNumPaged  = 16
	cairnFewFaults = 16 // that are not noted: the next counts have them too
)

// faultsAt returns the faults of the thread that this is called on, when the clock is at w.
func (c *cairnM) faultsAt(w int64) cairnFaults {
	if c.at != w {
		c.at, c.faults = w, cairnReadFaults()
	}
	return c.faults
}

// pages is called when the goroutine begins to run on a thread, having stopped at a clock, or 0 if it has not run before.
func (c *cairnG) pages(gp *g, stopped, w int64) {
	mp := getg().m
	c.on, c.before = mp.id+1, mp.cairn.faultsAt(w)
	if stopped == 0 {
		return
	}
	k := (*cairnWaits)(unsafe.Pointer(c.waits))
	if k == nil {
		if c.faults.minor < cairnFewFaults && c.faults.major == 0 {
			return
		}
		if k = cairnWaitsOf(gp); k == nil {
			return
		}
	}
	k.notePages(stopped, w, c.faults)
}

// stops is called when the goroutine stops to run.
func (c *cairnG) stops(w int64) {
	if mp := getg().m; c.on == mp.id+1 {
		d := mp.cairn.faultsAt(w).less(c.before)
		c.faults.minor += d.minor
		c.faults.major += d.major
	}
	c.on = 0
}

// notePages notes the faults of a goroutine up to a time in which it did not run. Of those times that were
// long ago fewer are kept.
func (k *cairnWaits) notePages(from, to int64, f cairnFaults) {
	list := &k.paged
	if k.pages > 0 {
		last := &list[k.pages-1]
		if d := f.less(last.faults); d.minor < cairnFewFaults && d.major == 0 {
			last.to = to
			return
		}
	}
	if k.pages == cairnNumPaged {
		least, out := int64(1)<<62, 1
		for i := 1; i < cairnNumPaged-1; i++ {
			if gap := (list[i+1].from - list[i-1].to) * 1024 / (to - list[i-1].from + 1); gap < least {
				least, out = gap, i
			}
		}
		copy(list[out:], list[out+1:])
		k.pages--
	}
	list[k.pages] = cairnPaged{from, to, f}
	k.pages++
}

// faults returns the page faults of the goroutine since a time that is not after the beginning of the call;
// 0: since it began.
func (s *cairnCall) faults(k *cairnWaits) (since int64, f cairnFaults) {
	c, mp := &s.gp.cairn, getg().m
	if mp.curg != s.gp || c.on != mp.id+1 {
		return 0, f // what it runs on was not seen
	}
	f = cairnReadFaults().less(c.before)
	f.minor += c.faults.minor
	f.major += c.faults.major
	for i := k.pages - 1; i >= 0; i-- {
		if p := &k.paged[i]; p.from < s.w {
			return min(p.to, s.w), f.less(p.faults)
		}
	}
	return 0, f
}
