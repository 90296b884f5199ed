package tailcall

import (
	"math"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// Rules by which jumps are found.
const (
	RuleSeen   = "seen"   // the only path over tail calls that were taken
	RuleStatic = "static" // the only path over those and the direct ones of the code
	RuleStack  = "stack"  // the target of the call is a function whose address a caller takes
	// RuleComputed: the only jump to a computed address that is reachable from the called
	// function, with which the chain must have begun.
	RuleComputed = "computed"
	RuleAlike    = "alike"   // what branches showed while the same code ran in the inner frames
	RuleVirtual  = "virtual" // a single function in that slot of the virtual tables leads there
	RuleAddress  = "address" // a single function whose address the program takes leads there
)

// Reasons why nothing is inserted.
const (
	Direct      = "direct"    // the function was called directly: nothing is missing
	Unknown     = "unknown"   // there is no known path
	Ambiguous   = "ambiguous" // there are several
	NotFunction = "outside"   // an instruction is outside of functions
)

// verdict is a result of an inferrer.
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

// NewLLVM returns an inferrer over a graph, which finds chains up to a number of jumps;
// 0 is no limit. It is not safe for concurrent use.
func NewLLVM(g *Graph, jumps int) *LLVM {
	l := &LLVM{g, newSearches(&g.seen, nil)}
	l.ways.longest = jumps
	if jumps == 0 {
		l.ways.longest = math.MaxInt
	}
	return l
}

// Infer returns the jumps between stack[i] and stack[i+1] and the rule that found
// them, or why there are none; known reports that nothing else is missing.
func (l *LLVM) Infer(stack []machinecode.Ref, i int) (jumps []machinecode.Ref, rule string, known bool) {
	v := l.infer(stack, i)
	return v.jumps, v.rule, v.known()
}

// Sees returns 1: the function that the next entry is in.
func (l *LLVM) Sees() int { return 1 }

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

// Full uses all rules.
type Full struct {
	graph    *Graph
	seen     searches
	all      searches
	evidence evidence
	takes    map[function][]function // functions whose address a function takes, filled on demand
	sites    map[ref]site            // instructions on stacks, filled on demand
	world    world
	brief    bool // see Brief
}

// NewFull returns an inferrer over a graph. It is not safe for concurrent use. Place
// returns the same number for all jumps that the compiler made of one call in the source:
// they are equivalent. A jump with number 0 is equivalent to no other; so are all if place
// is nil.
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

// Brief lets Infer not tell an ambiguous chain from a direct call, where no branches were sampled: neither has jumps to be
// restored, and the difference takes much of the time of short recordings.
func (f *Full) Brief() { f.brief = true }

// Infer returns the jumps between stack[i] and stack[i+1] and the rule that found
// them, or why there are none; known reports that nothing else is missing.
func (f *Full) Infer(stack []machinecode.Ref, i int) (jumps []machinecode.Ref, rule string, known bool) {
	if f.certain(stack[i], stack[i+1]) {
		return nil, Direct, true
	}
	v := f.infer(stack, i)
	return v.jumps, v.rule, v.known()
}

// Sees returns depth as long as no branches were sampled.
func (f *Full) Sees() int {
	if f.evidence.empty() {
		return depth
	}
	return math.MaxInt
}

func (f *Full) infer(stack []ref, i int) verdict { return f.inferWithin(stack, i, 0) }

// inferWithin infers the first jumps of a chain whose last jumps are known.
func (f *Full) inferWithin(stack []ref, i, jumps int) verdict {
	v := f.byCode(stack, i)
	if v.rule == RuleStack || v.rule == NotFunction || v.known() && f.graph.code.Class(stack[i]) == controlflow.Call {
		return v
	}
	if l := f.like(stack, i, jumps); l.rule != Unknown {
		return l
	}
	if v.rule == Unknown || v.rule == Ambiguous {
		if w := f.world.infer(stack[i], f.function(stack[i+1]), f.brief && f.evidence.empty()); w.rule != Unknown {
			return w
		}
	}
	return v
}

func (f *Full) byCode(stack []ref, i int) verdict {
	to := f.function(stack[i+1])
	if to == none {
		return verdict{rule: NotFunction}
	}
	if f.graph.code.Class(stack[i]) == controlflow.Call {
		return f.direct(f.graph.target(stack[i]), to)
	}
	return f.indirect(stack[:i+1], to)
}

// direct infers the chain of a direct call.
func (f *Full) direct(callee, to function) verdict {
	switch callee {
	case none:
		return verdict{rule: NotFunction}
	case to:
		if f.all.again[to] {
			return verdict{rule: Ambiguous} // it may have returned to itself by tail calls
		}
		return verdict{rule: Direct}
	}
	return f.best(callee, to)
}

// best prefers tail calls that were seen.
func (f *Full) best(from, to function) verdict {
	if a := f.seen.between(from, to); a.ways == 1 {
		return verdict{a.path, RuleSeen}
	}
	if a := f.all.between(from, to); a.ways > 0 {
		return a.verdict(RuleStatic)
	}
	return f.byComputed(from, to)
}

// byComputed completes a chain without a known path by the only jump that can begin it:
// one to a computed address.
func (f *Full) byComputed(from, to function) verdict {
	if len(f.all.edges.in[to]) > 0 {
		return verdict{rule: Unknown} // it may have reached another function first
	}
	var a answer
	reached := f.all.edges.reached(from)
	if slices.ContainsFunc(reached, func(r function) bool { return len(f.graph.computed[r]) > 0 }) {
		f.graph.wantTo(to)
	}
	for _, r := range reached {
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

// indirect infers the chain of an indirect call, the last entry of stack.
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

// addressed returns the functions whose address the code of a function takes.
func (f *Full) addressed(by function) []function {
	t, ok := f.takes[by]
	if !ok {
		t = f.graph.addressed(by)
		f.takes[by] = t
	}
	return t
}

// byStack finds the innermost function of a stack that takes the address of a function
// that leads there.
func (f *Full) byStack(stack []ref, to function) verdict {
	reach := f.all.reaching(to).reach
	for k := len(stack) - 1; k >= 0; k-- {
		taker := f.function(stack[k])
		if taker == none {
			continue
		}
		var a answer
		for _, c := range f.addressed(taker) {
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
