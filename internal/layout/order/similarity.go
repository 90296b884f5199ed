package order

import (
	"encoding/binary"
	"slices"
)

// bySimilarity returns the functions that have content and are not in skip, with similar code
// together: compressors find a repetition only within their window, and similar code in one
// block of a compressor has fewer different bytes. It is balanced partitioning with one
// utility for each sequence of four bytes, as lld orders for compression
// (--bp-compression-sort=function).
//
// The initial order is by address, so functions with nothing in common remain in that order.
func bySimilarity(in *Input, skip []bool) []uint32 {
	ids := slices.DeleteFunc(ByAddress(in), func(f uint32) bool { return skip[f] || len(in.Funcs[f].Content) == 0 })
	const word = 4
	// Only sequences that several functions have, but not most, get a number.
	type sequence struct{ id, members uint32 }
	seen := map[uint32]*sequence{}
	grams := make([][]uint32, len(in.Funcs))
	for _, f := range ids {
		code := in.Funcs[f].Content
		for len(code) >= word {
			grams[f] = append(grams[f], binary.LittleEndian.Uint32(code))
			code = code[1:]
		}
		for _, c := range code {
			grams[f] = append(grams[f], uint32(c))
		}
		slices.Sort(grams[f])
		grams[f] = slices.Compact(grams[f])
		for _, g := range grams[f] {
			if seen[g] == nil {
				seen[g] = &sequence{}
			}
			seen[g].members++
		}
	}
	utilities := uint32(0)
	for _, f := range ids {
		kept := grams[f][:0]
		for _, g := range grams[f] {
			s := seen[g]
			if s.members <= 1 || 2*int(s.members) > len(ids) {
				continue
			}
			if s.id == 0 {
				utilities++
				s.id = utilities
			}
			kept = append(kept, s.id-1)
		}
		grams[f] = kept
	}
	return bisected(ids, grams, int(utilities))
}
