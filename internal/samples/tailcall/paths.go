package tailcall

// Bounds of a search: jumps of a path, and steps. A search that reaches them counts as
// ambiguous.
const (
	maxJumps = 16
	maxSteps = 1 << 14
)

// search finds paths from functions to one function, without repeated functions.
type search struct {
	edges *edges
	to    function
	reach functionSet // from which there is a path
	steps int
	path  []ref
	on    map[function]bool // of path
	// longest is the maximum length of paths: longer ones do not count. With 0, the maximum
	// is maxJumps, and longer ones make the result ambiguous.
	longest int
	// again has the functions that may have run several times in a chain; nil: each ran
	// once.
	again []bool
}

// functionSet has a bit for each function. There is a set for each target of a search.
type functionSet []uint64

func newFunctionSet(functions int) functionSet { return make(functionSet, (functions+63)/64) }

func (s functionSet) has(f function) bool { return s[f/64]>>(f%64)&1 != 0 }
func (s functionSet) add(f function)      { s[f/64] |= 1 << (f % 64) }

// newSearch prepares searches for paths to a function.
func newSearch(e *edges, to function) *search {
	s := &search{edges: e, to: to, reach: newFunctionSet(len(e.out)), on: map[function]bool{}}
	s.reach.add(to)
	for queue := []function{to}; len(queue) > 0; {
		f := queue[0]
		queue = queue[1:]
		for _, from := range e.in[f] {
			if !s.reach.has(from) {
				s.reach.add(from)
				queue = append(queue, from)
			}
		}
	}
	return s
}

// answer is the result of a search: the number of paths, 2 for more than one, and the path
// if it is the only one.
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

// from finds the paths from a function.
func (s *search) from(f function) answer {
	s.steps = 0
	return s.walk(f)
}

func (s *search) walk(f function) answer {
	if f == s.to {
		return answer{1, append([]ref(nil), s.path...)}
	}
	var out answer
	if !s.reach.has(f) || s.on[f] {
		return out
	}
	if s.again != nil && (s.again[f] || s.again[s.to]) {
		return answer{ways: 2}
	}
	if s.longest > 0 && len(s.path) == s.longest {
		return out
	}
	if s.steps++; s.steps > maxSteps || s.longest == 0 && len(s.path) == maxJumps {
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

// reached returns the functions that are reachable by tail calls from one, itself first.
func (e *edges) reached(from function) []function {
	out, known := []function{from}, map[function]bool{from: true}
	for i := 0; i < len(out); i++ {
		for _, x := range e.out[out[i]] {
			if !known[x.to] {
				known[x.to] = true
				out = append(out, x.to)
			}
		}
	}
	return out
}

// cyclic finds the functions from which tail calls lead back to themselves. The number of
// rounds cannot be known.
func (e *edges) cyclic() []bool { return new(cycles).find(e) }

// cycles has the memory of cyclic, for the next time.
type cycles struct {
	out, onStack []bool
	index, low   []int32
}

// find is cyclic. The result is valid until the next call.
func (c *cycles) find(e *edges) []bool {
	// Strongly connected components after Tarjan (1972), without recursion.
	n := len(e.out)
	if len(c.out) != n {
		*c = cycles{make([]bool, n), make([]bool, n), make([]int32, n), make([]int32, n)}
	} else {
		clear(c.out)
		clear(c.index)
	}
	out, index, low, onStack := c.out, c.index, c.low, c.onStack
	type call struct {
		f    function
		next int // edge
	}
	var stack []function
	var calls []call
	count := int32(0)
	for root := range n {
		if index[root] != 0 || len(e.out[root]) == 0 {
			continue
		}
		for calls = append(calls, call{f: function(root)}); len(calls) > 0; {
			c := &calls[len(calls)-1]
			f := c.f
			if c.next == 0 {
				count++
				index[f], low[f], onStack[f] = count, count, true
				stack = append(stack, f)
			}
			if c.next < len(e.out[f]) {
				to := e.out[f][c.next].to
				c.next++
				if index[to] == 0 {
					calls = append(calls, call{f: to})
				} else if onStack[to] {
					low[f] = min(low[f], index[to])
				}
				continue
			}
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				caller := calls[len(calls)-1].f
				low[caller] = min(low[caller], low[f])
			}
			if low[f] != index[f] {
				continue
			}
			for at := len(stack) - 1; ; at-- {
				member := stack[at]
				onStack[member] = false
				out[member] = stack[len(stack)-1] != f // more than itself
				if member == f {
					stack = stack[:at]
					break
				}
			}
		}
	}
	return out
}

// searches caches prepared searches and their answers.
type searches struct {
	edges   *edges
	again   []bool
	longest int
	to      map[function]*search
	known   map[[2]function]answer
}

func newSearches(e *edges, again []bool) searches {
	return searches{edges: e, again: again, to: map[function]*search{}, known: map[[2]function]answer{}}
}

// between returns the paths between two functions.
func (s *searches) between(from, to function) answer {
	p := s.reaching(to)
	if !p.reach.has(from) { // most callees of calls with hundreds of them
		return answer{}
	}
	key := [2]function{from, to}
	a, ok := s.known[key]
	if !ok {
		a = p.from(from)
		s.known[key] = a
	}
	return a
}

// fromAny returns the paths from any of some functions to another one.
func (s *searches) fromAny(callees []function, to function) (a answer) {
	for _, c := range callees {
		if a.add(s.between(c, to)); a.ways > 1 {
			break
		}
	}
	return a
}

func (s *searches) reaching(to function) *search {
	p := s.to[to]
	if p == nil {
		p = newSearch(s.edges, to)
		p.again, p.longest = s.again, s.longest
		s.to[to] = p
	}
	return p
}
