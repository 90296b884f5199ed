package stackcopy

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
)

// TestRules compares with a search from the beginning: rows that are dense, that are far apart, and both.
func TestRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var rows []ehframe.Row
		pc := rapid.Uint64().Draw(t, "first") >> rapid.IntRange(0, 63).Draw(t, "bits")
		for _, wide := range rapid.SliceOfN(rapid.IntRange(0, 40), 0, 60).Draw(t, "widths") {
			rows = append(rows, ehframe.Row{PC: pc, Offset: int32(len(rows))})
			next := pc + 1 + rapid.Uint64Range(0, 1<<wide).Draw(t, "size")
			if next <= pc {
				break
			}
			pc = next
		}
		r := NewRules(rows)
		for _, addr := range append(rapid.SliceOf(rapid.Uint64()).Draw(t, "addresses"), around(rows)...) {
			var want *ehframe.Row
			for i := range rows {
				if rows[i].PC <= addr {
					want = &rows[i]
				}
			}
			if got := r.At(addr); got != want {
				t.Fatalf("at %#x: %v, want %v", addr, got, want)
			}
		}
	})
}

// around are the addresses at which rows begin, and those before and after.
func around(rows []ehframe.Row) (out []uint64) {
	for _, r := range rows {
		out = append(out, r.PC-1, r.PC, r.PC+1)
	}
	slices.Sort(out)
	return out
}
