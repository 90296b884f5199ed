package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// withoutDebug says how much of what ran has no debug information, and in which functions most of it is; "" if it is
// less than a thousandth. A profile that is keyed by lines does not have it.
func (b *binaries) withoutDebug(c counts) string {
	if b.lines == nil {
		return ""
	}
	all, without := uint64(0), uint64(0) // executed instructions
	by := map[string]uint64{}
	for i := range c.Contexts {
		for _, x := range c.Contexts[i].Ranges {
			n := saturate.Mul(x.Count, uint64(x.To-x.From)+1)
			all = saturate.Add(all, n)
			in, addr := b.code.Binary(x.From), b.code.Address(x.From)
			if in.RangeAt(addr) != nil {
				continue
			}
			without = saturate.Add(without, n)
			name := symbolAt(b.programs[slices.Index(b.code.Binaries(), in)].Symbols, addr)
			by[name] = saturate.Add(by[name], n)
		}
	}
	const least = 1000
	if without == 0 || without < all/least {
		return ""
	}
	names := stablesort.Sorted(maps.Keys(by), func(x, y string) int {
		return cmp.Or(cmp.Compare(by[y], by[x]), cmp.Compare(x, y))
	})
	const most = 3
	return fmt.Sprintf("%s of the executed instructions are in code without debug information, which the profile does not have (compile it with -g): %s",
		report.Share(without, all), report.First(names, most))
}

// symbolAt returns the name of the symbol before an address.
func symbolAt(symbols []objfile.TableSymbol, addr uint64) string {
	i := sort.Search(len(symbols), func(i int) bool { return symbols[i].Addr > addr })
	for i--; i >= 0; i-- {
		if symbols[i].Func {
			return symbols[i].Name
		}
	}
	return fmt.Sprintf("%#x", addr)
}
