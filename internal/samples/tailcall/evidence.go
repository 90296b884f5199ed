package tailcall

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// Problem: the target of an indirect call often cannot be determined from the code. But
// sampled branches show it for other executions of the same call.
//
// Choice: chains are distinguished by what runs after them: by the inner calls, the innermost
// function, and if that function occurs with several chains, by an instruction that ran, or
// one that dominates it (in a destructor, the code that deletes children, which does not run
// for objects without any). The frequency of a chain is not evidence, as some last longer.
//
// Records of few branches show the beginning of short chains only, so that longer ones
// seem not to exist. They show the end of every chain. So a chain is accepted if no other
// end was seen. Where only ends were seen and all are equal, the jumps before that end
// are inferred as if the branches of the sample had shown it.

// depth is the number of inner frames that are compared, and enough the number of ranges of
// code that must have run with a chain there. A sample has one range for each branch.
const (
	depth  = 4
	enough = 16
)

// evidence holds the chains that branches showed. It is computed for each call when it is
// first needed.
type evidence struct {
	graph *Graph
	place func(ref) uint64

	positions map[ref][]position // of calls among the innermost ones of contexts
	calls     map[ref]map[inner][]sighting
	verdicts  map[question]verdict
	flows     map[*machinecode.Range]*machinecode.Flow
	numbers   map[string]int32 // of chains, by their places
	chains    []chain
}

// position is a frame of a context.
type position struct{ context, frame int32 }

// inner is the calls inside of a call, and the innermost function.
type inner struct {
	calls [depth - 1]ref
	leaf  function
}

// sighting is a range of code that ran with a chain, or with the end of a chain that
// began before the recorded branches.
type sighting struct {
	from, to ref
	chain    int32
	whole    bool
	count    uint64
}

// question is a query for the chain after a call while an instruction ran in the inner
// frames; None is any instruction of the function.
type question struct {
	call ref
	inner
	at ref
}

// ending is the rule of the last jumps of a chain.
const ending = "ending"

func newEvidence(g *Graph, place func(ref) uint64) evidence {
	return evidence{
		graph: g, place: place,
		calls: map[ref]map[inner][]sighting{}, verdicts: map[question]verdict{},
		flows: map[*machinecode.Range]*machinecode.Flow{}, numbers: map[string]int32{},
	}
}

// findCalls finds the positions of calls in contexts.
func (e *evidence) findCalls() {
	e.positions = map[ref][]position{}
	for i := range e.graph.contexts {
		c := &e.graph.contexts[i]
		if c.Known == nil {
			continue
		}
		n := 0
		for k := len(c.Frames) - 1; k >= 0 && n < depth; k-- {
			if r := c.Frames[k]; e.graph.code.Class(r).IsCall() {
				e.positions[r] = append(e.positions[r], position{int32(i), int32(k)})
				n++
			}
		}
	}
}

// of returns what was seen after a call.
func (e *evidence) of(call ref) map[inner][]sighting {
	if e.positions == nil {
		e.findCalls()
	}
	seen, ok := e.calls[call]
	if ok {
		return seen
	}
	seen = map[inner][]sighting{}
	for _, p := range e.positions[call] {
		c := &e.graph.contexts[p.context]
		next := int(p.frame) + 1
		for next < len(c.Frames) && !e.graph.code.Class(c.Frames[next]).IsCall() {
			next++
		}
		s := sighting{chain: e.number(c.Frames[p.frame+1 : next]), whole: c.Known[p.frame]}
		var key inner
		n := 0
		for _, r := range c.Frames[next:] {
			if e.graph.code.Class(r).IsCall() {
				key.calls[n] = r
				n++
			}
		}
		for _, r := range c.Ranges {
			key.leaf = e.graph.function(r.From)
			s.from, s.to, s.count = r.From, r.To, r.Count
			seen[key] = append(seen[key], s)
		}
	}
	e.calls[call] = seen
	return seen
}

