package export

import (
	"iter"

	"github.com/cairnprof/cairn/format/fdata"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/edges"
	"github.com/cairnprof/cairn/prof"
)

// Inst is an instruction of the binary.
type Inst struct {
	Addr, Next uint64
	Target     uint64 // of a direct branch, or 0
	Calls      bool   // it is a direct call
	Mayjump    bool   // it is a conditional branch
}

// Instructions yields the instructions in [lo, hi), until one cannot be decoded.
type Instructions func(lo, hi uint64) iter.Seq[Inst]

// BoltEdges returns the executions of the edges of the functions of m whose edges were counted, as branches: BOLT assumes
// that code to which no branch leads did not run, so each edge is one, whether a jump is taken there or not, and so is the
// way on to the next instruction where BOLT may begin a block. A direct call is a branch as often as its block ran, a tail
// call as often as its block was left; the calls that are no such branches come from outside.
func BoltEdges(m *prof.Module, symbols []Symbol, code Instructions) []fdata.Branch {
	x := &boltEdges{m: m, at: newNamesByAddr(m, symbols), code: code, entries: map[uint64]int{}, rest: make([]uint64, len(m.Funcs))}
	for i := range m.Funcs {
		x.rest[i] = weight(m, i)
		if _, taken := x.entries[m.Funcs[i].Addr()]; !taken && ran(m, i) { // of functions that were folded into one, the first
			x.entries[m.Funcs[i].Addr()] = i
		}
	}
	for i := range m.Funcs {
		if m.Funcs[i].Mode.HasEdges() && ran(m, i) {
			x.function(i)
		}
	}
	for i := range m.Funcs {
		if name := x.at.names[m.Funcs[i].Addr()]; name != "" && x.rest[i] > 0 {
			x.out = append(x.out, fdata.Branch{From: fdata.Unknown, To: fdata.Place{Symbol: name}, Count: x.rest[i]})
		}
	}
	return x.out
}

type boltEdges struct {
	m       *prof.Module
	at      namesByAddr
	code    Instructions
	entries map[uint64]int // functions that ran, by address
	rest    []uint64       // by function: calls that are no branch yet
	out     []fdata.Branch
}

// function adds the branches of function i.
func (x *boltEdges) function(i int) {
	f := &x.m.Funcs[i]
	times := f.Executions(&x.m.Counts[i])
	blocks := make([]coverage.Block, len(times))
	for b := range coverage.Blocks(f) {
		blocks[b.Index] = b
	}
	starts := x.starts(f)
	last := make([]Inst, len(blocks))
	for b := range blocks {
		for in := range x.code(blocks[b].Lo, blocks[b].Hi) {
			if last[b] = in; times[b] == 0 {
				continue
			}
			if in.Calls {
				x.call(f, in, times[b])
			}
			if in.Next < blocks[b].Hi && (in.Mayjump || starts[in.Next]) {
				x.branch(f, in.Addr, in.Next, times[b])
			}
		}
	}
	for _, e := range edges.Of(f, times) {
		from := &last[e.From]
		switch {
		case from.Next == 0: // no code: the edge to it has its number
		case e.To == edges.Outside:
			if _, tail := x.entries[from.Target]; tail && !from.Calls && from.Target != f.Addr() {
				x.call(f, *from, e.Times)
			}
		default:
			to := x.skip(f, blocks, e.To)
			at := blocks[to].Lo
			// BOLT has no block behind a call, unless something leads there.
			if at != from.Next || from.Mayjump || starts[at] || f.Flow[to].Entered && !from.Calls {
				x.branch(f, from.Addr, at, e.Times)
			}
		}
	}
}

// skip returns the block behind blocks without code, which are edges.
func (x *boltEdges) skip(f *prof.Func, blocks []coverage.Block, b uint32) uint32 {
	for blocks[b].Lo == blocks[b].Hi && len(f.Flow[b].Next) == 1 && f.Flow[b].Next[0] != b {
		next := f.Flow[b].Next[0]
		if blocks[next].Lo == blocks[next].Hi && next <= b {
			break
		}
		b = next
	}
	return b
}

// starts has the addresses that direct branches in f lead to.
func (x *boltEdges) starts(f *prof.Func) map[uint64]bool {
	starts := map[uint64]bool{}
	for k := range f.Fragments {
		fr := &f.Fragments[k]
		for in := range x.code(fr.Addr, fr.Addr+uint64(fr.Size)) {
			if in.Target != 0 && !in.Calls {
				starts[in.Target] = true
			}
		}
	}
	return starts
}

// call adds a call of a function of the module.
func (x *boltEdges) call(f *prof.Func, in Inst, times uint64) {
	callee, ok := x.entries[in.Target]
	if !ok {
		return
	}
	from, ok := x.at.place(f, in.Addr)
	if name := x.at.names[in.Target]; ok && name != "" {
		x.rest[callee] -= min(x.rest[callee], times)
		x.out = append(x.out, fdata.Branch{From: from, To: fdata.Place{Symbol: name}, Count: times})
	}
}

func (x *boltEdges) branch(f *prof.Func, from, to, times uint64) {
	a, ok := x.at.place(f, from)
	b, found := x.at.place(f, to)
	if ok && found {
		x.out = append(x.out, fdata.Branch{From: a, To: b, Count: times})
	}
}
