package coverage

import (
	"slices"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/domtree"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/prof"
)

// flow is the control flow graph of a function's machine code. Its nodes are parts of the
// map's blocks, because the map has only the blocks that probes must distinguish.
type flow struct {
	pieces []piece // ascending by address within each fragment
	preds  [][]int
	after  []int // the index of the piece that must run after each piece, or nowhere

	code       Code
	entry      uint64            // address
	before     []int             // the immediate dominator of each piece, once it is needed
	back       map[[2]int]bool   // edges back to the head of a loop, once they are needed
	statements map[lineOf]bool   // lines of statements that begin in the function, once they are needed
	marks      map[lineOf][]mark // where statements of lines begin
	marked     map[owner]bool    // functions in which statements begin
	ranCalls   map[uint64]bool   // targets of calls that ran, 0 for computed addresses
	edges      edgeBlocks        // blocks of edges
	counts     *prof.Counts      // of the function
	jumps      []int             // pieces that end with a jump to a computed address in the function
}

// piece is code that runs from its first instruction to its last.
type piece struct {
	insts []inst
	block int // of the map
	succs []int
	exit  bool // leaves the function
	// It may leave the function by a jump to another one, whose address is computed or known.
	tail   bool
	tailTo uint64 // 0 if it is computed

	// Of a piece that ends with a conditional jump of the program: the pieces where it leads if it jumps, and
	// if not; nowhere for another function.
	decides bool
	ways    [2]int

	traces []trace
	ran    bool
	dead   bool // padding
	passed bool // its end was certainly reached
	// borrows is set if it has the line of code before it without being of that line.
	borrows bool
	owner   owner // function of its last instruction
}

type inst struct {
	addr uint64
	kind effect
	jump bool // not conditional
	// padding is set for an instruction without effect.
	padding bool
	use     machinecode.Use
	test    bool   // a conditional jump, or one to a computed address
	target  uint64 // of a direct call
	global  bool   // it writes to a global object
	refers  bool   // to a place in memory that is known
}

// effect is the part of an instruction's effect that an optimiser must keep.
type effect = machinecode.Effect

// The effects. Weak instructions are removed without trace if their result is known, or not
// used.
const (
	none   = machinecode.Nothing
	weak   = machinecode.Computes
	stores = machinecode.Stores
	calls  = machinecode.Calls
)

// nowhere is the successor of code that never ends, or has several successors.
const nowhere = -1

// decoder reads the code of one function.
type decoder struct {
	m    *prof.Map
	code Code
	arch machinecode.Arch
	read *machinecode.Reader

	insts  []inst
	blocks []int // parallel to insts
	raw    []machinecode.Inst
}

// newFlow returns the flow graph of f, nil if its code is not there or not to be
// read.
func newFlow(m *prof.Map, f *prof.Func, code Code) *flow {
	arch, err := machinecode.For(code.Machine())
	if err != nil {
		return nil
	}
	d := decoder{m: m, code: code, arch: arch, read: machinecode.NewReader(arch)}
	for b := range Blocks(f) {
		if !d.block(b) {
			return nil
		}
	}
	if len(d.insts) == 0 {
		return nil
	}
	// Blocks are in the order of their numbers, which is that of fragments and of addresses in
	// them, except for an entry that is not the first.
	fl := d.cut()
	if !f.Plain && !code.Plain(f.Addr()) {
		fl.skipPadding()
	}
	if !fl.join() {
		return nil
	}
	fl.entry, fl.code = f.Addr(), code
	return fl
}

// block decodes the instructions of b.
func (d *decoder) block(b Block) bool {
	data := d.code.Bytes(b.Lo, b.Hi)
	if len(data) == 0 && b.Lo < b.Hi {
		return false
	}
	first := len(d.insts)
	for off := uint64(0); off < uint64(len(data)); {
		addr := b.Lo + off
		in, err := d.read.Decode(data[off:], addr)
		if err != nil {
			return false
		}
		one := inst{addr: addr, kind: d.arch.Effect(data[off:]), jump: in.Class == controlflow.Jump}
		one.padding, one.use = one.kind == none, d.arch.Use(data[off:])
		if in.Refers && in.Memory-d.m.RawAddr < d.m.RawSize {
			one.kind = none // a probe
		}
		one.refers = in.Refers
		one.global = one.kind == stores && in.Refers
		if in.Class == controlflow.Call {
			one.target = in.Target
			if d.stub(addr, addr+uint64(in.Len)) {
				one.kind = none
			}
		}
		d.insts = append(d.insts, one)
		d.raw, d.blocks = append(d.raw, in), append(d.blocks, b.Index)
		off += uint64(in.Len)
	}
	d.probes(first)
	return true
}

