package account

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// slowest keeps the longest calls, in a heap with the least of them on top.
type slowest struct {
	limit int
	calls []Call
}

// slower orders calls as Result.Slowest has them.
func slower(a, b *Call) int {
	return cmp.Or(cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Thread, b.Thread),
		cmp.Compare(a.Start, b.Start), cmp.Compare(a.ID, b.ID))
}

// wants reports whether a call of this duration may be among the slowest.
func (s *slowest) wants(duration uint64) bool {
	return len(s.calls) < s.limit || s.limit > 0 && duration >= s.calls[0].Duration
}

// add adds a call that wants accepted. It copies the arguments.
func (s *slowest) add(c Call) {
	if len(s.calls) < s.limit {
		c.Args = slices.Clone(c.Args)
		heap.Push(s, c)
		return
	}
	if slower(&c, &s.calls[0]) < 0 {
		c.Args = slices.Clone(c.Args)
		s.calls[0] = c
		heap.Fix(s, 0)
	}
}

func (s *slowest) merge(calls []Call) {
	for _, c := range calls {
		if s.wants(c.Duration) {
			s.add(c)
		}
	}
}

func (s *slowest) sorted() []Call {
	calls := slices.Clone(s.calls)
	stablesort.Func(calls, func(a, b Call) int { return slower(&a, &b) })
	return calls
}

func (s *slowest) Len() int           { return len(s.calls) }
func (s *slowest) Less(i, j int) bool { return slower(&s.calls[i], &s.calls[j]) > 0 }
func (s *slowest) Swap(i, j int)      { s.calls[i], s.calls[j] = s.calls[j], s.calls[i] }
func (s *slowest) Push(x any)         { s.calls = append(s.calls, x.(Call)) }
func (s *slowest) Pop() any {
	last := s.calls[len(s.calls)-1]
	s.calls = s.calls[:len(s.calls)-1]
	return last
}
