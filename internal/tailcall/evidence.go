package tailcall

import (
	"encoding/binary"
	"slices"
)

// Problem: what an indirect call leads to is often not to be told from the code.
// But of other calls at that place the branches show it.
//
// Choice: a chain that was seen is believed where the frames further in are the same
// as well: of a destructor that has children to delete, and not only of one.
// That does not mix up how often a chain begins with how long it lasts, as
// counting chains by their ends alone would: a frame that lasts is looked at with
// what it does meanwhile. Where two chains were seen with the same frames, nothing is
// believed.

// depth is how many frames further in are compared, and enough how many stretches
// of code must have been seen to run with a chain there. A sample has dozens.
const (
	depth  = 4
	enough = 48
)

// surroundings are a call and the frames further in: calls, at the end the
// function that ran, as a negative number. Behind it there is 0.
type surroundings [1 + depth]int64

// evidence has the chains that branches showed.
type evidence struct {
	of     map[surroundings]sighting
	chains [][]ref

	place   func(ref) uint64
	numbers map[string]int32 // of chains, by their places
}

type sighting struct {
	chain int32 // several if there were different ones
	count uint64
}

const several = -1

func newEvidence(g *Graph, place func(ref) uint64) evidence {
	e := evidence{of: map[surroundings]sighting{}, place: place, numbers: map[string]int32{}}
	var stack []ref
	var chains [][]ref // behind each frame of stack; nil if not known
	for i := range g.contexts {
		c := &g.contexts[i]
		if c.Known == nil {
			continue
		}
		stack, chains = stack[:0], chains[:0]
		for k, r := range c.Frames {
			switch n := len(chains); {
			case g.code.Class(r).IsCall():
				stack, chains = append(stack, r), append(chains, nil)
				if c.Known[k] {
					chains[n] = []ref{}
				}
			case n > 0 && chains[n-1] != nil:
				chains[n-1] = append(chains[n-1], r)
			}
		}
		leaves := map[function]uint64{}
		for _, r := range c.Ranges {
			leaves[g.function(r.From)] += r.Count
		}
		for leaf, count := range leaves {
			for k := range stack {
				if chains[k] != nil && leaf != none {
					e.see(g.around(stack[k:], leaf), chains[k], count)
				}
			}
		}
	}
	return e
}

// around returns the surroundings of the first call of a stack.
func (g *Graph) around(calls []ref, leaf function) (s surroundings) {
	for i := range s {
		if i == len(calls) {
			s[i] = -1 - int64(leaf)
			break
		}
		s[i] = int64(calls[i])
	}
	return s
}

func (e *evidence) see(s surroundings, chain []ref, count uint64) {
	var key []byte
	for _, r := range chain {
		at := uint64(r)
		if e.place != nil {
			if p := e.place(r); p != 0 {
				at = p
			}
		}
		key = binary.LittleEndian.AppendUint64(key, at)
	}
	n, ok := e.numbers[string(key)]
	if !ok {
		n = int32(len(e.chains))
		e.numbers[string(key)] = n
		e.chains = append(e.chains, slices.Clone(chain))
	}
	was, ok := e.of[s]
	if ok && was.chain != n {
		n = several
	}
	e.of[s] = sighting{n, was.count + count}
}

// like returns the chain that was seen behind stack[i], in the same surroundings.
func (f *Full) like(stack []ref, i int) verdict {
	g := f.graph
	last := len(stack) - 1
	leaf := g.function(stack[last])
	if leaf == none {
		return verdict{rule: NotFunction}
	}
	seen := f.evidence.of[g.around(stack[i:last], leaf)]
	switch {
	case seen.count < enough:
		return verdict{rule: Unknown}
	case seen.chain == several:
		return verdict{rule: Ambiguous}
	case len(f.evidence.chains[seen.chain]) == 0:
		return verdict{rule: Direct}
	}
	return verdict{f.evidence.chains[seen.chain], RuleAlike}
}
