package tailcall

import "slices"

// ways are those to a function, over tail calls that are known and some that are
// not.
type ways struct {
	world *world
	to    function
	// reach has by number of hops the functions that there is a way from with at most
	// so many.
	reach [maxHops + 2][]bool

	steps int
	path  []ref
}

// waysTo prepares searches for ways to a function.
func (w *world) waysTo(to function) *ways {
	p := w.ways[to]
	if p != nil {
		return p
	}
	p = &ways{world: w, to: to}
	p.reach[0] = w.known.reaching(to).reach
	for k := 1; k < len(p.reach); k++ {
		p.reach[k] = w.before(p.reach[k-1])
	}
	w.ways[to] = p
	return p
}

// before returns the functions that reach others with one hop more.
func (w *world) before(reach []bool) []bool {
	out := slices.Clone(reach)
	leads := map[target]bool{}
	var queue []function
	for f, jumps := range w.jumps {
		for _, j := range jumps {
			lead, ok := leads[j.to]
			if !ok {
				lead = slices.ContainsFunc(w.members(j.to), func(m function) bool { return reach[m] })
				leads[j.to] = lead
			}
			if lead && !out[f] {
				out[f] = true
				queue = append(queue, f)
			}
		}
	}
	for len(queue) > 0 {
		f := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, from := range w.known.edges.in[f] {
			if !out[from] {
				out[from] = true
				queue = append(queue, from)
			}
		}
	}
	return out
}

// from returns the ways from any of some functions that have as few hops as can be,
// or one more.
func (p *ways) from(callees []function) (a answer) {
	p.steps, p.path = 0, p.path[:0]
	for hops := range maxHops + 1 {
		if !slices.ContainsFunc(callees, func(f function) bool { return p.reach[hops][f] }) {
			continue
		}
		for _, f := range callees {
			if p.reach[hops+1][f] && a.ways < 2 {
				a.add(p.walk(f, hops+1))
			}
		}
		break
	}
	return a
}

// walk goes on from a function. What was passed already may be passed again, as
// hops are few.
func (p *ways) walk(f function, hops int) (out answer) {
	w := p.world
	if p.steps++; p.steps > maxSteps || len(p.path) >= maxJumps || w.known.again[f] {
		return answer{ways: 2}
	}
	if f == p.to {
		out = answer{1, slices.Clone(p.path)}
	}
	try := func(at ref, to function, hops int) {
		if out.ways < 2 && p.reach[hops][to] {
			p.path = append(p.path, at)
			out.add(p.walk(to, hops))
			p.path = p.path[:len(p.path)-1]
		}
	}
	for _, e := range w.known.edges.out[f] {
		try(e.at, e.to, hops)
	}
	if hops == 0 {
		return out
	}
	for _, j := range w.jumps[f] {
		for _, m := range w.members(j.to) {
			if !slices.Contains(w.known.edges.out[f], edge{j.at, m}) {
				try(j.at, m, hops-1)
			}
		}
	}
	return out
}
