package mippack

import "math/bits"

// Problem: the order of first executions is a permutation of the functions that ran. With n of them and nothing
// else known it takes log2(n!) bits, some nine for each function of a thousand. But most functions first run
// soon after one that is near them in the linked binary: their caller, a callee, a neighbour in the same
// source file.
//
// The functions that have not run yet form a line. Several experts each have a place in it, between two
// functions, and a histogram of the distances from that place to the next function, in either direction, in
// steps that grow with the distance. The frequency of a function is the sum over the experts of the frequency
// of its distance, weighted by how often the expert was right. The line shortens with each function: steps over
// functions that ran do not count. Cost: time is proportional to n log n times the number of experts.
//
// The experts' places are the last few functions, one expert for each, where the latest one has several
// histograms, chosen by the step before; and the functions that followed the last function in earlier runs of
// the same build.

const (
	lastPlaces = 8  // experts for the last functions
	octaves    = 32 // of distances, in two parts each
	distances  = 2 * octaves
	buckets    = 2 * distances // in both directions

	massUnit  = 32      // increment of a bucket
	massLimit = 1 << 15 // of a histogram, beyond which it is halved
	shareBits = 16
	oneShare  = 1 << shareBits // all experts' weights
	unitBits  = 18             // of an expert's frequencies
	minShare  = oneShare >> 10
	learnBits = 5
)

// histogram says how often distances fell into each bucket.
type histogram struct {
	mass  [buckets]uint32
	total uint32
}

func newHistogram(decay uint32) *histogram {
	h := new(histogram)
	m := uint32(1 << 10)
	for i := range distances {
		h.mass[i], h.mass[distances+i] = m/16+1, m/16+1
		m -= m / decay
	}
	for _, m := range h.mass {
		h.total += m
	}
	return h
}

func (h *histogram) add(bucket int) {
	h.mass[bucket] += massUnit
	h.total += massUnit
	if h.total > massLimit {
		h.total = 0
		for i := range h.mass {
			h.mass[i] -= h.mass[i] / 2
			h.total += h.mass[i]
		}
	}
}

// bucketOf returns the bucket of a distance, bucketStart the least distance in
// it: 0, 1, 2, 3, 4-5, 6-7, 8-11, 12-15 and so on.
func bucketOf(d int) int {
	if d < 2 {
		return d
	}
	n := bits.Len(uint(d)) - 1
	return 2*n + d>>(n-1)&1
}

func bucketStart(b int) int {
	if b < 2 {
		return b
	}
	return (2 + b&1) << (b/2 - 1)
}

// expert is a place in the line with a histogram.
type expert struct {
	h     *histogram
	place int // number of functions to its left
	// For the current line: the cumulative frequencies of the buckets in each
	// direction, out of 1<<unitBits for both directions, and their totals.
	cum   [2][distances + 1]uint32
	all   [2]uint64
	share uint32
}

// prepare computes the frequencies for a line of n.
func (x *expert) prepare(n, place int) {
	x.place = place
	var sums [2]uint64
	var used [2]int
	for side, room := range [2]int{n - place, place} {
		x.cum[side][0] = 0
		b := 0
		for ; bucketStart(b) < room; b++ {
			m := uint64(x.h.mass[side*distances+b])
			if start, end := bucketStart(b), bucketStart(b+1); end > room { // a part of it
				m = max(m*uint64(room-start)/uint64(end-start), 1)
			}
			sums[side] += m
			x.cum[side][b+1] = uint32(sums[side])
		}
		used[side] = b
	}
	scale := 1 << 40 / (sums[0] + sums[1])
	for side := range x.cum {
		for b := range used[side] {
			x.cum[side][b+1] = uint32(uint64(x.cum[side][b+1]) * scale >> (40 - unitBits))
		}
		x.all[side] = uint64(x.cum[side][used[side]])
	}
}

// near returns the frequency of the first d of room on one side.
func (x *expert) near(side, d, room int) uint64 {
	if d >= room {
		return x.all[side]
	}
	b := bucketOf(d)
	start, end := bucketStart(b), min(bucketStart(b+1), room)
	lo, hi := uint64(x.cum[side][b]), uint64(x.cum[side][b+1])
	return lo + (hi-lo)*uint64(d-start)/uint64(end-start)
}

// below returns the frequency of all functions to the left of i in a line of n.
func (x *expert) below(i, n int) uint64 {
	left := x.all[1]
	if i <= x.place {
		return left - x.near(1, x.place-i, x.place)
	}
	return left + x.near(0, i-x.place, n-x.place)
}

func (x *expert) bucket(i int) int {
	if i < x.place {
		return distances + bucketOf(x.place-1-i)
	}
	return bucketOf(i - x.place)
}

// orderModel is the adaptive model of orders. One serves all files of a pack.
type orderModel struct {
	last   [lastPlaces]*histogram
	after  [buckets]*histogram // for the last function, by the bucket of the previous step
	before [earlierRuns]*histogram
	shares [numExperts]uint32

	earlier []map[uint32]uint32 // by run, latest first: the successor of each record
}

const (
	earlierRuns = 3
	numExperts  = lastPlaces + 1 + earlierRuns
)

