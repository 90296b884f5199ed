package timeline

import "math/bits"

// Kind is the kind of a record.
type Kind uint8

// The kinds of records.
const (
	Single Kind = iota // a call, or an event
	NoExit             // a call whose end is not in the log
	Block              // several calls
)

// maxLevel is the level at which records end that are not merged with any other.
const maxLevel = 63

// Record is a call or several.
type Record struct {
	Depth      int    // 1 for a thread's outermost calls; events have 0
	Start, End uint64 // since the time line began
	Func       uint32 // index; for a block the function that took most of its time
	Kind       Kind
	Calls      uint64 // 1 except for a block
	Idle       uint64 // for a block: time outside of calls
	From, To   uint8  // the levels on which it is
}

// share is a function in a block and its part of the block's time.
type share struct {
	fn     uint32
	weight uint64
}

// shares are how many functions of a block are followed.
const shares = 3

// item is a record that may still be merged.
type item struct {
	Record
	// separation is the level at which it is merged with the one before it.
	separation uint8
	// top are the functions with the most time, the most first. Others were subtracted, as
	// in the algorithm of Misra and Gries: a weight lacks at most a quarter of all.
	top [shares]share
}

// single returns an item for one call. Calls without duration have a small weight.
func single(r Record) item {
	it := item{Record: r}
	it.top[0] = share{r.Func, r.End - r.Start + 1}
	return it
}

// separate returns the level at which b is merged with a, which is before it: the first one
// where they begin in the same cell and b is shorter than a cell. Then a is, too.
func separate(a, b *Record) uint8 {
	return uint8(max(1, bits.Len64(a.Start^b.Start), bits.Len64(b.End-b.Start)))
}

// join adds b, which follows a.
func (a *item) join(b *item) {
	a.Idle += b.Idle + b.Start - a.End
	a.End = b.End
	a.Calls += b.Calls
	a.Kind = Block
	for _, s := range b.top {
		if s.weight > 0 {
			a.weigh(s)
		}
	}
	a.Func = a.top[0].fn
}

// weigh adds to the weight of a function.
func (a *item) weigh(s share) {
	at := -1
	for i := range a.top {
		if t := &a.top[i]; t.weight > 0 && t.fn == s.fn {
			t.weight += s.weight
			at = i
			break
		}
	}
	if at < 0 {
		last := &a.top[shares-1]
		if last.weight > 0 {
			cut := min(last.weight, s.weight)
			for i := range a.top {
				a.top[i].weight -= cut
			}
			if s.weight -= cut; s.weight == 0 {
				return
			}
		}
		*last, at = s, shares-1
	}
	for ; at > 0 && a.top[at].weight > a.top[at-1].weight; at-- {
		a.top[at], a.top[at-1] = a.top[at-1], a.top[at]
	}
}
