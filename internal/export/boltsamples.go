package export

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/format/fdata"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/sample"
)

// BoltSamples converts sampled branches with link-time addresses to those of llvm-bolt, in
// order. Branches to no function of the binary are dropped, and those from no function come
// from outside.
func BoltSamples(branches []sample.BranchCount, symbols []Symbol) []fdata.Branch {
	at := slices.Clone(symbols)
	// If a function has several names the last one is used, which is a global one if there is
	// any.
	stablesort.Func(at, func(a, b Symbol) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(min(b.Ordinal, 1), min(a.Ordinal, 1)))
	})
	place := func(addr uint64) (fdata.Place, bool) {
		i, _ := slices.BinarySearchFunc(at, addr, func(s Symbol, addr uint64) int {
			if s.Addr <= addr {
				return -1
			}
			return 1
		})
		if i == 0 {
			return fdata.Unknown, false
		}
		s := &at[i-1]
		if addr-s.Addr >= max(s.Size, 1) {
			return fdata.Unknown, false
		}
		return fdata.Place{Symbol: s.bolt(), Offset: addr - s.Addr}, true
	}
	var out []fdata.Branch
	for _, b := range branches {
		to, ok := place(b.To)
		if !ok {
			continue
		}
		from, _ := place(b.From)
		out = append(out, fdata.Branch{From: from, To: to, Count: b.Count})
	}
	return out
}