func newOrderModel() *orderModel {
	m := new(orderModel)
	for i := range m.last {
		m.last[i] = newHistogram(12)
	}
	for i := range m.after {
		m.after[i] = newHistogram(12)
	}
	for i := range m.before {
		m.before[i] = newHistogram(4)
	}
	for i := range m.shares {
		m.shares[i] = oneShare / numExperts
	}
	return m
}

// line holds the functions that have not run yet: a Fenwick tree over those of a run, which converts places to
// functions and back.
type line struct {
	tree []int32
	n    int
}

func newLine(n int) *line {
	l := &line{tree: make([]int32, n+1), n: n}
	for i := 1; i <= n; i++ {
		l.tree[i] = int32(i & -i)
	}
	return l
}

// rank returns the number of functions to the left of function i.
func (l *line) rank(i int) int {
	sum := 0
	for ; i > 0; i &= i - 1 {
		sum += int(l.tree[i])
	}
	return sum
}

// at returns the function at place k.
func (l *line) at(k int) int {
	i := 0
	for step := 1 << bits.Len(uint(len(l.tree)-1)); step > 0; step >>= 1 {
		if i+step < len(l.tree) && int(l.tree[i+step]) <= k {
			i += step
			k -= int(l.tree[i])
		}
	}
	return i
}

func (l *line) remove(i int) {
	l.n--
	for i++; i < len(l.tree); i += i & -i {
		l.tree[i]--
	}
}

// code codes a permutation of records, which are ascending: perm are indexes
// into it, which a decoder fills.
func (m *orderModel) code(c *coder, records []uint32, perm []int) {
	l := newLine(len(records))
	now := recent{last: ^uint32(0)} // nothing has run
	follows := make(map[uint32]uint32, len(perm))
	index := make(map[uint32]int, len(records))
	if len(m.earlier) > 0 {
		for i, r := range records {
			index[r] = i
		}
	}
	experts := make([]expert, numExperts)
	for k := range perm {
		active := m.prepare(experts, l, &now, index)
		var i int
		if c.e != nil {
			i = l.rank(perm[k])
		}
		i = m.place(c, experts[:active], l.n, i)
		fn := l.at(i)
		perm[k] = fn
		now.step = experts[0].bucket(i)
		m.learn(experts[:active], i, l.n)
		l.remove(fn)
		copy(now.places[1:], now.places[:])
		now.places[0] = fn
		follows[now.last] = records[fn]
		now.last = records[fn]
	}
	m.earlier = append([]map[uint32]uint32{follows}, m.earlier[:min(len(m.earlier), earlierRuns-1)]...)
}

// recent is what came last in an order.
type recent struct {
	places [lastPlaces]int // of the last functions, as indexes
	step   int             // bucket of the last step
	last   uint32          // record of the last function
}

// prepare sets up the experts for the next function and returns their number.
func (m *orderModel) prepare(experts []expert, l *line, now *recent, index map[uint32]int) int {
	for i, at := range now.places {
		experts[i].h = m.last[i]
		experts[i].prepare(l.n, l.rank(at))
	}
	x := &experts[lastPlaces]
	x.h = m.after[now.step]
	x.prepare(l.n, experts[0].place)
	n := lastPlaces + 1
	for i, follows := range m.earlier {
		x := &experts[n+i]
		x.h = m.before[i]
		place := experts[0].place
		// Functions that have run are skipped, for a limited number of steps.
		at := now.last
		for range 64 {
			next, ok := follows[at]
			if !ok {
				break
			}
			at = next
			if fn, ok := index[next]; ok {
				r := l.rank(fn)
				if place = r; l.rank(fn+1) > r {
					break
				}
			}
		}
		x.prepare(l.n, place)
	}
	n += len(m.earlier)
	for i := range n {
		experts[i].share = m.shares[i]
	}
	return n
}

// below returns the frequency of all functions to the left of i. It grows by at least one with each.
func below(experts []expert, i, n int) uint64 {
	sum := uint64(i)
	for k := range experts {
		sum += experts[k].below(i, n) * uint64(experts[k].share) >> 2
	}
	return sum
}

// place codes place i in a line of n.
func (m *orderModel) place(c *coder, experts []expert, n, i int) int {
	total := below(experts, n, n)
	if c.e != nil {
		from := below(experts, i, n)
		c.e.encode(from, below(experts, i+1, n)-from, total)
		return i
	}
	f := c.d.at(total)
	lo, hi := 0, n // below(lo) <= f < below(hi)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; below(experts, mid, n) <= f {
			lo = mid
		} else {
			hi = mid
		}
	}
	from := below(experts, lo, n)
	c.d.decode(from, below(experts, lo+1, n)-from)
	return lo
}

// learn increases the weights of experts that were right, and adds the distance to their histograms.
func (m *orderModel) learn(experts []expert, i, n int) {
	var worth [numExperts]uint64
	var sum uint64
	for k := range experts {
		x := &experts[k]
		worth[k] = (x.below(i+1, n) - x.below(i, n) + 1) * uint64(x.share)
		sum += worth[k]
	}
	for k := range experts {
		target := uint32(worth[k] << 8 / (sum>>shareBits + 1) >> 8)
		m.shares[k] += target >> learnBits
		m.shares[k] -= m.shares[k] >> learnBits
		m.shares[k] = max(m.shares[k], minShare)
		experts[k].h.add(experts[k].bucket(i))
	}
}
