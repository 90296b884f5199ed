package tailcall

// Bounds of a search: jumps of a path, and steps after which it is given up. What
// is given up counts as ambiguous.
const (
	maxJumps = 16
	maxSteps = 1 << 14
)

// search looks for ways from functions to one of them, without a function twice.
type search struct {
	edges *edges
	to    function
	reach []bool // functions that there is a way from
	steps int
	path  []ref
	on    map[function]bool // of path
}

// newSearch prepares searches for ways to a function.
func newSearch(e *edges, to function) *search {
	s := &search{edges: e, to: to, reach: make([]bool, len(e.out)), on: map[function]bool{}}
	s.reach[to] = true
	for queue := []function{to}; len(queue) > 0; {
		f := queue[0]
		queue = queue[1:]
		for _, from := range e.in[f] {
			if !s.reach[from] {
				s.reach[from] = true
				queue = append(queue, from)
			}
		}
	}
	return s
}

// answer is what a search finds: how many ways there are, 2 for more than one, and
// the way if it is the only one.
type answer struct {
	ways int
	path []ref
}

func (a *answer) add(b answer) {
	if a.ways == 0 {
		a.path = b.path
	}
	a.ways = min(a.ways+b.ways, 2)
}

// from searches for ways from a function.
func (s *search) from(f function) answer {
	s.steps = 0
	return s.walk(f)
}

func (s *search) walk(f function) answer {
	if f == s.to {
		return answer{1, append([]ref(nil), s.path...)}
	}
	var out answer
	if !s.reach[f] || s.on[f] {
		return out
	}
	if s.steps++; s.steps > maxSteps || len(s.path) == maxJumps {
		return answer{ways: 2}
	}
	s.on[f] = true
	for _, e := range s.edges.out[f] {
		s.path = append(s.path, e.at)
		out.add(s.walk(e.to))
		s.path = s.path[:len(s.path)-1]
		if out.ways > 1 {
			break
		}
	}
	delete(s.on, f)
	return out
}

// searches keeps what was prepared, and the answers.
type searches struct {
	edges *edges
	to    map[function]*search
	known map[[2]function]answer
}

func newSearches(e *edges) searches {
	return searches{e, map[function]*search{}, map[[2]function]answer{}}
}

// between returns the ways between two functions.
func (s *searches) between(from, to function) answer {
	key := [2]function{from, to}
	a, ok := s.known[key]
	if !ok {
		a = s.reaching(to).from(from)
		s.known[key] = a
	}
	return a
}

func (s *searches) reaching(to function) *search {
	p := s.to[to]
	if p == nil {
		p = newSearch(s.edges, to)
		s.to[to] = p
	}
	return p
}
