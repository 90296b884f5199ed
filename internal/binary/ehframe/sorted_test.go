package ehframe

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSorted compares rows that were sorted by their entries with rows that were sorted one by one, of entries in any order, some of
// which follow each other without a gap or overlap.
func TestSorted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var x table
		for range rapid.IntRange(0, 8).Draw(t, "entries") {
			lo := rapid.Uint64Range(1, 12).Draw(t, "lo") * 8
			from := len(x.rows)
			for i := range rapid.Uint64Range(1, 4).Draw(t, "rows") {
				x.rows = append(x.rows, Row{PC: lo + 2*i, CFA: CFAStack, Offset: int32(lo % 16)})
			}
			x.rows = append(x.rows, Row{PC: lo + 8*rapid.Uint64Range(1, 2).Draw(t, "size")})
			x.entries = append(x.entries, entryRows{lo, from, len(x.rows)})
		}
		want := slices.Clone(x.rows)
		slices.SortStableFunc(want, func(a, b Row) int { return cmp.Compare(a.PC, b.PC) })
		if got, want := compact(x.sorted()), compact(want); !slices.Equal(got, want) {
			t.Fatalf("%v\nwant %v", got, want)
		}
	})
}

// TestCompactNext keeps the rule of an entry that begins with that of the one before, where that one ends.
func TestCompactNext(t *testing.T) {
	t.Parallel()
	first, next := Row{PC: 16, CFA: CFAStack, Offset: 8}, Row{PC: 32, CFA: CFAStack, Offset: 8}
	for _, rows := range [][]Row{{first, next, {PC: 32}, {PC: 40}}, {first, {PC: 32}, next, {PC: 40}}} {
		if got := compact(slices.Clone(rows)); !slices.Equal(got, []Row{first, {PC: 40}}) {
			t.Errorf("of %v: %v", rows, got)
		}
	}
}