// stub reports whether a call belongs to the first-call path of a probe: the code after it jumps to the end of
// the conditional jump that led to it.
func (d *decoder) stub(call, behind uint64) bool {
	if d.arch.KeepsReturn(d.code, call) {
		return true
	}
	back, ok := d.one(behind)
	if !ok || back.Class != controlflow.Jump {
		return false
	}
	const conditional = 6 // bytes, at most
	for n := uint64(conditional); n > 0; n-- {
		if jcc, ok := d.one(back.Target - n); ok && jcc.Class == controlflow.Conditional && uint64(jcc.Len) == n && jcc.Target == call {
			return true
		}
	}
	return false
}

// one decodes the instruction at an address.
func (d *decoder) one(addr uint64) (machinecode.Inst, bool) {
	for n := uint64(machinecode.MaxLen); n > 0; n-- {
		if data := d.code.Bytes(addr, addr+n); data != nil {
			in, err := d.arch.Decode(data, addr)
			return in, err == nil
		}
	}
	return machinecode.Inst{}, false
}

// cut divides the instructions into pieces.
func (d *decoder) cut() *flow {
	n := len(d.insts)
	at := make(map[uint64]int, n)
	for i := range d.insts {
		at[d.insts[i].addr] = i
	}
	leader := make([]bool, n+1)
	leader[0], leader[n] = true, true
	for i := range d.insts {
		next := i + 1
		if next < n && (d.blocks[next] != d.blocks[i] || d.insts[next].addr != d.end(i)) {
			leader[next] = true
		}
		switch d.raw[i].Class {
		case controlflow.Jump, controlflow.Conditional:
			if to, ok := at[d.raw[i].Target]; ok {
				leader[to] = true
			}
			leader[next] = true
		case controlflow.Return, controlflow.IndirectJump, controlflow.Trap:
			leader[next] = true
		}
	}
	fl := &flow{ranCalls: map[uint64]bool{}}
	of := make([]int, n) // piece of each instruction
	first := 0
	for i := 1; i <= n; i++ {
		if !leader[i] {
			continue
		}
		for k := first; k < i; k++ {
			of[k] = len(fl.pieces)
		}
		fl.pieces = append(fl.pieces, piece{insts: d.insts[first:i], block: d.blocks[first]})
		first = i
	}
	for i := range fl.pieces {
		p := &fl.pieces[i]
		d.leave(p, at[p.insts[len(p.insts)-1].addr], at, of)
	}
	fl.withoutEdges(d)
	return fl
}

// end returns the address after instruction i.
func (d *decoder) end(i int) uint64 { return d.insts[i].addr + uint64(d.raw[i].Len) }

// leave records where control goes after the last instruction of p.
func (d *decoder) leave(p *piece, last int, at map[uint64]int, of []int) {
	in := d.raw[last]
	if in.Class == controlflow.Conditional && !d.probe(last) {
		p.decides, p.ways = true, [2]int{nowhere, nowhere}
		for k, addr := range [2]uint64{in.Target, d.end(last)} {
			if to, ok := at[addr]; ok {
				p.ways[k] = of[to]
			}
		}
	}
	switch in.Class {
	case controlflow.Jump, controlflow.Conditional:
		if to, ok := at[in.Target]; ok {
			p.succs = append(p.succs, of[to])
		} else {
			p.tail, p.tailTo = true, in.Target
			p.exit = p.exit || in.Class == controlflow.Jump
		}
	case controlflow.Return:
		p.exit = true
	}
	if next, ok := at[d.end(last)]; ok && !in.Class.Ends() {
		p.succs = append(p.succs, of[next])
	}
	if in.Class == controlflow.IndirectJump {
		p.succs = append(p.succs, computed) // until all are known
	}
	end := &p.insts[len(p.insts)-1]
	end.test = p.decides || in.Class == controlflow.IndirectJump
}

