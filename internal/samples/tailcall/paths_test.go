package tailcall

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// graph makes edges of "from to" pairs; the n-th is made at Ref n+1.
func graph(functions int, pairs ...[2]function) *edges {
	out := make([][]edge, functions)
	for i, p := range pairs {
		out[p[0]] = append(out[p[0]], edge{machinecode.Ref(i + 1), p[1]})
	}
	e := newEdges(out)
	return &e
}

func TestBetween(t *testing.T) {
	t.Parallel()
	var line [][2]function
	for i := range function(20) {
		line = append(line, [2]function{i, i + 1})
	}
	for _, c := range []struct {
		name     string
		edges    *edges
		from, to function
		ways     int
		path     string
	}{
		{"itself", graph(1), 0, 0, 1, "[]"},
		{"nothing", graph(2), 0, 1, 0, "[]"},
		{"one jump", graph(2, [2]function{0, 1}), 0, 1, 1, "[1]"},
		{"the wrong way", graph(2, [2]function{0, 1}), 1, 0, 0, "[]"},
		{"two jumps to one", graph(2, [2]function{0, 1}, [2]function{0, 1}), 0, 1, 2, ""},
		{"diamond", graph(4, [2]function{0, 1}, [2]function{0, 2}, [2]function{1, 3}, [2]function{2, 3}), 0, 3, 2, ""},
		{"a side that leads nowhere", graph(4, [2]function{0, 1}, [2]function{0, 2}, [2]function{1, 3}), 0, 3, 1, "[1 3]"},
		{"a circle beside it", graph(5, [2]function{0, 1}, [2]function{2, 3}, [2]function{3, 2}), 0, 1, 1, "[1]"},
		{"mutual recursion on the way", graph(4, [2]function{0, 1}, [2]function{1, 2}, [2]function{2, 1}, [2]function{2, 3}), 0, 3, 2, ""},
		{"16 jumps", graph(21, line...), 0, 16, 1, "[1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16]"},
		{"17 jumps", graph(21, line...), 0, 17, 2, ""},
	} {
		s := newSearches(c.edges, c.edges.cyclic())
		got := s.between(c.from, c.to)
		if got.ways != c.ways || c.ways < 2 && fmt.Sprint(got.path) != c.path {
			t.Errorf("%s: %d ways, %v", c.name, got.ways, got.path)
		}
	}
}

// TestFromAny checks that several functions that lead to a frame are as ambiguous as several
// paths from one.
func TestFromAny(t *testing.T) {
	t.Parallel()
	e := graph(5, [2]function{0, 3}, [2]function{1, 3}, [2]function{2, 4})
	for _, c := range []struct {
		callees []function
		ways    int
		path    string
	}{
		{nil, 0, "[]"},
		{[]function{2, 4}, 0, "[]"},
		{[]function{2, 1, 4}, 1, "[2]"},
		{[]function{0, 2, 1}, 2, ""},
		{[]function{1, 3}, 2, ""},
	} {
		s := newSearches(e, nil)
		got := s.fromAny(c.callees, 3)
		if got.ways != c.ways || c.ways < 2 && fmt.Sprint(got.path) != c.path {
			t.Errorf("%v: %d ways, %v", c.callees, got.ways, got.path)
		}
	}
}

// TestRandom compares searches with a list of all simple paths, and cycles with the functions
// that reach themselves.
func TestRandom(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 7))
	for range 3000 {
		n := 2 + rnd.IntN(7)
		var pairs [][2]function
		for range rnd.IntN(2 * n) {
			if a, b := function(rnd.IntN(n)), function(rnd.IntN(n)); a != b {
				pairs = append(pairs, [2]function{a, b})
			}
		}
		e := graph(n, pairs...)
		again := e.cyclic()
		for f := range function(n) {
			back := false
			for _, x := range e.out[f] {
				back = back || len(simplePaths(e, x.to, f, nil)) > 0
			}
			if again[f] != back {
				t.Fatalf("%v: %d is on a circle: %v", pairs, f, again[f])
			}
		}
		s := newSearches(e, nil)
		for range 4 {
			from, to := function(rnd.IntN(n)), function(rnd.IntN(n))
			want, got := simplePaths(e, from, to, nil), s.between(from, to)
			if got.ways != min(len(want), 2) || len(want) == 1 && fmt.Sprint(got.path) != fmt.Sprint(want[0]) {
				t.Fatalf("%v, %d to %d: %d ways, %v; they are %v", pairs, from, to, got.ways, got.path, want)
			}
		}
	}
}

// simplePaths lists the paths between two functions that visit no function twice.
func simplePaths(e *edges, from, to function, met []function) [][]ref {
	if from == to {
		return [][]ref{{}}
	}
	var out [][]ref
next:
	for _, x := range e.out[from] {
		for _, f := range append(met, from) {
			if f == x.to {
				continue next
			}
		}
		for _, rest := range simplePaths(e, x.to, to, append(met[:len(met):len(met)], from)) {
			out = append(out, append([]ref{x.at}, rest...))
		}
	}
	return out
}

// TestMerged makes one of copies of a jump, and of no others.
func TestMerged(t *testing.T) {
	t.Parallel()
	e := graph(3, [2]function{0, 1}, [2]function{0, 1}, [2]function{0, 2}, [2]function{0, 1}, [2]function{0, 1})
	place := func(at machinecode.Ref) uint64 { return []uint64{0, 5, 5, 5, 0, 0}[at] }
	m := e.merged(place)
	if got := fmt.Sprint(m.out[0]); got != "[{1 1} {3 2} {4 1} {5 1}]" {
		t.Error(got)
	}
}
