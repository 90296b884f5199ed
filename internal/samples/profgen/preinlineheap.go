package profgen

// candidates is a heap, with the candidate of highest priority first.
type candidates []candidate

func (h *candidates) push(c candidate) {
	*h = append(*h, c)
	h.rise(len(*h)-1, c)
}

// rise places c at i or above.
func (h candidates) rise(i int, c candidate) {
	for i > 0 {
		up := (i - 1) / 2
		if !c.before(&h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = c
}

// pop removes the first candidate as the C++ standard library does, which moves the hole to
// the bottom before filling it: container/heap would give another order of equal calls.
func (h *candidates) pop() candidate {
	old := *h
	first, last := old[0], old[len(old)-1]
	rest := old[:len(old)-1]
	*h = rest
	if len(rest) == 0 {
		return first
	}
	hole := 0
	for 2*hole+1 < len(rest) {
		next := 2*hole + 1
		if right := next + 1; right < len(rest) && !rest[right].less(&rest[next]) {
			next = right
		}
		rest[hole] = rest[next]
		hole = next
	}
	rest.rise(hole, last)
	return first
}

// less reports whether c comes after d.
func (c *candidate) less(d *candidate) bool { return d.before(c) }
