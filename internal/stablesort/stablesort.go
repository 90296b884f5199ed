// Package stablesort sorts lists of rows, and keeps the order of those that are equal.
//
// slices.SortFunc and slices.SortStableFunc are compiled anew for each type of elements, to 10 to 20 kB of code and
// tables. Here all types share a merge sort of indexes, and what swaps elements. Use it for lists that are sorted once
// and shown or written; in loops, and for millions of elements, the standard library is faster.
package stablesort

import (
	"iter"
	"reflect"
	"slices"
)

// Func sorts s by cmp, which returns a negative number if a is before b, a positive one if it is after it, and 0 if
// they are equal. It needs 8 bytes of memory for each element.
func Func[S ~[]E, E any](s S, cmp func(a, b E) int) {
	if len(s) < 2 {
		return
	}
	sort(len(s), func(i, j int32) bool { return cmp(s[i], s[j]) < 0 }, reflect.Swapper(s))
}

// sort swaps n elements until they are in the order of less. It follows the cycles of that permutation, so that each
// element is swapped once.
func sort(n int, less func(i, j int32) bool, swap func(i, j int)) {
	order := sorted(n, less)
	for start := range order {
		for k := start; ; {
			next := int(order[k])
			order[k] = int32(k)
			if next == start {
				break
			}
			swap(k, next)
			k = next
		}
	}
}

// Sorted returns the values of a sequence, sorted by cmp as Func does.
func Sorted[E any](seq iter.Seq[E], cmp func(a, b E) int) []E {
	s := slices.Collect(seq)
	Func(s, cmp)
	return s
}

// runLength is that of the parts that are sorted by insertion before parts are merged.
const runLength = 12

// sorted returns the indexes to n in the order of less.
func sorted(n int, less func(i, j int32) bool) []int32 {
	room := make([]int32, 2*n)
	from, to := room[:n:n], room[n:]
	for i := range from {
		from[i] = int32(i)
	}
	for start := 0; start < n; start += runLength {
		insert(from[start:min(start+runLength, n)], less)
	}
	for length := runLength; length < n; length *= 2 {
		for start := 0; start < n; start += 2 * length {
			middle, end := min(start+length, n), min(start+2*length, n)
			merge(to[start:end], from[start:middle], from[middle:end], less)
		}
		from, to = to, from
	}
	return from
}

// insert sorts a short list.
func insert(list []int32, less func(i, j int32) bool) {
	for i := 1; i < len(list); i++ {
		x := list[i]
		j := i
		for ; j > 0 && less(x, list[j-1]); j-- {
			list[j] = list[j-1]
		}
		list[j] = x
	}
}

// merge writes two sorted lists, of which a was before b, to one.
func merge(to, a, b []int32, less func(i, j int32) bool) {
	if len(a) == 0 || len(b) == 0 || !less(b[0], a[len(a)-1]) { // in order already
		copy(to[copy(to, a):], b)
		return
	}
	for len(a) > 0 && len(b) > 0 {
		if less(b[0], a[0]) {
			to[0], b = b[0], b[1:]
		} else {
			to[0], a = a[0], a[1:]
		}
		to = to[1:]
	}
	copy(to[copy(to, a):], b)
}
