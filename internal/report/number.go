package report

import (
	"fmt"
	"strconv"
	"strings"
)

// Count returns n with a comma between each three digits.
func Count[T int | uint64](n T) string { return group(strconv.FormatUint(uint64(n), 10)) }

// group puts commas into a string of digits.
func group(s string) string {
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural formats a number of objects whose plural ends in s.
func Plural(n int, what string) string { return Count(n) + " " + Either(uint64(n), what, what+"s") }

// First returns the first most of names, and how many more there are.
func First(names []string, most int) string {
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Either returns one where n is 1, and many otherwise.
func Either(n uint64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Share returns a part of a whole in percent, rounded; Percent does not round to 0 or 100.
func Share(part, all uint64) string {
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(max(all, 1)))
}

// Percent returns a percentage with one decimal. Only complete coverage is 100.0 %, and only
// no coverage is 0.0 %: a hundred thousand functions less one is 99.9 %.
func Percent(covered, total int) string {
	if total == 0 {
		return "-"
	}
	tenths := (1000*covered + total/2) / total
	if covered < total {
		tenths = min(tenths, 999)
	}
	if covered > 0 {
		tenths = max(tenths, 1)
	}
	return strconv.Itoa(tenths/10) + "." + strconv.Itoa(tenths%10) + "%"
}

// Decimal returns x with significant decimals: none for an integer, one from ten on, at most
// two below.
func Decimal(x float64) string {
	sign := ""
	if x < 0 {
		sign, x = "-", -x
	}
	decimals := 1
	if x < 10 {
		decimals = 2
	}
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(x, 'f', decimals, 64), ".")
	if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
		fraction = "." + fraction
	}
	return sign + group(whole) + fraction
}
