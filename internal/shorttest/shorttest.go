// Package shorttest has what tests of several packages share: the rows of a table that run where time is short, a
// cache, the command and a loader of programs for macOS.
package shorttest

import "testing"

// Rows returns the first n rows of a table in tests with -short, as make test runs them, and
// all rows in others, as make long runs them. The first rows of a table should be those that
// differ most from each other.
func Rows[T any](n int, rows ...T) []T {
	if testing.Short() {
		return rows[:min(n, len(rows))]
	}
	return rows
}
