package order

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"github.com/cairnprof/cairn/internal/splitmix"
)

// Balanced partitioning: the problem is to arrange nodes on a line so that the members of each
// utility, which is a set of nodes, are close together. For functions, a utility is the set
// that one part of a run uses.
//
// Example: for the utilities {a,c}, {a,c,d} and {b,e} the order a b c d e separates the first
// and the third; a c d b e keeps all together.
//
// The algorithm is recursive bisection: halve the nodes by their initial order, then swap
// those between the halves that lower the cost most, a few dozen times, then order the halves
// in the same way. The cost of a utility with x members in one half and y in the other is -(x
// log2(x+1) + y log2(y+1)), which estimates the logarithms of the gaps between its members.
// Every tenth move is skipped at random, which breaks cycles of nodes with the same utilities.
//
// Dhulipala, Kabiljo, Karrer, Ottaviano, Pupyrev, Shalita: Compressing Graphs and Indexes with
// Recursive Graph Bisection, KDD 2016. For functions: Hoag, Lee, Mestre, Pupyrev: Optimizing
// Function Layout for Mobile Applications, arXiv 2211.09285. LLVM's
// llvm/lib/Support/BalancedPartitioning.cpp has the same constants, but another random number
// generator, so orders differ in detail. Gains are fixed-point numbers here: the result is the
// same on every machine, and for any number of threads, because each part has its own
// generator.
//
// The cost is O(M log N) for each of up to 40 sweeps, where N nodes have M
// memberships in utilities.
const (
	bisectDepth    = 18 // levels of bisection
	bisectSweeps   = 40 // sweeps of moves at one level
	bisectParallel = 9  // levels that start goroutines
)

// bisectSkip is the share of skipped moves, of 1<<32.
const bisectSkip = 1 << 32 / 10

// node is an element to be ordered. Its initial order is its index in the argument of bisect.
type node struct {
	id      uint32
	initial uint32
	right   bool
	utils   []uint32 // consumed
	gain    int64
}

// bisect orders nodes in place. node.utils are less than utilities.
func bisect(nodes []node, utilities int) {
	for i := range nodes {
		nodes[i].initial = uint32(i)
	}
	b := &bisection{cost: costSteps(len(nodes))}
	b.bisect(nodes, utilities, 0, 1)
	b.wait.Wait()
}

type bisection struct {
	cost []int64 // cost[x] is (x+1) log2(x+2) - x log2(x+1) in fixed point
	wait sync.WaitGroup
}

// split is the number of members of a utility in each half.
type split struct {
	left, right         uint32
	gainRight, gainLeft int64 // gain of moving one member there
}

func (b *bisection) bisect(nodes []node, utilities, depth int, bucket uint64) {
	slices.SortFunc(nodes, func(x, y node) int { return cmp.Compare(x.initial, y.initial) })
	if len(nodes) <= 1 || depth >= bisectDepth {
		return
	}
	middle := (len(nodes) + 1) / 2
	for i := range nodes {
		nodes[i].right = i >= middle
	}
	splits := dropUtilities(nodes, utilities)
	if len(splits) == 0 {
		// They have no utility in common, so they remain in order.
		return
	}
	rng := generator(bucket)
	for range bisectSweeps {
		if !b.sweep(nodes, splits, &rng) {
			break
		}
	}
	left := partition(nodes)
	leftHalf := func() { b.bisect(nodes[:left], len(splits), depth+1, 2*bucket) }
	if depth < bisectParallel && len(nodes) > 64 {
		b.wait.Go(leftHalf)
	} else {
		leftHalf()
	}
	b.bisect(nodes[left:], len(splits), depth+1, 2*bucket+1)
}

// partition moves the nodes of the left half to the front and returns their
// number.
func partition(nodes []node) int {
	slices.SortStableFunc(nodes, func(x, y node) int {
		switch {
		case x.right == y.right:
			return 0
		case y.right:
			return -1
		}
		return 1
	})
	n, _ := slices.BinarySearchFunc(nodes, true, func(x node, _ bool) int {
		if x.right {
			return 0
		}
		return -1
	})
	return n
}

