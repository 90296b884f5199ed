package timeline

// maxTime is how long a time line is at most: 36 years.
const maxTime = 1 << 60

// maxTrackDepth is how many calls deep a time line is drawn; deeper ones are counted.
const maxTrackDepth = 512

// A track computes the records of all levels for a thread's calls, or its events.
type track struct {
	lane   int
	events bool
	out    *writer
	depths []depth
	series [maxLevel + 1]series
	added  int
	every  int    // after how many records the track is swept
	now    uint64 // end of the last call
}

// depth has the calls at one depth. Those that may still be merged are on a stack: their
// separations do not increase towards its top, and each level has few of them.
type depth struct {
	stack []item
	end   uint64 // of the last one
}

// sweep is the interval, in records, at which records that cannot be merged any more are
// output.
const sweep = 1 << 12

// add adds a call, when it has ended.
func (t *track) add(r Record) {
	for len(t.depths) <= r.Depth {
		t.depths = append(t.depths, depth{})
	}
	d := &t.depths[r.Depth]
	// Where a clock went back, calls would overlap.
	r.Start = min(max(r.Start, d.end), maxTime)
	r.End = min(max(r.End, r.Start), maxTime)
	r.Calls = 1
	d.end = r.End
	t.now = max(t.now, r.End)
	it := single(r)
	if n := len(d.stack); n > 0 {
		it.separation = max(separate(&d.stack[n-1].Record, &r), d.stack[n-1].From+1)
		t.merge(d, it.separation)
	}
	d.stack = append(d.stack, it)
	if t.added++; t.added%t.every == 0 {
		t.sweep()
	}
}

// merge merges the records that are merged below a level.
func (t *track) merge(d *depth, level uint8) {
	for n := len(d.stack); n > 1 && d.stack[n-1].separation < level; n = len(d.stack) {
		t.mergeTop(d)
	}
}

// mergeTop merges the items on top of a stack that have the same separation.
func (t *track) mergeTop(d *depth) {
	first := len(d.stack) - 1
	at := d.stack[first].separation
	for first > 0 && d.stack[first].separation == at {
		first--
	}
	for i := first; i < len(d.stack); i++ {
		t.put(&d.stack[i], at-1)
	}
	block := &d.stack[first]
	for i := first + 1; i < len(d.stack); i++ {
		block.join(&d.stack[i])
	}
	block.From = at
	d.stack = d.stack[:first+1]
}

// sweep outputs the records with which no later record can be merged, so that records of one
// time are near each other in a series.
func (t *track) sweep() {
	deeper := uint64(0) // end of the last call below
	for i := len(t.depths) - 1; i >= 0; i-- {
		d := &t.depths[i]
		if deeper <= d.end { // no call is open at this depth, so the next begins now or later
			for n := len(d.stack); n > 1; n = len(d.stack) {
				top := &d.stack[n-1]
				if top.Start>>top.separation == t.now>>top.separation {
					break
				}
				t.mergeTop(d)
			}
		}
		deeper = max(deeper, d.end)
	}
}

// put outputs a record whose last level is known.
func (t *track) put(it *item, to uint8) {
	it.To = to
	t.series[to].put(t, &it.Record)
}

// finish outputs all remaining records.
func (t *track) finish() {
	for i := range t.depths {
		d := &t.depths[i]
		t.merge(d, maxLevel+1)
		if len(d.stack) > 0 {
			t.put(&d.stack[0], maxLevel)
		}
	}
	for i := range t.series {
		t.series[i].flush(t)
	}
}
