package tailcall

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Pair is a call and the next entry of a stack, with the frames that are missing between
// them.
type Pair struct {
	Call ref
	Next string // the function
	// Rule is the rule that found Jumps, or the reason why there are none.
	Rule  string
	Jumps []ref
	// Candidates are some of the possible chains of an Ambiguous pair, by the known tail
	// calls.
	Candidates [][]ref
	Count      uint64 // ranges of code that ran with the pair on the stack
}

// maxCandidates is the number of chains that are shown of an ambiguous pair.
const maxCandidates = 8

// Explain returns the pairs of all contexts between which frames are missing or may be
// missing, the most frequent ones first.
func Explain(g *Graph, by Inferrer, contexts []unwind.Context) []Pair {
	pairs := map[string]*Pair{}
	for i := range contexts {
		c := &contexts[i]
		leaves := map[function]unwind.Count{}
		for _, r := range c.Ranges {
			f := g.function(r.From)
			leaves[f] = unwind.Count{From: r.From, Count: leaves[f].Count + r.Count}
		}
		for _, leaf := range leaves {
			g.explain(by, c, leaf, pairs)
		}
	}
	out := make([]Pair, 0, len(pairs))
	for _, p := range pairs {
		out = append(out, *p)
	}
	stablesort.Func(out, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Call, b.Call), cmp.Compare(a.Next, b.Next), cmp.Compare(a.Rule, b.Rule), slices.Compare(a.Jumps, b.Jumps))
	})
	return out
}

// explain adds the pairs of one stack.
func (g *Graph) explain(by Inferrer, c *unwind.Context, leaf unwind.Count, pairs map[string]*Pair) {
	stack := append(slices.Clone(c.Frames), leaf.From)
	for i, r := range c.Frames {
		if !g.code.Class(r).IsCall() {
			continue
		}
		next := i + 1
		for next < len(c.Frames) && !g.code.Class(c.Frames[next]).IsCall() {
			next++
		}
		p := Pair{Call: r, Next: g.Name(stack[next]), Rule: RuleWindow, Jumps: c.Frames[i+1 : next]}
		if c.Known == nil || !c.Known[i] {
			jumps, rule, known := by.Infer(stack, i)
			if p.Rule = rule; known {
				p.Jumps = append(slices.Clone(jumps), p.Jumps...)
			} else {
				p.Jumps = nil
			}
		}
		if p.Rule == Direct || p.Rule == NotFunction || p.Rule == RuleWindow && len(p.Jumps) == 0 {
			continue
		}
		key := binary.LittleEndian.AppendUint32([]byte(p.Next+"\x00"+p.Rule+"\x00"), uint32(r))
		for _, j := range p.Jumps {
			key = binary.LittleEndian.AppendUint32(key, uint32(j))
		}
		known := pairs[string(key)]
		if known == nil {
			known = &p
			pairs[string(key)] = known
			if p.Rule == Ambiguous {
				p.Candidates = g.candidates(r, g.function(stack[next]))
			}
		}
		known.Count += leaf.Count
	}
}

// Name returns the name of the function that contains an instruction, "" if there is none.
func (g *Graph) Name(r machinecode.Ref) string {
	if x := g.rangeOf(r); x != nil {
		return g.code.Binary(r).Functions()[x.Function].Name
	}
	return ""
}

// Callees returns the names of the functions that a call is known to call.
func (g *Graph) Callees(call machinecode.Ref) (names []string) {
	if addr, ok := g.code.Target(call); ok {
		b := g.code.Binary(call)
		if x := b.RangeAt(addr); x != nil {
			names = append(names, b.Functions()[x.Function].Name)
		}
		return names
	}
	for _, f := range g.called[call] {
		names = append(names, g.nameOf(f))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// nameOf returns the name of a function.
func (g *Graph) nameOf(f function) string {
	for x, n := range g.namesakes {
		if n == f {
			for _, b := range g.code.Binaries() {
				if b.RangeFrom(x.Lo) == x {
					return b.Functions()[x.Function].Name
				}
			}
		}
	}
	for i := len(g.first) - 1; i >= 0; i-- {
		if f >= g.first[i] {
			return g.code.Binaries()[i].Functions()[f-g.first[i]].Name
		}
	}
	return ""
}

// candidates lists chains from the known targets of a call to a function.
func (g *Graph) candidates(call ref, to function) (chains [][]ref) {
	callees := g.called[call]
	if f := g.target(call); f != none {
		callees = []function{f}
	}
	s := newSearch(&g.all, to)
	var path []ref
	steps := 0
	var walk func(f function)
	walk = func(f function) {
		if steps++; steps > maxSteps || len(chains) == maxCandidates || len(path) > maxJumps || !s.reach.has(f) || s.on[f] {
			return
		}
		if f == to {
			chains = append(chains, slices.Clone(path))
			return
		}
		s.on[f] = true
		for _, e := range g.all.out[f] {
			path = append(path, e.at)
			walk(e.to)
			path = path[:len(path)-1]
		}
		delete(s.on, f)
	}
	for _, f := range callees {
		walk(f)
	}
	return chains
}
