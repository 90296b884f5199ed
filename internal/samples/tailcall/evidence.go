package tailcall

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// Problem: what an indirect call leads to is often not to be told from the code.
// But of other calls at that place the branches show it.
//
// Choice: chains are told apart by what runs meanwhile: by the calls further in, the
// function there, and if that runs with several chains, by an instruction that ran, or
// one that must have run before it: of a destructor that deletes children, and not of
// one that has none. How often a chain begins says nothing, as some last longer.
//
// Records of few branches show the beginning of short chains only, and would make
// believe that there are no others. The end of a chain they show of all alike. So a
// chain is believed if no other end was seen, and where ends were seen only, what
// stands before an end that all have is inferred as if the branches of the sample had
// shown that end.

// depth is how many frames further in are looked at, and enough how many stretches
// of code must have been seen to run with a chain there. A sample has as many of
// them as branches.
const (
	depth  = 4
	enough = 16
)

// evidence has the chains that branches showed. It is read call by call, as it is
// asked for.
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

// inner are the calls further in than one, and the function that ran there.
type inner struct {
	calls [depth - 1]ref
	leaf  function
}

// sighting is a stretch of code that ran with a chain, or with the end of one that
// began before the branches.
type sighting struct {
	from, to ref
	chain    int32
	whole    bool
	count    uint64
}

// question asks for the chain behind a call where an instruction ran further in; None
// is any of the function.
type question struct {
	call ref
	inner
	at ref
}

// ending is the rule of jumps that a chain ends with.
const ending = "ending"

func newEvidence(g *Graph, place func(ref) uint64) evidence {
	return evidence{
		graph: g, place: place,
		calls: map[ref]map[inner][]sighting{}, verdicts: map[question]verdict{},
		flows: map[*machinecode.Range]*machinecode.Flow{}, numbers: map[string]int32{},
	}
}

// findCalls finds where calls are in contexts.
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

// of returns what was seen behind a call.
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

// number returns the number of a chain. Those with the same places have one.
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

// seenAt tells what was seen where a function further in runs, and if that was several
// chains, where an instruction of it ran, or one that must have run before.
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

// flow returns the flow of control in the function that has an instruction.
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
			hidden += s.count // the branches do not reach back
		}
	}
	v = e.agreed(whole, ends, hidden)
	e.verdicts[q] = v
	return v
}

// agreed returns the chain that was seen, or if its beginning was not, the end that
// all have. Hidden is how often neither was: what is seen of an instruction that runs
// late are the chains with which it runs early, which says nothing of the others.
func (e *evidence) agreed(whole, ends map[int32]uint64, hidden uint64) verdict {
	var only, end chain
	count, chains, first := uint64(0), uint64(0), true
	for _, seen := range []map[int32]uint64{whole, ends} {
		for _, n := range slices.Sorted(maps.Keys(seen)) { // of copies of a jump always the same one
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

// chain are jumps, and the places of them.
type chain struct {
	jumps  []ref
	places []uint64
}

// common returns the last jumps that two chains have in common.
func (c chain) common(o chain) chain {
	n, m := len(c.places), len(o.places)
	for n > 0 && m > 0 && c.places[n-1] == o.places[m-1] {
		n, m = n-1, m-1
	}
	return chain{c.jumps[n:], c.places[n:]}
}