// dropUtilities removes from nodes the utilities that cannot affect their order, those with
// one node or with all, and renumbers the others.
func dropUtilities(nodes []node, utilities int) []split {
	members := make([]uint32, utilities)
	for i := range nodes {
		for _, u := range nodes[i].utils {
			members[u]++
		}
	}
	const dropped = ^uint32(0)
	n := uint32(0)
	for u, m := range members {
		members[u] = dropped
		if m > 1 && int(m) < len(nodes) {
			members[u] = n
			n++
		}
	}
	splits := make([]split, n)
	for i := range nodes {
		kept := nodes[i].utils[:0]
		for _, u := range nodes[i].utils {
			if u = members[u]; u == dropped {
				continue
			}
			kept = append(kept, u)
			if nodes[i].right {
				splits[u].right++
			} else {
				splits[u].left++
			}
		}
		nodes[i].utils = kept
	}
	return splits
}

// sweep swaps nodes between the halves, best pairs first, and reports whether it moved any.
// Gains are those before the sweep.
func (b *bisection) sweep(nodes []node, splits []split, rng *generator) bool {
	for i := range splits {
		s := &splits[i]
		if s.left > 0 {
			s.gainRight = b.cost[s.right] - b.cost[s.left-1]
		}
		if s.right > 0 {
			s.gainLeft = b.cost[s.left] - b.cost[s.right-1]
		}
	}
	var left, right []*node
	for i := range nodes {
		n := &nodes[i]
		n.gain = 0
		if n.right {
			for _, u := range n.utils {
				n.gain += splits[u].gainLeft
			}
			right = append(right, n)
		} else {
			for _, u := range n.utils {
				n.gain += splits[u].gainRight
			}
			left = append(left, n)
		}
	}
	byGain := func(x, y *node) int { return cmp.Compare(y.gain, x.gain) }
	slices.SortStableFunc(left, byGain)
	slices.SortStableFunc(right, byGain)
	moved := false
	for i := range min(len(left), len(right)) {
		if left[i].gain+right[i].gain <= 0 {
			break
		}
		movedLeft, movedRight := left[i].move(splits, rng), right[i].move(splits, rng)
		moved = moved || movedLeft || movedRight
	}
	return moved
}

// move moves n to the other half, except for a random share of moves.
func (n *node) move(splits []split, rng *generator) bool {
	if rng.next()>>32 <= bisectSkip {
		return false
	}
	for _, u := range n.utils {
		if n.right {
			splits[u].right--
			splits[u].left++
		} else {
			splits[u].left--
			splits[u].right++
		}
	}
	n.right = !n.right
	return true
}

// generator yields pseudo-random numbers: SplitMix64 (Steele, Lea, Flood,
// OOPSLA 2014).
type generator uint64

func (g *generator) next() uint64 {
	*g += splitmix.Gamma
	return splitmix.Mix(uint64(*g))
}

// costBits is the number of fractional bits of gains.
const costBits = 32

// costSteps returns for x from 0 to n the difference of x log2(x+1) between x and x+1.
func costSteps(n int) []int64 {
	steps := make([]int64, n+1)
	var before int64
	for x := range steps {
		after := int64(x+1) * log2(uint64(x+2))
		steps[x] = after - before
		before = after
	}
	return steps
}

// log2 returns the binary logarithm of x > 0 with costBits fractional bits, by
// repeated squaring.
func log2(x uint64) int64 {
	whole := bits.Len64(x) - 1
	m := x << (63 - whole) // x / 2^whole, from 1 to 2, with 63 fractional bits
	result := int64(whole)
	for range costBits {
		result <<= 1
		hi, _ := bits.Mul64(m, m) // 62 fractional bits
		if hi>>63 != 0 {
			result |= 1
			m = hi
		} else {
			m = hi << 1
		}
	}
	return result
}
