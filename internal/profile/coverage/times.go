package coverage

import (
	"hash/fnv"
	"io"
	"strconv"

	"github.com/cairnprof/cairn/internal/profile/edges"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/prof"
)

// Executions of a line, in mode edge: of its blocks in one copy of the code, the one that ran most often counts, as the
// condition of a loop does; copies in several functions, and of what was inlined, add up.

// copyOf is a copy of the code of a line: in a function, and inlined along calls.
type copyOf struct {
	at    lineOf
	fn    place
	chain uint64 // a digest of the calls
}

// counted records that code of a line, in a block of fn, ran so often.
func (o *observer) counted(at lineOf, fn place, frames []Frame, times uint64) {
	key := copyOf{at: at, fn: fn}
	if len(frames) > 1 {
		h := fnv.New64a()
		for i := range frames[1:] {
			f := &frames[1+i]
			io.WriteString(h, f.Func+"\x00"+f.CallFile+"\x00"+strconv.Itoa(f.CallLine)+"\x00")
		}
		key.chain = h.Sum64()
	}
	o.copyTimes[key] = max(o.copyTimes[key], times)
}

// times returns how often each line ran.
func (o *observer) times() map[lineOf]uint64 {
	sums := map[lineOf]uint64{}
	for key, n := range o.copyTimes {
		sums[key.at] = saturate.Add(sums[key.at], n)
	}
	return sums
}

// edgeTimes returns how often control went from one piece of a function to another directly, nil if that is not
// recorded.
func (fl *flow) edgeTimes(f *prof.Func, times []uint64) func(from, to int) uint64 {
	if times == nil {
		return nil
	}
	direct := map[[2]int]uint64{}
	for _, e := range edges.Of(f, times) {
		if e.To != edges.Outside {
			direct[[2]int{int(e.From), int(e.To)}] = e.Times
		}
	}
	return func(from, to int) uint64 {
		if block, ok := fl.edges[[2]int{from, to}]; ok {
			return times[block]
		}
		return direct[[2]int{fl.pieces[from].block, fl.pieces[to].block}]
	}
}
