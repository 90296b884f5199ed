package account

import (
	"math/bits"

	"github.com/cairnprof/cairn/calllog"
)

// ticker converts ticks to nanoseconds as calllog.Clock.Nanoseconds does, without a division: it multiplies by
// the whole part and by the fraction of nanoseconds per tick separately, the fraction as a part of 2^64, and
// corrects the result by the remainder.
type ticker struct {
	clock    calllog.Clock
	identity bool
	whole    uint64
	part     uint64 // second%Hz
	scaled   uint64 // part / Hz * 2^64, rounded down
	limit    uint64 // ticks from which on the result does not fit
}

func newTicker(c calllog.Clock) ticker {
	const second = 1e9
	t := ticker{clock: c, identity: c.Hz == 0 || c.Hz == second, limit: 1<<64 - 1}
	if t.identity {
		return t
	}
	t.whole, t.part = second/c.Hz, second%c.Hz
	t.scaled, _ = bits.Div64(t.part, 0, c.Hz)
	if c.Hz < second {
		hi, lo := bits.Mul64(1<<64-1, c.Hz)
		t.limit, _ = bits.Div64(hi, lo, second)
	}
	return t
}

// time converts ticks to nanoseconds.
func (t *ticker) time(ticks uint64) uint64 {
	if t.identity {
		return ticks
	}
	return t.scale(ticks)
}

func (t *ticker) scale(ticks uint64) uint64 {
	if ticks >= t.limit {
		return t.clock.Nanoseconds(ticks)
	}
	// scaled is below the true fraction by less than 2^-64, so q is low by less than 1 before rounding down;
	// the remainder, modulo 2^64, decides.
	q, _ := bits.Mul64(ticks, t.scaled)
	if ticks*t.part-q*t.clock.Hz >= t.clock.Hz {
		q++
	}
	return ticks*t.whole + q
}