// probe reports whether a conditional jump belongs to a probe. Those of AArch64 are known; elsewhere nothing but probes is
// before it in the function, where no flags are set.
func (d *decoder) probe(jump int) bool {
	if d.insts[jump].kind == none || d.code.Machine() == machine.AArch64 {
		return d.insts[jump].kind == none
	}
	return !slices.ContainsFunc(d.insts[:jump], func(in inst) bool { return in.kind != none })
}

// pads reports whether a piece is padding.
func (p *piece) pads() bool {
	return !slices.ContainsFunc(p.insts, func(in inst) bool { return !in.padding })
}

// skipPadding leads what goes through padding to what is behind it: padding has no probe, and jumps do not lead to it.
func (fl *flow) skipPadding() {
	behind := make([]int, len(fl.pieces))
	for i := len(fl.pieces) - 1; i >= 0; i-- {
		p := &fl.pieces[i]
		if behind[i] = i; i > 0 && p.pads() && len(p.succs) == 1 && p.succs[0] == i+1 {
			behind[i], p.dead, p.succs = behind[i+1], true, nil
		}
	}
	for i := range fl.pieces {
		p := &fl.pieces[i]
		for k, s := range p.succs {
			if s != computed {
				p.succs[k] = behind[s]
			}
		}
		for k, w := range p.ways {
			if p.decides && w != nowhere {
				p.ways[k] = behind[w]
			}
		}
	}
}

// computed represents the target of a jump to a computed address.
const computed = -1

// maxComputed bounds the edges of jumps to computed addresses. Without optimisation each switch has a jump of its own, which may
// go to the cases of all.
const maxComputed = 1 << 22

// join completes the graph and finds successors that must run. A jump to a computed address
// goes to the pieces without predecessors; if there are none, it is a call of another
// function. It returns false if the graph is too large.
func (fl *flow) join() bool {
	n := len(fl.pieces)
	entered := make([]bool, n)
	for i := range fl.pieces {
		for _, s := range fl.pieces[i].succs {
			if s != computed {
				entered[s] = true
			}
		}
	}
	var loose []int
	for i := 1; i < n; i++ {
		if !entered[i] && !fl.pieces[i].dead {
			loose = append(loose, i)
		}
	}
	jumps := 0
	for i := range fl.pieces {
		if slices.Contains(fl.pieces[i].succs, computed) {
			jumps++
		}
	}
	if jumps*len(loose) > maxComputed {
		return false
	}
	exit := n
	succs, preds := make([][]int, n+1), make([][]int, n+1)
	for i := range fl.pieces {
		p := &fl.pieces[i]
		if k := len(p.succs) - 1; k >= 0 && p.succs[k] == computed {
			p.succs = append(p.succs[:k:k], loose...)
			p.tail = len(loose) == 0
			p.exit = p.exit || p.tail
			fl.jumps = append(fl.jumps, i)
		}
		if succs[i] = p.succs; p.exit {
			succs[i] = append(p.succs[:len(p.succs):len(p.succs)], exit)
		}
		for _, s := range succs[i] {
			preds[s] = append(preds[s], i)
		}
	}
	fl.preds = preds
	fl.after, _ = domtree.Of(exit, preds, succs)
	for i := range fl.pieces {
		// Code that never leaves is followed by its successor, if there is one.
		if fl.after[i] < 0 && len(succs[i]) == 1 {
			fl.after[i] = succs[i][0]
		}
		if fl.after[i] == exit {
			fl.after[i] = nowhere
		}
	}
	return true
}

// deciders returns the pieces that ran and lead to piece i, which did not run, by way of
// others that did not run.
func (fl *flow) deciders(i int) (deciders []*piece) {
	seen := map[int]bool{i: true}
	for todo := []int{i}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, pred := range fl.preds[at] {
			if seen[pred] {
				continue
			}
			seen[pred] = true
			if p := &fl.pieces[pred]; p.ran {
				deciders = append(deciders, p)
			} else {
				todo = append(todo, pred)
			}
		}
	}
	return deciders
}
