package report

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDuration(t *testing.T) {
	t.Parallel()
	for n, want := range map[uint64]string{
		0: "0 ns", 832: "832 ns", 999: "999 ns",
		1000: "1.000 µs", 1234: "1.234 µs", 9999: "9.999 µs", 10_000: "10.00 µs", 10_004: "10.00 µs", 10_005: "10.01 µs",
		999_949: "999.9 µs", 999_950: "1.000 ms",
		1_234_567: "1.235 ms", 123_456_789: "123.5 ms", 999_949_999: "999.9 ms", 999_950_000: "1.000 s",
		12_345_678_901: "12.35 s", 999_900_000_000: "999.9 s", 999_950_000_000: "1,000 s", 12_345_600_000_000: "12,346 s",
		math.MaxUint64: "18,446,744,074 s",
	} {
		if got := Duration(n, Nanoseconds); got != want {
			t.Errorf("Duration(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[uint64]string{0: "< 1.000 ms", 20_000: "< 1.020 ms", 1_999_999: "< 3.000 ms", 2_000_000: "2.000 ms"} {
		if got := Coarse(n, 1_000_000, Nanoseconds); got != want {
			t.Errorf("Coarse(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[uint64]string{0: "< 1.000 ms", 1: "1 ns", 20_000: "20.00 µs"} {
		if got := CoarseSum(n, 1_000_000, Nanoseconds); got != want {
			t.Errorf("CoarseSum(%d) = %s, want %s", n, got, want)
		}
	}
	if exact, ticks := CoarseSum(0, 0, Nanoseconds), CoarseSum(0, 9, "ticks"); exact != "0 ns" || ticks != "0 ticks" {
		t.Errorf("a sum without a step: %s, %s", exact, ticks)
	}
	if exact, ticks := Coarse(0, 0, Nanoseconds), Coarse(5, 9, "ticks"); exact != "0 ns" || ticks != "5 ticks" {
		t.Errorf("without a step: %s, %s", exact, ticks)
	}
	if got := Duration(1234567, "ticks"); got != "1,234,567 ticks" {
		t.Errorf("ticks: %s", got)
	}
	for d, want := range map[int64]string{0: "0 ns", 5: "+5 ns", -1500: "-1.500 µs", math.MinInt64: "-9,223,372,037 s"} {
		if got := DurationChange(d, Nanoseconds); got != want {
			t.Errorf("DurationChange(%d) = %s, want %s", d, got, want)
		}
	}
}

// TestDurationIsNear checks that a printed duration is close to the exact one, has at most nine
// columns below a million seconds, and never decreases when the duration grows.
func TestDurationIsNear(t *testing.T) {
	t.Parallel()
	parse := func(t *rapid.T, n uint64) float64 {
		text := Duration(n, Nanoseconds)
		if width(text) > 9 && n < 9e14 {
			t.Fatalf("%d: %q is wide", n, text)
		}
		number, unit, _ := strings.Cut(text, " ")
		x, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		return x * map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]
	}
	rapid.Check(t, func(t *rapid.T) {
		shift := rapid.IntRange(0, 63).Draw(t, "shift")
		n := rapid.Uint64().Draw(t, "n") >> shift
		x := parse(t, n)
		if math.Abs(x-float64(n)) > 0.0005*float64(n)+1e-6 {
			t.Fatalf("%d is shown as %s", n, Duration(n, Nanoseconds))
		}
		if more := n + rapid.Uint64Range(0, n/8).Draw(t, "more"); more >= n && parse(t, more) < x*(1-1e-12) {
			t.Fatalf("%s of %d, but %s of %d", Duration(n, Nanoseconds), n, Duration(more, Nanoseconds), more)
		}
	})
}
