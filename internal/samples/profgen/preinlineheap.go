package profgen

// candidates is a heap, of which the first is to be taken first.
type candidates []candidate

func (h *candidates) push(c candidate) {
	*h = append(*h, c)
	h.rise(len(*h)-1, c)
}

// rise puts c at i or above.
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

// pop takes the first. It does so as the standard library of C++ does, which moves the
// hole to the bottom before it fills it: container/heap has another order of calls
// that are alike.
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
