package native

import "hash/fnv"

// signature hashes the shape of a function's control flow: how each block ends, where it goes and how many
// calls it makes. It leaves out names, addresses, operands and debug information, so changes that keep the
// shape of the code keep the signature.
func (f *function) signature() uint32 {
	target := map[string]int{}
	first := 0
	for _, fr := range f.frags {
		for _, l := range fr.labels {
			target[string(l.name)] = first + l.block
		}
		first += len(fr.blocks)
	}
	h := fnv.New32a()
	for _, fr := range f.frags {
		calls := make([]int, len(fr.blocks))
		for _, c := range fr.calls {
			calls[c.block]++
		}
		for i, b := range fr.blocks {
			to := -1
			if n, ok := target[string(b.target)]; ok {
				to = n
			}
			h.Write([]byte{
				byte(b.last), byte(calls[i]), byte(calls[i] >> 8),
				byte(to), byte(to >> 8), byte(to >> 16), byte(to >> 24),
			})
		}
	}
	return h.Sum32()
}
