package report

import "strconv"

// Nanoseconds is the unit of times whose clock has a known rate.
const Nanoseconds = "ns"

// durationUnits are the units above the nanosecond. Each starts where the one
// before would need a fifth digit.
var durationUnits = []struct {
	name        string
	nanoseconds uint64
}{{"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}

// Duration returns a time for people: four digits and the unit that suits them,
// "832 ns", "1.234 ms", "12.35 s", and whole seconds from a thousand on. It is
// exact below ten microseconds. A time in another unit than Nanoseconds is a
// number with that unit, "1,234 ticks".
func Duration(n uint64, unit string) string {
	if unit != Nanoseconds {
		return Count(n) + " " + unit
	}
	if n < 1000 {
		return strconv.FormatUint(n, 10) + " ns"
	}
	for _, u := range durationUnits {
		grain := u.nanoseconds / 1000
		for decimals := 3; decimals >= 1; decimals-- {
			if digits := divideRounded(n, grain); digits < 10_000 {
				text := strconv.FormatUint(digits, 10)
				point := len(text) - decimals
				return text[:point] + "." + text[point:] + " " + u.name
			}
			grain *= 10
		}
	}
	return Count(divideRounded(n, 1e9)) + " s"
}

// Coarse is Duration of a time that is known to a step of a clock: "< 2.000 ms" where that matters. step is in
// nanoseconds, 0 for an exact time.
func Coarse(n, step uint64, unit string) string {
	if step == 0 || unit != Nanoseconds || n >= 2*step {
		return Duration(n, unit)
	}
	return "< " + Duration(n+step, unit)
}

// CoarseSum is Duration of the sum of many times that are each known to a step of a clock. It is right on the average,
// so zero says only that it is small: "< 1.000 ms". step is in nanoseconds, 0 for an exact time.
func CoarseSum(n, step uint64, unit string) string {
	if step == 0 || unit != Nanoseconds || n > 0 {
		return Duration(n, unit)
	}
	return "< " + Duration(step, unit)
}

// DurationChange returns how much a time grew, with its sign.
func DurationChange(d int64, unit string) string {
	switch {
	case d < 0:
		return "-" + Duration(-uint64(d), unit)
	case d > 0:
		return "+" + Duration(uint64(d), unit)
	}
	return Duration(0, unit)
}

// divideRounded returns n/d, halves rounded up.
func divideRounded(n, d uint64) uint64 {
	q := n / d
	if r := n % d; r >= d-r {
		q++
	}
	return q
}
