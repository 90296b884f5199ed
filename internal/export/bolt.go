package export

import (
	"path"
	"strconv"

	"github.com/cairnprof/cairn/format/fdata"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/prof"
)

// Symbol is a function symbol of the binary that an export is for.
type Symbol struct {
	Name string
	Addr uint64
	Size uint64 // 0 if not known
	File string // base name of the source file, only of local symbols
	// Ordinal is 0 for a global symbol; a local one is the n-th with its name, by address.
	Ordinal int
}

// bolt returns BOLT's name of the symbol.
func (s *Symbol) bolt() string {
	if s.Ordinal == 0 {
		return s.Name
	}
	return s.Name + "/" + strconv.Itoa(s.Ordinal)
}

// Bolt returns the calls of the functions of m as branches: a line for each site with its
// share, then for each function the calls that are attributed to no site. The sum over all
// branches to a function is its number of calls.
func Bolt(m *prof.Module, symbols []Symbol, sites []Site) []fdata.Branch {
	at := newNamesByAddr(m, symbols)
	rest := make([]uint64, len(m.Funcs))
	for i := range m.Funcs {
		rest[i] = weight(m, i)
	}
	var branches []fdata.Branch
	for _, s := range sites {
		callee := at.names[m.Funcs[s.Callee].Addr()]
		from, ok := at.place(&m.Funcs[s.Caller], s.Addr)
		if s.Count == 0 || !ok || callee == "" {
			continue
		}
		rest[s.Callee] -= min(rest[s.Callee], s.Count)
		branches = append(branches, fdata.Branch{From: from, To: fdata.Place{Symbol: callee}, Count: s.Count})
	}
	for i := range m.Funcs {
		if name := at.names[m.Funcs[i].Addr()]; name != "" && rest[i] > 0 {
			branches = append(branches, fdata.Branch{From: fdata.Unknown, To: fdata.Place{Symbol: name}, Count: rest[i]})
		}
	}
	return branches
}

// BoltEntries returns the calls of the functions of m as branches from outside, for a binary
// of another build, in which only names are the same. Missing is the number of functions that
// ran and that the binary does not have, or has several of that cannot be distinguished.
func BoltEntries(m *prof.Module, symbols []Symbol) (branches []fdata.Branch, missing int) {
	byName := map[string][]*Symbol{}
	for i := range symbols {
		byName[symbols[i].Name] = append(byName[symbols[i].Name], &symbols[i])
	}
	for i := range m.Funcs {
		if weight(m, i) == 0 {
			continue
		}
		if s := pick(byName[m.Funcs[i].Name], m.Funcs[i].File); s != nil {
			branches = append(branches, fdata.Branch{From: fdata.Unknown, To: fdata.Place{Symbol: s.bolt()}, Count: weight(m, i)})
			continue
		}
		missing++
	}
	return branches, missing
}

// pick returns the symbol of a function in file among those with its name.
func pick(symbols []*Symbol, file string) *Symbol {
	if len(symbols) == 1 {
		return symbols[0]
	}
	var found *Symbol
	for _, s := range symbols {
		if s.File == path.Base(file) {
			if found != nil {
				return nil
			}
			found = s
		}
	}
	return found
}

// BoltBlocks returns the execution counts of the blocks of the functions of m. BOLT sums the
// samples between the starts of two of its own blocks, which are smaller than those of m if a
// probe branches; therefore both ends of a block get a sample.
func BoltBlocks(m *prof.Module, symbols []Symbol, sites []Site) []fdata.Sample {
	at := newNamesByAddr(m, symbols)
	counts := blockCounts(m, sites)
	var samples []fdata.Sample
	for i := range m.Funcs {
		f := &m.Funcs[i]
		for b := range coverage.Blocks(f) {
			n := counts[i][b.Index]
			if n == 0 || b.Hi <= b.Lo || !f.Mode.HasBlocks() {
				continue
			}
			for _, addr := range []uint64{b.Lo, b.Hi - 1} {
				if p, ok := at.place(f, addr); ok {
					samples = append(samples, fdata.Sample{At: p, Count: n})
				}
			}
		}
	}
	return samples
}

// namesByAddr has BOLT's names of the functions of a binary.
type namesByAddr struct{ names map[uint64]string }

// newNamesByAddr takes the name that the profile has where a function has
// several.
func newNamesByAddr(m *prof.Module, symbols []Symbol) namesByAddr {
	own := map[uint64]string{}
	for i := range m.Funcs {
		own[m.Funcs[i].Addr()] = m.Funcs[i].Name
	}
	names := map[uint64]string{}
	for i := range symbols {
		s := &symbols[i]
		if _, taken := names[s.Addr]; !taken || own[s.Addr] == s.Name {
			names[s.Addr] = s.bolt()
		}
	}
	return namesByAddr{names}
}

// place returns addr as an offset from the fragment of f that contains it.
func (n namesByAddr) place(f *prof.Func, addr uint64) (fdata.Place, bool) {
	for k := range f.Fragments {
		fr := &f.Fragments[k]
		if name := n.names[fr.Addr]; name != "" && addr >= fr.Addr && addr < fr.Addr+uint64(fr.Size) {
			return fdata.Place{Symbol: name, Offset: addr - fr.Addr}, true
		}
	}
	return fdata.Place{}, false
}
