package profgen

import (
	"cmp"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/internal/stablesort"
)

type ref = machinecode.Ref

// boundary is an instruction that ranges begin or end at.
type boundary struct {
	at         ref
	begins     bool
	ends       bool
	begin, end uint64 // sums of their counts
	depth      int    // ranges without a count that begin here, minus those that end
}

// disjoint splits overlapping ranges into disjoint pieces with the sums of the counts. Pieces
// with a count of zero exist only within ranges with a count of zero.
func disjoint(ranges []unwind.Count) []unwind.Count {
	bounds := make([]boundary, 0, 2*len(ranges))
	for _, r := range ranges {
		zero := 0
		if r.Count == 0 {
			zero = 1
		}
		bounds = append(bounds,
			boundary{at: r.From, begins: true, begin: r.Count, depth: zero},
			boundary{at: r.To, ends: true, end: r.Count, depth: -zero})
	}
	stablesort.Func(bounds, func(a, b boundary) int { return cmp.Compare(a.at, b.at) })
	var pieces []unwind.Count
	var s sweep
	for i := 0; i < len(bounds); {
		b := bounds[i]
		opened, closed := max(b.depth, 0), min(b.depth, 0)
		for i++; i < len(bounds) && bounds[i].at == b.at; i++ {
			o := &bounds[i]
			b.begins, b.ends = b.begins || o.begins, b.ends || o.ends
			b.begin, b.end = b.begin+o.begin, b.end+o.end
			opened, closed = opened+max(o.depth, 0), closed+min(o.depth, 0)
		}
		if b.begins {
			pieces = s.close(pieces, b.at-1)
			s.count += b.begin
			s.open, s.from = true, b.at
			s.zeros += opened
		}
		if b.ends {
			pieces = s.close(pieces, b.at)
			s.count -= b.end
			s.from = b.at + 1
			s.zeros += closed
			s.open = s.count != 0 || s.zeros != 0
		}
	}
	return pieces
}

// sweep is the open piece.
type sweep struct {
	open  bool
	from  ref
	count uint64
	zeros int // ranges without a count around it
}

// close adds the open piece, which ends with an instruction.
func (s *sweep) close(pieces []unwind.Count, last ref) []unwind.Count {
	if !s.open || last < s.from {
		return pieces
	}
	return append(pieces, unwind.Count{From: s.from, To: last, Count: s.count})
}
