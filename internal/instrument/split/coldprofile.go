package split

import (
	"slices"
	"strings"

	"github.com/cairnprof/cairn/prof"
)

// ColdSuffixes are the suffixes that Split adds to a function's name for its cold
// part: the second if the compiler has used the first.
var ColdSuffixes = []string{".cold", ".cold.cairn"}

// ColdProfile knows which blocks never ran according to the profile of one module.
type ColdProfile struct {
	m      *prof.Module
	byName map[string][]int // indexes into m.Funcs
	// Stale counts functions whose shape differs in the profile, and Missing those that the profile lacks, or
	// has without blocks.
	Stale, Missing int
}

// NewColdProfile indexes the profile of a module.
func NewColdProfile(m *prof.Module) *ColdProfile {
	c := &ColdProfile{m: m, byName: map[string][]int{}}
	for i := range m.Funcs {
		name := m.Funcs[i].Name
		c.byName[name] = append(c.byName[name], i)
	}
	return c
}

// Blocks is a ColdBlocks. Where the module has several copies of a function, a block is cold if it ran in none. Other
// functions may have its name and its source, as gcc -flto does not record from which file code was made: those
// of another shape are not copies.
func (c *ColdProfile) Blocks(f FuncInfo) ([]bool, bool) {
	list, _ := c.find(f)
	var cold []bool
	withoutBlocks := len(list) == 0
	for _, i := range list {
		fn, counts := &c.m.Funcs[i], &c.m.Counts[i]
		switch {
		case fn.Signature != f.Signature:
		case fn.NumBlocks() == 1 && f.Blocks > 1:
			withoutBlocks = true
		case fn.NumBlocks() == f.Blocks && len(counts.Blocks) == f.Blocks-1:
			if cold == nil {
				cold = slices.Repeat([]bool{true}, f.Blocks)
			}
			for b := range cold {
				cold[b] = cold[b] && !counts.Covered(b)
			}
		}
	}
	switch {
	case withoutBlocks:
		c.Missing++
		return nil, false
	case cold == nil:
		c.Stale++
	}
	return cold, cold != nil
}

// Match returns how many path elements, from the last on, the source of the profile's function with f's name
// shares with f, or 0 if there is no such function. If several modules have functions of a name, the best match
// is used.
func (c *ColdProfile) Match(f FuncInfo) int {
	_, n := c.find(f)
	return n
}

// find returns the functions of the profile that correspond to f, and how well they match: of the functions
// with f's name, those whose path shares the most elements with f's, from the last on, as it may have been
// built elsewhere.
func (c *ColdProfile) find(f FuncInfo) (best []int, most int) {
	for _, i := range c.byName[f.Name] {
		n := commonElements(c.m.Funcs[i].File, f.Source)
		if f.Source == unknownSource {
			n = max(n, 1)
		}
		switch {
		case n < max(most, 1):
		case n > most:
			best, most = []int{i}, n
		default:
			best = append(best, i)
		}
	}
	return best, most
}

// unknownSource is what gcc names as the source of code that a linker made it compile.
const unknownSource = "<artificial>"

// commonElements returns how many elements of two paths are equal, from the last on. Two unknown paths are
// equal.
func commonElements(a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	n := 0
	for n < min(len(x), len(y)) && x[len(x)-1-n] == y[len(y)-1-n] {
		n++
	}
	return n
}
