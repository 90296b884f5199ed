package coverage

import (
	"slices"

	"github.com/cairnprof/cairn/internal/binary/domtree"
	"github.com/cairnprof/cairn/prof"
)

// Code after a call ran only if the call returned. It may have thrown an exception, jumped, or ended the thread or
// the process. What the blocks that ran prove is in this file:
//
//   - A function of which no block that leaves it ran has never returned, nor one that can leave only through calls
//     of such functions. Code after its calls did not run.
//   - A function that ran only code without calls, or with calls of such functions, has returned from each call.
//   - If a block ran that is reached only through the end of another one, the calls in that one returned.
//   - If a function returned and only one of its blocks that leave it ran, the calls in that block returned.
//
// Of other calls it is unknown. Signals, the cancellation of threads and memory that is exhausted in the C library
// are not considered: a function of the C library returns if it calls nothing that a program provides.

// Callees is implemented by Code that knows functions without records.
type Callees interface {
	// Callee returns the name of the function at an address, or of the one that a stub there
	// jumps to; "" if it is not known.
	Callee(addr uint64) string
}

// verdict is what is known of the calls of a function that ran.
type verdict uint8

const (
	mayReturn verdict = iota
	returned          // each
	never             // none
)

// place is the entry of a function.
type place struct {
	module int
	addr   uint64
}

// leaving is how a function was left.
type leaving struct {
	ran     bool
	unknown bool            // nothing is known of its code
	calls   map[uint64]bool // targets of calls that ran, 0 for others
	exits   []exit          // pieces that ran and leave the function
	may     bool            // it may have returned
	other   bool            // it may have been left in another way
	sure    bool            // it returned
	stores  bool            // each call of it stores to a global object
	targets map[uint64]bool // of calls that each call of it makes
	called  bool            // it was inlined nowhere
	effects bool            // a call of it may have an effect that a compiler cannot leave out
	all     map[uint64]bool // targets of calls in its code
	acts    bool            // each call of it has an effect that no compiler computes
}

// exit is a piece that leaves a function, with the functions that must return first.
type exit struct {
	piece int
	calls []uint64
}

// returning knows which calls returned.
type returning struct {
	modules []Module
	funcs   map[place]*leaving
	byName  map[string][]place
	sure    map[place]bool // targets that returned
}

// newReturning reads the code of all modules.
func newReturning(modules []Module) *returning {
	r := &returning{modules: modules, funcs: map[place]*leaving{}, byName: map[string][]place{}, sure: map[place]bool{}}
	for i := range modules {
		m := &modules[i]
		for k := range m.Funcs {
			at := place{i, m.Funcs[k].Addr()}
			r.byName[m.Funcs[k].Name] = append(r.byName[m.Funcs[k].Name], at)
			r.read(i, m, &m.Funcs[k], &m.Counts[k])
		}
	}
	for r.step() {
	}
	return r
}

// read adds a function. Functions that a linker folded have one address.
func (r *returning) read(module int, m *Module, f *prof.Func, c *prof.Counts) {
	at := place{module, f.Addr()}
	l := r.funcs[at]
	if l == nil {
		l = &leaving{calls: map[uint64]bool{}, targets: map[uint64]bool{}, all: map[uint64]bool{}}
		r.funcs[at] = l
	}
	l.ran = l.ran || c.Runs > 0
	var fl *flow
	if m.Lines != nil && m.Code != nil && c.Unprobed == 0 {
		fl = newFlow(&m.Map, f, m.Code)
	}
	if fl == nil {
		l.unknown = true
		return
	}
	special := false
	if frames := m.Code.Frames(at.addr); len(frames) > 0 {
		special = r.specialised(module, &frames[0])
		l.called = r.called(&frames[0], f.Name, fl)
		l.effects = l.effects || frames[0].Records // gcc keeps a record also of what it leaves out
	}
	fl.record(f, c)
	if !special {
		l.always(fl)
	}
	for i := range fl.pieces {
		p := &fl.pieces[i]
		targets := p.calls()
		l.effect(p)
		if !p.ran {
			continue
		}
		for _, t := range targets {
			l.calls[t] = true
			if p.passed && t != 0 {
				r.sure[place{module, t}] = true
			}
		}
		if p.tail {
			targets = append(targets, p.tailTo)
			l.calls[p.tailTo] = true
		}
		if p.tail || p.exit {
			l.exits = append(l.exits, exit{i, targets})
		}
	}
}

// always records what each call of a function does.
func (l *leaving) always(fl *flow) {
	for i, seen := 0, map[int]bool{}; i != nowhere && !seen[i]; i = fl.after[i] {
		seen[i] = true
		for _, in := range fl.pieces[i].insts {
			l.stores = l.stores || in.global
			if in.kind == calls {
				l.targets[in.target] = true
			}
		}
	}
}

// effect records what a piece may do that a caller sees.
func (l *leaving) effect(p *piece) {
	for k := range p.insts {
		in := &p.insts[k]
		switch {
		case in.global:
			l.effects = true
		case in.kind == calls && in.target != 0:
			l.all[in.target] = true
		case in.kind == calls && !in.refers:
			l.effects = true // by a pointer, which is not one of the table of imported functions
		}
	}
	if p.tail && p.tailTo != 0 {
		l.all[p.tailTo] = true
	}
}

