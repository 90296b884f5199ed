package spikes

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
)

// units are those of durations, the largest first. From least on a duration is
// told in a unit. Milliseconds go up to ten seconds: thresholds are set in them.
var units = []struct {
	name        string
	size, least uint64 // ns
}{{"s", 1e9, 1e10}, {"ms", 1e6, 1e5}, {"us", 1e3, 1e3}, {"ns", 1, 0}}

// Interval is a duration for people, three digits and a unit: "16.2..16.4 ms". The
// lower bound is rounded down and the upper one up, so that what is printed is
// true as well. One number stands for bounds that differ by less than the last
// digit.
func Interval(d tracelog.Interval) string {
	u := units[len(units)-1]
	for _, u = range units {
		if d.Hi >= u.least {
			break
		}
	}
	// grain is what the last digit stands for: a power of ten, of which hi has
	// less than a thousand.
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

// mean is the middle of an interval.
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

// decimal is n with a point in front of the last digits.
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

// exact is the interval of a duration that is known.
func exact(ns uint64) tracelog.Interval { return tracelog.Interval{Lo: ns, Hi: ns} }

// Duration is a duration that is known, for people.
func Duration(ns uint64) string {
	number, unit, _ := strings.Cut(Interval(exact(ns)), " ")
	if whole, fraction, ok := strings.Cut(number, "."); ok {
		number = strings.TrimSuffix(whole+"."+strings.TrimRight(fraction, "0"), ".")
	}
	// "10.0 ms" is a threshold that somebody set: 10 ms.
	return number + " " + unit
}

// seconds is a time since the start, with three decimals.
func seconds(ns uint64) string { return decimal(ns/1e6, 3) + " s" }

// since is t-start, 0 for what was before.
func since(t, start uint64) uint64 { return t - min(t, start) }
