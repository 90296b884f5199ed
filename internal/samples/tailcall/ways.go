package tailcall

import "slices"

// ways are the paths to a function, over known tail calls and a few unknown ones (hops).
type ways struct {
	world *world
	hops  hops
	to    function
	// least is the minimum number of hops of the paths from each function; more than
	// maxHops + 1 means that there is no path.
	least []uint8

	steps int
	path  []ref
}

// waysTo prepares searches for paths to a function.
func (w *world) waysTo(to function) *ways {
	p := w.ways[to]
	if p == nil {
		p = w.newWays(to, w.all)
		w.ways[to] = p
	}
	return p
}

// newWays prepares searches for paths to a function by some jumps.
func (w *world) newWays(to function, by hops) *ways {
	p := &ways{world: w, hops: by, to: to, least: make([]uint8, w.graph.count)}
	reach := w.known.reaching(to).reach
	for f := range p.least {
		if !reach.has(function(f)) {
			p.least[f] = maxHops + 2
		}
	}
	for hops := range uint8(maxHops + 1) {
		p.extend(hops)
	}
	return p
}

// extend finds the functions whose paths have one hop more.
func (p *ways) extend(hops uint8) {
	w := p.world
	var queue []function
	reach := func(f function) {
		if p.least[f] > hops+1 {
			p.least[f] = hops + 1
			queue = append(queue, f)
		}
	}
	for to, jumpers := range p.hops.by {
		if slices.ContainsFunc(w.members(to), func(m function) bool { return p.least[m] <= hops }) {
			for _, f := range jumpers {
				reach(f)
			}
		}
	}
	for len(queue) > 0 {
		f := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, from := range w.known.edges.in[f] {
			reach(from)
		}
	}
}

// from returns the paths from any of some functions with the minimum number of hops, or
// one more.
func (p *ways) from(callees []function) (a answer) {
	p.steps, p.path = 0, p.path[:0]
	least := uint8(maxHops + 1)
	for _, f := range callees {
		least = min(least, p.least[f])
	}
	if least > maxHops {
		return a
	}
	for _, f := range callees {
		if p.least[f] <= least+1 && a.ways < 2 {
			a.add(p.walk(f, least+1))
		}
	}
	return a
}

// walk continues from a function. Functions may repeat on a path, as hops are few.
func (p *ways) walk(f function, hops uint8) (out answer) {
	w := p.world
	if p.steps++; p.steps > maxSteps || len(p.path) >= maxJumps || w.known.again[f] {
		return answer{ways: 2}
	}
	if f == p.to {
		out = answer{1, slices.Clone(p.path)}
	}
	try := func(at ref, to function, hops uint8) {
		if out.ways < 2 && p.least[to] <= hops {
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
	for _, j := range p.hops.of[f] {
		for _, m := range w.members(j.to) {
			if !slices.Contains(w.known.edges.out[f], edge{j.at, m}) {
				try(j.at, m, hops-1)
			}
		}
	}
	return out
}
