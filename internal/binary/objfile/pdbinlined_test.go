package objfile

import (
	"reflect"
	"testing"
)

// TestPDBParts checks which of the parts of a PDB have the code, also where they overlap.
func TestPDBParts(t *testing.T) {
	t.Parallel()
	part := func(lo, hi uint64, depth int, line uint32) pdbPart { return pdbPart{lo, hi, depth, row{line: line}} }
	for name, tc := range map[string]struct {
		parts pdbParts
		want  []row
	}{
		"nested":    {pdbParts{part(0, 9, 0, 1), part(2, 8, 1, 2), part(3, 5, 2, 3)}, []row{{0, 0, 1}, {2, 0, 2}, {3, 0, 3}, {5, 0, 2}, {8, 0, 1}}},
		"siblings":  {pdbParts{part(0, 9, 0, 1), part(2, 4, 1, 2), part(4, 6, 1, 3)}, []row{{0, 0, 1}, {2, 0, 2}, {4, 0, 3}, {6, 0, 1}}},
		"folded":    {pdbParts{part(0, 4, 0, 1), part(4, 9, 0, 2), part(0, 4, 0, 7), part(4, 9, 0, 8)}, []row{{0, 0, 1}, {4, 0, 2}}},
		"overlap":   {pdbParts{part(0, 6, 0, 1), part(4, 9, 0, 2)}, []row{{0, 0, 1}, {4, 0, 2}}},
		"contained": {pdbParts{part(0, 9, 0, 1), part(4, 6, 0, 2)}, []row{{0, 0, 1}}},
		"beneath":   {pdbParts{part(0, 4, 0, 1), part(2, 9, 1, 3), part(4, 9, 0, 2)}, []row{{0, 0, 1}, {2, 0, 3}}},
	} {
		b := builder{code: []span{{0, 9}}, fileIDs: map[string]uint32{}}
		tc.parts.rows(&b, []uint64{9})
		if !reflect.DeepEqual(b.table.rows, tc.want) {
			t.Errorf("%s: %v, want %v", name, b.table.rows, tc.want)
		}
	}
}

// TestPDBPartsOverlap checks that parts that all overlap do not take time that grows with the square of their number.
func TestPDBPartsOverlap(t *testing.T) {
	t.Parallel()
	const parts = 400_000
	var p pdbParts
	for i := range uint64(parts) {
		p.add(i, i+parts, 1, 0, uint32(i+1))
	}
	b := builder{code: []span{{0, 2 * parts}}, fileIDs: map[string]uint32{}}
	p.rows(&b, []uint64{2 * parts})
	if n := len(b.table.rows); n != parts {
		t.Errorf("%d rows, want %d", n, parts)
	}
}

// TestPDBPartsReversed checks that a part that ends before it begins, in a damaged file, has no code and leaves the one before it.
func TestPDBPartsReversed(t *testing.T) {
	t.Parallel()
	s := pdbScopes{ranges: []scopeRange{{0, 100, 0, 0}}}
	for _, r := range []scopeRange{{10, 20, 1, 1}, {20, 5, 1, 1}, {20, 30, 1, 1}, {40, 40, 1, 1}} {
		s.addPart(r)
	}
	if want := []scopeRange{{0, 100, 0, 0}, {10, 30, 1, 1}}; !reflect.DeepEqual(s.ranges, want) {
		t.Errorf("%v, want %v", s.ranges, want)
	}
}
