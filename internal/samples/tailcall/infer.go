package tailcall

import (
	"math"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// Rules by which jumps are found.
const (
	RuleSeen   = "seen"   // the only way over tail calls that were taken
	RuleStatic = "static" // the only way over those and the direct ones of the code
	RuleStack  = "stack"  // what was called is whose address a caller takes
	// RuleComputed: the only jump to a computed address on the way from what was
	// called; nothing else can have begun the chain.
	RuleComputed = "computed"
	RuleAlike    = "alike"   // what branches showed where the same ran further in
	RuleVirtual  = "virtual" // of the functions at that place of virtual tables one leads there
	RuleAddress  = "address" // of those whose address the program has one leads there
)

// Why nothing is inserted.
const (
	Direct      = "direct"    // the function was called itself: nothing is missing
	Unknown     = "unknown"   // there is no way, as far as is known
	Ambiguous   = "ambiguous" // there are several
	NotFunction = "outside"   // an instruction is in no function
)

// verdict is an answer of an inferrer.
type verdict struct {
	jumps []ref
	rule  string
}

func (v verdict) known() bool {
	return v.rule != Unknown && v.rule != Ambiguous && v.rule != NotFunction
}

// LLVM infers as llvm-profgen does.
type LLVM struct {
	graph *Graph
	ways  searches
}

// NewLLVM returns an inferrer over a graph, which finds chains of at most so many
// jumps; 0 is no limit. It is not safe for concurrent use.
func NewLLVM(g *Graph, jumps int) *LLVM {
	l := &LLVM{g, newSearches(&g.seen, nil)}
	l.ways.longest = jumps
	if jumps == 0 {
		l.ways.longest = math.MaxInt
	}
	return l
}

// Infer returns the jumps between stack[i] and stack[i+1] and the rule that found
// them, or why there are none; known says that nothing else is missing.
func (l *LLVM) Infer(stack []machinecode.Ref, i int) (jumps []machinecode.Ref, rule string, known bool) {
	v := l.infer(stack, i)
	return v.jumps, v.rule, v.known()
}

func (l *LLVM) infer(stack []ref, i int) verdict {
	callees, to := l.graph.called[stack[i]], l.graph.function(stack[i+1])
	switch {
	case to == none:
		return verdict{rule: NotFunction}
	case slices.Contains(callees, to):
		return verdict{rule: Direct}
	}
	a := l.ways.fromAny(callees, to)
	return a.verdict(RuleSeen)
}

func (a *answer) verdict(rule string) verdict {
	switch a.ways {
	case 0:
		return verdict{rule: Unknown}
	case 1:
		return verdict{a.path, rule}
	}
	return verdict{rule: Ambiguous}
}

// Full infers from all that is known.
type Full struct {
	graph    *Graph
	seen     searches
	all      searches
	evidence evidence
	takes    map[function][]function // whose address functions take, as far as was asked
	sites    map[ref]site            // instructions on stacks, as far as was asked
	world    world
}

// NewFull returns an inferrer over a graph. It is not safe for concurrent use. Place
// is a number that jumps have in common which stand for the same call in the source:
// it does not matter which of them was taken. A jump of which it is 0 is like no
// other; so are all if place is nil.
func NewFull(g *Graph, place func(at machinecode.Ref) uint64) *Full {
	seen, all := g.seen, g.all
	if place != nil {
		seen, all = seen.merged(place), all.merged(place)
	}
	again := all.cyclic()
	f := &Full{
		graph: g, seen: newSearches(&seen, again), all: newSearches(&all, again),
		evidence: newEvidence(g, place), takes: map[function][]function{}, sites: map[ref]site{},
	}
	f.world = world{graph: g, known: &f.all, place: place}
	return f
}

// Infer returns the jumps between stack[i] and stack[i+1] and the rule that found
// them, or why there are none; known says that nothing else is missing.
func (f *Full) Infer(stack []machinecode.Ref, i int) (jumps []machinecode.Ref, rule string, known bool) {
	if f.certain(stack[i], stack[i+1]) {
		return nil, Direct, true
	}
	v := f.infer(stack, i)
	return v.jumps, v.rule, v.known()
}

func (f *Full) infer(stack []ref, i int) verdict { return f.inferWithin(stack, i, 0) }

// inferWithin infers where so many jumps are known that come behind.
func (f *Full) inferWithin(stack []ref, i, jumps int) verdict {
	v := f.byCode(stack, i)
	if v.rule == RuleStack || v.rule == NotFunction || v.known() && f.graph.code.Class(stack[i]) == controlflow.Call {
		return v
	}
	if l := f.like(stack, i, jumps); l.rule != Unknown {
		return l
	}
	if v.rule == Unknown || v.rule == Ambiguous {
		if w := f.world.infer(stack[i], f.graph.function(stack[i+1])); w.rule != Unknown {
			return w
		}
	}
	return v
}

func (f *Full) byCode(stack []ref, i int) verdict {
	to := f.graph.function(stack[i+1])
	if to == none {
		return verdict{rule: NotFunction}
	}
	if f.graph.code.Class(stack[i]) == controlflow.Call {
		return f.direct(f.graph.target(stack[i]), to)
	}
	return f.indirect(stack[:i+1], to)
}

// direct is about a call of one function.
func (f *Full) direct(callee, to function) verdict {
	switch callee {
	case none:
		return verdict{rule: NotFunction}
	case to:
		if f.all.again[to] {
			return verdict{rule: Ambiguous} // it may have come back to itself
		}
		return verdict{rule: Direct}
	}
	return f.best(callee, to)
}

// best prefers the tail calls that were seen.
func (f *Full) best(from, to function) verdict {
	if a := f.seen.between(from, to); a.ways == 1 {
		return verdict{a.path, RuleSeen}
	}
	if a := f.all.between(from, to); a.ways > 0 {
		return a.verdict(RuleStatic)
	}
	return f.byComputed(from, to)
}

// byComputed explains a way of which nothing is known by the only jump that can
// begin it: one to a computed address.
func (f *Full) byComputed(from, to function) verdict {
	if len(f.all.edges.in[to]) > 0 {
		return verdict{rule: Unknown} // it may have gone to another function first
	}
	var a answer
	for _, r := range f.all.edges.reached(from) {
		for _, at := range f.graph.computed[r] {
			way := f.all.between(from, r)
			if len(way.path) < maxJumps {
				way.path = append(slices.Clone(way.path), at)
			}
			a.add(way)
		}
	}
	return a.verdict(RuleComputed)
}

// indirect is about a call of whatever a pointer says, the last one of stack.
func (f *Full) indirect(stack []ref, to function) verdict {
	g := f.graph
	callees := g.called[stack[len(stack)-1]]
	if v := f.byStack(stack, to); v.known() {
		return v
	}
	if slices.Contains(callees, to) {
		return verdict{rule: Direct}
	}
	a := f.seen.fromAny(callees, to)
	return a.verdict(RuleSeen)
}

// taken returns the functions whose address the code of a function takes.
func (f *Full) taken(by function) []function {
	t, ok := f.takes[by]
	if !ok {
		t = f.graph.taken(by)
		f.takes[by] = t
	}
	return t
}

// byStack looks for the innermost function of a stack that takes the address of
// one that leads there.
func (f *Full) byStack(stack []ref, to function) verdict {
	reach := f.all.reaching(to).reach
	for k := len(stack) - 1; k >= 0; k-- {
		taker := f.graph.function(stack[k])
		if taker == none {
			continue
		}
		var a answer
		for _, c := range f.taken(taker) {
			if reach.has(c) {
				a.add(f.all.between(c, to))
			}
		}
		switch {
		case a.ways == 1 && len(a.path) == 0:
			return verdict{rule: Direct}
		case a.ways > 0:
			return a.verdict(RuleStack)
		}
	}
	return verdict{rule: Unknown}
}