// step draws conclusions and reports whether there were any.
func (r *returning) step() (changed bool) {
	for at, l := range r.funcs {
		may, other := l.unknown, l.unknown
		for _, e := range l.exits {
			may = may || !slices.ContainsFunc(e.calls, func(t uint64) bool { return !r.may(at.module, t) })
		}
		for t := range l.calls {
			other = other || r.other(at.module, t)
		}
		sure := l.sure || r.sure[at]
		if sure && !l.sure && len(l.exits) == 1 && !l.unknown {
			for _, t := range l.exits[0].calls {
				r.sure[place{at.module, t}] = true
			}
		}
		acts := l.acts || l.stores
		for t := range l.targets {
			acts = acts || r.acts(at.module, t)
		}
		effects := l.effects
		for t := range l.all {
			effects = effects || r.effects(at.module, t)
		}
		l.acts, l.effects, changed = acts, effects, changed || acts != l.acts || effects != l.effects
		if may != l.may || other != l.other || sure != l.sure {
			l.may, l.other, l.sure, changed = may, other, sure, true
		}
	}
	return changed
}

// callees returns the functions of the profile that a call of target may have entered, and whether these are all.
func (r *returning) callees(module int, target uint64) (list []place, name string) {
	at := place{module, target}
	if r.funcs[at] != nil {
		return []place{at}, ""
	}
	if c, ok := r.modules[module].Code.(Callees); ok {
		name = c.Callee(target)
	}
	// Functions that did not run are not the ones that the loader chose.
	for _, p := range r.byName[name] {
		if r.funcs[p].ran {
			list = append(list, p)
		}
	}
	return list, name
}

// may reports whether a call of target may have returned.
func (r *returning) may(module int, target uint64) bool {
	list, name := r.callees(module, target)
	if len(list) == 0 {
		return !neverReturns()[name]
	}
	return slices.ContainsFunc(list, func(p place) bool { return r.funcs[p].may })
}

// other reports whether a call of target may have ended in another way.
func (r *returning) other(module int, target uint64) bool {
	list, name := r.callees(module, target)
	if len(list) == 0 {
		return !alwaysReturns()[name]
	}
	return slices.ContainsFunc(list, func(p place) bool { return r.funcs[p].other })
}

// of returns what is known of the calls of target in a module.
func (r *returning) of(module int, target uint64) verdict {
	switch {
	case target == 0:
		return mayReturn
	case !r.may(module, target):
		return never
	case !r.other(module, target):
		return returned
	}
	return mayReturn
}

// leaves reports whether the calls in piece i, which leaves the function at addr, are known to have returned.
func (r *returning) leaves(module int, addr uint64, i int) bool {
	l := r.funcs[place{module, addr}]
	return l != nil && l.sure && !l.unknown && len(l.exits) == 1 && l.exits[0].piece == i
}

// calls returns the targets of the calls in a piece, 0 for others.
func (p *piece) calls() (targets []uint64) {
	for k := range p.insts {
		if p.insts[k].kind == calls {
			targets = append(targets, p.insts[k].target)
		}
	}
	return targets
}

// calling reports whether the last instruction of a piece is a call.
func (p *piece) calling() bool { return p.insts[len(p.insts)-1].kind == calls }

// record marks the pieces that ran, and those whose end was reached: another block ran, and all ways to it through
// pieces that ran lead through that end.
func (fl *flow) record(f *prof.Func, c *prof.Counts) {
	n := len(fl.pieces)
	fl.counts = c
	for i := range fl.pieces {
		p := &fl.pieces[i]
		p.ran = blockRuns(c, p.block) > 0 || !f.Mode.HasBlocks() && c.Runs > 0
	}
	if !f.Mode.HasBlocks() {
		return
	}
	root := n
	succs, preds := make([][]int, n+1), make([][]int, n+1)
	edge := func(from, to int) {
		succs[from], preds[to] = append(succs[from], to), append(preds[to], from)
	}
	for i := range fl.pieces {
		if !fl.pieces[i].ran {
			continue
		}
		// What nothing that ran leads to is entered from outside, such as by an exception. So may be what is behind
		// a call at the end of a block: the call may be one that does not return.
		outside := i == 0
		led := false
		for _, p := range fl.preds[i] {
			from := &fl.pieces[p]
			led = led || from.ran
			outside = outside || from.ran && from.calling() && p == i-1
		}
		if outside || !led {
			edge(root, i)
		}
		for _, s := range fl.pieces[i].succs {
			if fl.pieces[s].ran {
				edge(i, s)
			}
		}
	}
	idom, _ := domtree.Of(root, succs, preds)
	for i := range fl.pieces {
		block := fl.pieces[i].block
		for d := idom[i]; d >= 0 && d != root; d = idom[d] {
			if fl.pieces[d].passed {
				break
			}
			if fl.pieces[d].block != block {
				fl.pieces[d].passed = true
			}
		}
	}
}
