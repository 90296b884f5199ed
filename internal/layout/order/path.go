package order

import "slices"

// The budgets of shortPaths, in compared words of signatures. They limit its time to a few
// seconds for any input, without a clock.
const (
	nearestBudget = 1 << 28 // above it, the path starts from balanced partitioning
	improveBudget = 1 << 29 // for all improvements together
)

// shortPaths returns short paths through the signatures of groups, as indexes of groups.
//
// Short paths through some thousand signatures are found as for the travelling salesman
// problem: start at the group with the most traces and go to the nearest remaining one, then
// improve by 2-opt (reverse a part of the path) and Or-opt (move a part of up to three
// elsewhere) until neither shortens it. A second path starts from balanced partitioning with
// one utility for each trace; it is the only one if there are too many groups for nearest
// neighbours, whose search is quadratic. Improvements are searched within a window of
// positions that shrinks with the number of groups.
func shortPaths(groups []group, m *metric) [][]int {
	words := len(groups[0].signature)
	paths := [][]int{partitionedPath(groups)}
	if len(groups)*len(groups)*words <= nearestBudget {
		paths = append(paths, nearestPath(groups, m))
	}
	for _, order := range paths {
		p := &path{groups: groups, metric: m, order: order, budget: improveBudget / words / len(paths)}
		p.improve()
	}
	return paths
}

// nearestPath starts at the first group, which has the most traces, and continues with the
// nearest remaining group, the first of several.
func nearestPath(groups []group, m *metric) []int {
	left := make([]int, len(groups))
	for g := range left {
		left[g] = g
	}
	order := make([]int, 0, len(groups))
	next := 0 // index in left
	for {
		g := left[next]
		order = append(order, g)
		left = slices.Delete(left, next, next+1)
		if len(left) == 0 {
			return order
		}
		best := int64(-1)
		for i, h := range left {
			if d := m.distance(groups[g].signature, groups[h].signature); best < 0 || d < best {
				best, next = d, i
			}
		}
	}
}

// partitionedPath orders the groups by balanced partitioning.
func partitionedPath(groups []group) []int {
	utils := make([][]uint32, len(groups))
	ids := make([]uint32, len(groups))
	traces := 64 * len(groups[0].signature)
	for g := range groups {
		ids[g] = uint32(g)
		for t := range traces {
			if groups[g].signature[t/64]>>(t%64)&1 != 0 {
				utils[g] = append(utils[g], uint32(t))
			}
		}
	}
	order := make([]int, len(groups))
	for i, g := range bisected(ids, utils, traces) {
		order[i] = int(g)
	}
	return order
}

// path is an order of groups that is being improved.
type path struct {
	groups []group
	metric *metric
	order  []int
	budget int // distances that may still be computed
}

// at returns the signature at a position; before the first and after the last it is empty.
func (p *path) at(i int) signature {
	if i < 0 || i >= len(p.order) {
		return nil
	}
	return p.groups[p.order[i]].signature
}

func (p *path) gap(i, j int) int64 {
	p.budget--
	return p.metric.distance(p.at(i), p.at(j))
}

// pathSweeps is the number of sweeps over the path for which the window is chosen.
const pathSweeps = 8

// improve shortens the path until it is a local optimum or the budget is used.
func (p *path) improve() {
	window := max(p.budget/(pathSweeps*8*len(p.order)), 2)
	for improved := true; improved && p.budget > 0; {
		improved = false
		for i := 0; i < len(p.order) && p.budget > 0; i++ {
			if p.turn(i, window) || p.moveFrom(i, window) {
				improved = true
			}
		}
	}
}

// turn searches an end such that reversing the part from i to it shortens the path.
func (p *path) turn(i, window int) bool {
	before := p.gap(i-1, i)
	for j := i + 1; j < len(p.order) && j-i <= window; j++ {
		if p.gap(i-1, j)+p.gap(i, j+1) < before+p.gap(j, j+1) {
			slices.Reverse(p.order[i : j+1])
			return true
		}
	}
	return false
}

// moveFrom searches a new position for the part of one to three groups at i that shortens the
// path, in either direction.
func (p *path) moveFrom(i, window int) bool {
	for n := 1; n <= 3 && i+n <= len(p.order); n++ {
		last := i + n - 1
		saved := p.gap(i-1, i) + p.gap(last, last+1) - p.gap(i-1, last+1)
		if saved <= 0 {
			continue
		}
		for k := max(i-window, 0); k <= min(last+window+1, len(p.order)); k++ {
			if k >= i && k <= last+1 {
				continue // within the part, or its present position
			}
			between := p.gap(k-1, k)
			straight := p.gap(k-1, i) + p.gap(last, k) - between
			turned := p.gap(k-1, last) + p.gap(i, k) - between
			if min(straight, turned) < saved {
				shift(p.order, i, n, k, turned < straight)
				return true
			}
		}
	}
	return false
}

// shift moves the n elements at i before the element at k, which is not among them, and
// reverses them if turned.
func shift(order []int, i, n, k int, turned bool) {
	if turned {
		slices.Reverse(order[i : i+n])
	}
	// Three reversals are a rotation, without allocation.
	lo, mid, hi := i, i+n, k
	if k < i {
		lo, mid, hi = k, i, i+n
	}
	slices.Reverse(order[lo:mid])
	slices.Reverse(order[mid:hi])
	slices.Reverse(order[lo:hi])
}
