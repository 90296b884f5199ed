package spikes

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
)

// units are the units of durations, the largest first. A unit is used for durations from least on. Milliseconds
// are used up to ten seconds, as thresholds are set in them.
var units = []struct {
	name        string
	size, least uint64 // ns
}{{"s", 1e9, 1e10}, {"ms", 1e6, 1e5}, {"us", 1e3, 1e3}, {"ns", 1, 0}}

// Interval formats a duration with three digits and a unit: "16.2..16.4 ms". The lower bound is rounded down
// and the upper one up, so that the result contains the interval. If the bounds differ by less than the last
// digit, it is one number.
func Interval(d tracelog.Interval) string {
	u := units[len(units)-1]
	for _, u = range units {
		if d.Hi >= u.least {
			break
		}
	}
	// grain is the unit of the last digit: a power of ten such that hi is less than a thousand of it.
	grain, decimals := u.size, 0
	for grain >= 10 && d.Hi/grain < 100 && decimals < 3 {
		grain /= 10
		decimals++
	}
	lo, hi := d.Lo/grain, d.Hi/grain
	if d.Hi%grain != 0 {
		hi++
	}
	if d.Hi-min(d.Lo, d.Hi) < grain {
		return decimal(nearest(mean(d), grain), decimals) + " " + u.name
	}
	return decimal(lo, decimals) + ".." + decimal(hi, decimals) + " " + u.name
}

// mean returns the middle of an interval.
func mean(d tracelog.Interval) uint64 {
	sum, carry := bits.Add64(d.Lo, d.Hi, 0)
	return sum>>1 | carry<<63
}

// nearest returns n/grain, rounded.
func nearest(n, grain uint64) uint64 {
	q := n / grain
	if n%grain >= grain-n%grain {
		q++
	}
	return q
}

// decimal formats n with a decimal point before its last digits.
func decimal(n uint64, decimals int) string {
	s := strconv.FormatUint(n, 10)
	if decimals == 0 {
		return s
	}
	for len(s) <= decimals {
		s = "0" + s
	}
	return s[:len(s)-decimals] + "." + s[len(s)-decimals:]
}

// exact returns the interval of an exact duration.
func exact(ns uint64) tracelog.Interval { return tracelog.Interval{Lo: ns, Hi: ns} }

// Duration formats an exact duration.
func Duration(ns uint64) string {
	number, unit, _ := strings.Cut(Interval(exact(ns)), " ")
	if whole, fraction, ok := strings.Cut(number, "."); ok {
		number = strings.TrimSuffix(whole+"."+strings.TrimRight(fraction, "0"), ".")
	}
	// "10.0 ms" is a threshold that a user set: 10 ms.
	return number + " " + unit
}

// seconds formats a time since the start with three decimals.
func seconds(ns uint64) string { return decimal(ns/1e6, 3) + " s" }

// since returns t-start, 0 for times before the start.
func since(t, start uint64) uint64 { return t - min(t, start) }
