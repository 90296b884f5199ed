package asm

import "hash/fnv"

// Signature hashes the shape of a function's control flow: how each block ends, where it goes and how many
// calls it makes. It leaves out names, addresses, operands and debug information, so changes that keep the
// shape of the code keep the signature.
func (f *Function) Signature() uint32 {
	target := map[string]int{}
	first := 0
	for _, fr := range f.Frags {
		for _, l := range fr.Labels {
			target[string(l.Name)] = first + l.Block
		}
		first += len(fr.Blocks)
	}
	h := fnv.New32a()
	for _, fr := range f.Frags {
		calls := make([]int, len(fr.Blocks))
		for _, c := range fr.Calls {
			calls[c.Block]++
		}
		for i, b := range fr.Blocks {
			to := -1
			if n, ok := target[string(b.Target)]; ok {
				to = n
			}
			h.Write([]byte{
				byte(b.Last), byte(calls[i]), byte(calls[i] >> 8),
				byte(to), byte(to >> 8), byte(to >> 16), byte(to >> 24),
			})
		}
	}
	return h.Sum32()
}
