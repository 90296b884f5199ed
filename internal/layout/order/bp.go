package order

import (
	"cmp"
	"slices"
)

// byPartitioning returns the functions of the traces in the order of balanced
// partitioning.
//
// The utilities are the prefixes of each trace at cut points that grow by doubling. A function
// is in the utility of its section between two cuts and in those of all later sections of the
// trace: an early function is in every prefix, a late one only in the last, so early functions
// are placed closer together.
func byPartitioning(in *Input, traces []trace, alg Algorithm, filter bool) []uint32 {
	nodes := nodesOf(in, traces)
	utils, n := prefixUtilities(in, traces, alg)
	if filter {
		dropOutliers(nodes, utils, n)
	}
	return bisected(nodes, utils, n)
}

// prefixUtilities returns the utilities of each function, and their number.
func prefixUtilities(in *Input, traces []trace, alg Algorithm) ([][]uint32, int) {
	utils, n := make([][]uint32, len(in.Funcs)), 0
	for _, t := range traces {
		cuts := positionCuts(len(t.funcs))
		if alg == BPLLD {
			cuts = sizeCuts(in, t.funcs)
		}
		for i, f := range t.funcs {
			for u := cuts[i]; u <= cuts[len(cuts)-1]; u++ {
				utils[f] = append(utils[f], uint32(n+u))
			}
		}
		if len(cuts) > 0 {
			n += cuts[len(cuts)-1] + 1
		}
	}
	return utils, n
}

// nodesOf returns the functions of the traces by their earliest position in any trace, then by
// index: the initial order of balanced partitioning.
func nodesOf(in *Input, traces []trace) []uint32 {
	earliest := make([]int, len(in.Funcs))
	var nodes []uint32
	for _, t := range traces {
		for i, f := range t.funcs {
			if earliest[f] == 0 {
				nodes = append(nodes, f)
				earliest[f] = i + 1
			}
			earliest[f] = min(earliest[f], i+1)
		}
	}
	slices.SortFunc(nodes, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(earliest[a], earliest[b]), cmp.Compare(a, b))
	})
	return nodes
}

// bisected orders ids, which have the utilities utils[id].
func bisected(ids []uint32, utils [][]uint32, utilities int) []uint32 {
	nodes := make([]node, len(ids))
	for i, id := range ids {
		nodes[i] = node{id: id, utils: utils[id]}
	}
	bisect(nodes, utilities)
	order := make([]uint32, len(ids))
	for i := range nodes {
		order[i] = nodes[i].id
	}
	return order
}

// positionCuts returns for each position of a trace of n functions the number of its section,
// as in llvm-profdata order: a section begins at each power of two.
func positionCuts(n int) []int {
	cuts := make([]int, n)
	stretch, next := 0, 1
	for i := range cuts {
		if i >= next {
			stretch++
			next = 2 * i
		}
		cuts[i] = stretch
	}
	return cuts
}

// sizeCuts is positionCuts by lld's rule (--bp-startup-sort=function): sections also begin
// when the size of the functions so far has doubled.
func sizeCuts(in *Input, funcs []uint32) []int {
	cuts := make([]int, len(funcs))
	stretch, next := 0, 1
	var size, nextSize uint64 = 0, 1
	for i, f := range funcs {
		if i >= next || size >= nextSize {
			stretch++
			nextSize = 2 * size
			next *= 2
		}
		cuts[i] = stretch
		size += min(in.Funcs[f].Size, maxSize)
	}
	return cuts
}

// dropOutliers removes the utilities with one member, or with more than half of the nodes, as
// llvm-profdata does. The large ones are what all runs have in common, and what each run uses
// as a whole: by measurement, orders without them touch more pages.
func dropOutliers(nodes []uint32, utils [][]uint32, utilities int) {
	members := make([]int, utilities)
	for _, f := range nodes {
		for _, u := range utils[f] {
			members[u]++
		}
	}
	for _, f := range nodes {
		utils[f] = slices.DeleteFunc(utils[f], func(u uint32) bool {
			return members[u] <= 1 || 2*members[u] > len(nodes)
		})
	}
}
