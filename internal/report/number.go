package report

import "strconv"

// Count returns n with a comma between each three digits.
func Count[T int | uint64](n T) string {
	s := strconv.FormatUint(uint64(n), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Percent returns a percentage with one decimal. Only what is all covered is
// 100.0 %, and only what is not covered at all is 0.0 %: a hundred thousand
// functions less one is 99.9 %.
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

// Decimal returns x with as many decimals as tell something: none for an
// integer, one above ten, two below.
func Decimal(x float64) string {
	switch {
	case x == float64(int64(x)):
		return strconv.FormatInt(int64(x), 10)
	case x > -10 && x < 10:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}
