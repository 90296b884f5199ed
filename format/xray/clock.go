package xray

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// clock returns the clock of a log. The rate in the header can be 0, or the maximum frequency of a CPU, which
// is not that of its tick counter. In FDR logs it is determined from the first and last block: each has a tick
// and the wall-clock time, accurate to a microsecond.
func clock(h *header, parts []part) calllog.Clock {
	c := calllog.Clock{Hz: h.hz}
	some := false
	for i := range parts {
		if p := &parts[i]; p.timed && (!some || p.first < c.Start) {
			c.Start, some = p.first, true
		}
	}
	// Without a tick counter the runtime takes the time of day at 1 GHz.
	const second, year = 1e9, 31_556_952
	const from, to = 30 * year * second, 230 * year * second
	if h.hz == second && c.Start > from && c.Start < to {
		c.Epoch = true
		return c
	}
	if hz := estimate(parts); h.fdr && hz != 0 && differs(hz, h.hz) {
		c.Hz, c.Claimed = hz, h.hz
	}
	return c
}

// estimate returns the ticks per second, or 0: the median over pairs of blocks, including the first and the
// last, so that a few damaged ones do no harm.
func estimate(parts []part) uint64 {
	const most = 64
	var timed, some []part
	for _, p := range parts {
		if p.timed && p.wall != 0 {
			timed = append(timed, p)
		}
	}
	stablesort.Func(timed, func(a, b part) int { return cmp.Compare(a.wall, b.wall) })
	for i := range min(most, len(timed)) {
		some = append(some, timed[i*(len(timed)-1)/max(min(most, len(timed))-1, 1)])
	}
	var rates []uint64
	for j := range some {
		for i := range j {
			if hz := rate(&some[i], &some[j]); hz != 0 {
				rates = append(rates, hz)
			}
		}
	}
	if len(rates) == 0 {
		return 0
	}
	slices.Sort(rates)
	return rates[len(rates)/2]
}

// rate returns the ticks per second between the beginnings of two blocks, or 0 if
// they are less than 100 ms apart.
func rate(first, last *part) uint64 {
	const least, second = 100_000, 1_000_000
	micros := last.wall - first.wall
	if micros < least || last.first <= first.first {
		return 0
	}
	hi, lo := bits.Mul64(last.first-first.first, second)
	if hi >= micros {
		return 0
	}
	hz, _ := bits.Div64(hi, lo, micros)
	if hz > maxHz {
		return 0
	}
	return hz
}

// differs reports whether a rate is more than 1 % from the one claimed.
func differs(hz, claimed uint64) bool {
	d := max(hz, claimed) - min(hz, claimed)
	return d > claimed/100
}
