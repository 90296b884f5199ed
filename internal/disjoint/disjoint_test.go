package disjoint

import "testing"

func TestJoin(t *testing.T) {
	t.Parallel()
	s := New(5)
	for _, join := range []struct {
		a, b int
		want bool
	}{{0, 1, true}, {2, 3, true}, {1, 0, false}, {1, 2, true}, {0, 3, false}, {4, 4, false}} {
		if got := s.Join(join.a, join.b); got != join.want {
			t.Errorf("the sets of %d and %d were different: %v", join.a, join.b, got)
		}
	}
	if s.Find(0) != s.Find(3) || s.Find(0) == s.Find(4) {
		t.Errorf("sets %v", s)
	}
}
