package timing

import (
	"bytes"
	"strings"
)

// analyse computes which registers are live at the entry of each body, and what its tail calls need. A call may
// read the caller's r10: nested functions pass the frame that they share on to each other. So liveness at the
// entry of one body depends on other bodies, and the least solution is found by iteration.
func (t *timer) analyse() {
	t.live = map[string]regSet{}
	for changed := true; changed; {
		changed = false
		for _, b := range t.all {
			live := t.liveAtEntry(b)
			if live != b.live {
				b.live, changed = live, true
				t.live[b.name] = live
			}
		}
	}
	for _, b := range t.all {
		for i := range b.exits {
			in := &b.insns[b.exits[i].insn]
			if in.effect.tail {
				b.exits[i].keep = t.kept(b, in)
			}
		}
	}
}

// liveAtEntry solves the backward data flow over the blocks of b.
func (t *timer) liveAtEntry(b *body) regSet {
	gen := make([]regSet, len(b.succs))
	kill := make([]regSet, len(b.succs))
	for i := len(b.insns) - 1; i >= 0; i-- {
		in := &b.insns[i]
		if in.block < 0 {
			continue
		}
		use := in.effect.use | t.calleeReads(&in.effect)
		gen[in.block] = gen[in.block]&^in.effect.kill | use
		kill[in.block] |= in.effect.kill
	}
	live := make([]regSet, len(b.succs))
	for changed := true; changed; {
		changed = false
		for k := len(b.succs) - 1; k >= 0; k-- {
			out := regSet(0)
			for _, s := range b.succs[k] {
				out |= live[s]
			}
			if now := gen[k] | out&^kill[k]; now != live[k] {
				live[k], changed = now, true
			}
		}
	}
	return live[0]
}

// calleeReads returns the registers that the callee or jump target of an instruction may read unchanged from
// this function. A compiler sets al before it calls a variadic function, so only a tail call passes on the
// incoming value.
func (t *timer) calleeReads(e *effect) (out regSet) {
	if e.callee == "" {
		return 0
	}
	if t.mayHaveChain(e.callee) {
		out |= regR10
	}
	out |= t.live[t.resolve(e.callee)] & regR11
	if e.tail && (t.global[t.resolve(e.callee)] || !t.known(e.callee) || t.live[t.resolve(e.callee)].has(regRAX)) {
		out |= regRAX
	}
	return out
}

// mayHaveChain reports whether a function may read r10 as a static chain. A
// nested function has a name with a dot; other units have them only when a
// program is compiled as one and cut apart again.
func (t *timer) mayHaveChain(name string) bool {
	name = t.resolve(name)
	if t.known(name) {
		return t.live[name].has(regR10)
	}
	return strings.Contains(name, ".")
}

// kept returns which of r10 and r11 the target of a tail call needs: those that its operand names, and r10 if
// it may be a static chain. For a computed target it may be one if anything in the body names r10.
func (t *timer) kept(b *body, in *bodyInsn) regSet {
	keep := t.on.mentioned(in.rest) | thunkRegister(t.Unit.Machine.Callee(in.target))
	if in.effect.callee != "" {
		keep |= t.calleeReads(&in.effect)
	}
	for i := 0; in.effect.callee == "" && i < len(b.insns); i++ {
		keep |= t.on.mentioned(b.insns[i].rest) & regR10
	}
	return keep & (regR10 | regR11 | regX16)
}

// resolve follows the names that .set gives to functions.
func (t *timer) resolve(name string) string {
	for range 8 {
		to := t.aliases[name]
		if to == "" {
			return name
		}
		name = to
	}
	return name
}

// known reports whether a function is one of the unit.
func (t *timer) known(name string) bool { return t.names[t.resolve(name)] }

// readsR11 reports whether r11 seems to hold an argument, as it can in functions of regcall and preserve_none.
// A possible read before a write is not sufficient: a variable that is set and read under one condition has
// that too, and SQLite has three of them. An argument is read in the first block, or together with arguments in
// registers that are callee-saved in all other conventions.
func (b *body) readsR11() bool {
	if !b.live.has(regR11) {
		return false
	}
	saved, named := map[string]bool{}, map[string]bool{}
	written := false
	for i := range b.insns {
		in := &b.insns[i]
		if in.block == 0 && !written {
			if in.effect.use.has(regR11) {
				return true
			}
			written = in.effect.kill.has(regR11) || in.effect.callee != ""
		}
		for _, reg := range [...]string{"%r12", "%r13", "%r14", "%r15"} {
			switch {
			case !bytes.Contains(in.rest, []byte(reg)):
			case strings.HasPrefix(in.word, "push"), strings.HasPrefix(in.word, "mov") && bytes.HasPrefix(in.rest, []byte(reg+",")):
				saved[reg] = true
			default:
				named[reg] = true
			}
		}
	}
	for reg := range named {
		if !saved[reg] {
			return true
		}
	}
	return false
}
