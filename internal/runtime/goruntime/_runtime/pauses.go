package runtime

import (
	"internal/runtime/sys"
	"unsafe"
)

// cairnPauses are the pauses of a goroutine (mark.Pause). When there are too many, the two that
// are longest ago become one entry: of a call that began between these, the bounds are wider.
type cairnPauses struct {
	_     sys.NotInHeap
	list  [cairnNumPauses]cairnPause
	n     int
	depth int   // pauses that go on, each in the one before
	since int64 // when the outermost of these began
}

// cairnPause is a pause, or several with what is between them; sum is the paused time.
type cairnPause struct{ from, to, sum int64 }

const cairnNumPauses = 32

// cairn_mark_pause begins a pause of the goroutine. It returns its number, 0 if there is no pause.
//
//go:linkname cairn_mark_pause
func cairn_mark_pause() (id uint64) {
	if cairnMode != cairnLogModeSpike {
		return 0
	}
	gp := getg()
	systemstack(func() {
		if !cairnBusy(gp) && cairnPausesBegin(gp) {
			id = gp.goid
		}
	})
	return id
}

// cairn_mark_resume ends a pause of the goroutine with that number.
//
//go:linkname cairn_mark_resume
func cairn_mark_resume(id uint64) {
	if gp := getg(); id != 0 && gp.goid == id {
		systemstack(func() { cairnPausesEnd(gp) })
	}
}

func cairnPausesBegin(gp *g) bool {
	c := cairnWaitsOf(gp)
	if c == nil {
		return false
	}
	if c.pauses == nil {
		if c.pauses = (*cairnPauses)(unsafe.Pointer(cairnMemory.alloc(unsafe.Sizeof(cairnPauses{})))); c.pauses == nil {
			return false
		}
	}
	p := c.pauses
	if p.depth++; p.depth == 1 {
		p.since = cairnNow()
	}
	return true
}

func cairnPausesEnd(gp *g) {
	c := (*cairnWaits)(unsafe.Pointer(gp.cairn.waits))
	if c == nil || c.pauses == nil || c.pauses.depth == 0 {
		return
	}
	p := c.pauses
	if p.depth--; p.depth > 0 {
		return
	}
	if p.n == cairnNumPauses {
		p.list[1] = cairnPause{p.list[0].from, p.list[1].to, p.list[0].sum + p.list[1].sum}
		p.n = copy(p.list[:], p.list[1:])
	}
	now := cairnNow()
	p.list[p.n] = cairnPause{p.since, now, now - p.since}
	p.n++
}

// within returns bounds of the time in pauses between two times.
func (p *cairnPauses) within(from, to int64) (least, most int64) {
	if p == nil {
		return 0, 0
	}
	for i := range p.n {
		e := &p.list[i]
		n := min(e.to, to) - max(e.from, from)
		if n <= 0 {
			continue
		}
		least += max(e.sum-(e.to-e.from-n), 0)
		most += min(e.sum, n)
	}
	if p.depth > 0 && p.since < to {
		n := to - max(p.since, from)
		least, most = least+n, most+n
	}
	return least, most
}

func (p *cairnPauses) least(from, to int64) int64 {
	n, _ := p.within(from, to)
	return n
}

func (p *cairnPauses) most(from, to int64) int64 {
	_, n := p.within(from, to)
	return n
}

// cairnLasted returns bounds of how long a call has lasted, without pauses, that began between the
// times w and began.
func cairnLasted(gp *g, w, began, end int64) (lo, hi int64) {
	lo, hi = end-began, end-w
	if c := (*cairnWaits)(unsafe.Pointer(gp.cairn.waits)); c != nil && c.pauses != nil {
		lo = max(lo-c.pauses.most(began, end), 0)
		hi = max(hi-c.pauses.least(w, end), lo)
	}
	return lo, hi
}

// cairnBusy reports whether the goroutine is in a handler of spikes, where nothing is measured.
func cairnBusy(gp *g) bool {
	c := (*cairnWaits)(unsafe.Pointer(gp.cairn.waits))
	return c != nil && c.busy
}