// number returns the number of a chain. Chains with equal places have the same number.
func (e *evidence) number(jumps []ref) int32 {
	c := chain{jumps: jumps}
	var key []byte
	for _, r := range jumps {
		at := uint64(r)
		if e.place != nil {
			if p := e.place(r); p != 0 {
				at = p
			}
		}
		c.places = append(c.places, at)
		key = binary.LittleEndian.AppendUint64(key, at)
	}
	n, ok := e.numbers[string(key)]
	if !ok {
		n = int32(len(e.chains))
		e.numbers[string(key)] = n
		e.chains = append(e.chains, c)
	}
	return n
}

// empty reports that no branches show a call: the samples have none.
func (e *evidence) empty() bool {
	if e.positions == nil {
		e.findCalls()
	}
	return len(e.positions) == 0
}

// seenAt returns what was seen while a function ran in the inner frames, and if that was
// several chains, while an instruction of it ran, or one that dominates it.
func (e *evidence) seenAt(q question, at ref) verdict {
	q.at = machinecode.None
	v := e.ask(q)
	if v.rule != Ambiguous && v.rule != ending {
		return v
	}
	for _, q.at = range e.flow(at).Before(at) {
		switch w := e.ask(q); {
		case w.rule == ending:
			if v.rule == Ambiguous {
				v = w
			}
		case w.known():
			return w
		}
	}
	return v
}

// flow returns the control flow of the function that contains an instruction.
func (e *evidence) flow(at ref) *machinecode.Flow {
	r := e.graph.rangeOf(at)
	if r == nil {
		return nil
	}
	f, ok := e.flows[r]
	if !ok {
		f = e.graph.code.Flow(e.graph.code.Binary(at), r, e.graph.cases)
		e.flows[r] = f
	}
	return f
}

// ask answers a question.
func (e *evidence) ask(q question) verdict {
	v, ok := e.verdicts[q]
	if ok {
		return v
	}
	whole, ends, hidden := map[int32]uint64{}, map[int32]uint64{}, uint64(0)
	for _, s := range e.of(q.call)[q.inner] {
		switch {
		case q.at != machinecode.None && (q.at < s.from || q.at > s.to):
		case s.whole:
			whole[s.chain] += s.count
		case len(e.chains[s.chain].jumps) > 0:
			ends[s.chain] += s.count
		case q.at != machinecode.None:
			hidden += s.count // the recorded branches begin later
		}
	}
	v = e.agreed(whole, ends, hidden)
	e.verdicts[q] = v
	return v
}

// agreed returns the chain that was seen, or if its beginning was not, the common end of
// all. Hidden is the number of samples that show neither: an instruction that runs late is
// seen only with chains after which it runs early, which is no evidence for the others.
func (e *evidence) agreed(whole, ends map[int32]uint64, hidden uint64) verdict {
	var only, end chain
	count, chains, first := uint64(0), uint64(0), true
	for _, seen := range []map[int32]uint64{whole, ends} {
		for _, n := range slices.Sorted(maps.Keys(seen)) { // the result does not depend on the order of the map
			if first {
				end, first = e.chains[n], false
			}
			end = end.common(e.chains[n])
			count += seen[n]
		}
	}
	for n, times := range whole {
		only, chains = e.chains[n], times
	}
	if len(whole) == 1 {
		for n := range ends {
			if len(only.common(e.chains[n]).jumps) < len(e.chains[n].jumps) {
				return verdict{rule: Ambiguous}
			}
		}
	}
	switch {
	case count < enough, count < hidden:
		return verdict{rule: Unknown}
	case len(whole) == 1 && chains >= enough && len(only.jumps) == 0:
		return verdict{rule: Direct}
	case len(whole) == 1 && chains >= enough:
		return verdict{only.jumps, RuleAlike}
	case len(end.jumps) == 0:
		return verdict{rule: Ambiguous}
	}
	return verdict{end.jumps, ending}
}

// chain is a sequence of jumps, and their places.
type chain struct {
	jumps  []ref
	places []uint64
}

// common returns the longest common suffix of two chains.
func (c chain) common(o chain) chain {
	n, m := len(c.places), len(o.places)
	for n > 0 && m > 0 && c.places[n-1] == o.places[m-1] {
		n, m = n-1, m-1
	}
	return chain{c.jumps[n:], c.places[n:]}
}
