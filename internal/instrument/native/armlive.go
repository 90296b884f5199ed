package native

import (
	"bytes"
	"strconv"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Problem: the probe of a block needs one or two registers, and inside a function any may be live.
//
// Choice: as for AArch64 (aarch64live.go), liveness of the registers that a function may change, over the flow
// graph: r0 to r3, ip and lr. A register counts as read unless it is known to be overwritten first, and so do
// all that a conditional instruction may overwrite. A call is assumed to read r0 to r3, and to overwrite only
// ip and lr; ip is the static chain of a nested function, whose name has a dot. The flags need no analysis: a
// probe of a block does not change them. Where too few registers are free, one or two are saved on the stack.

// armSet is a set of registers: bit n is rn.
type armSet uint16

const (
	armIP      armSet = 1 << 12
	armLR      armSet = 1 << 14
	armArgs    armSet = 1<<4 - 1
	armTracked        = armArgs | armIP | armLR
)

// armOrder is the order in which probes use registers: low ones give short instructions.
var armOrder = [...]int{3, 2, 1, 0, 12, 14}

var armNames = map[string]int{
	"ip": 12, "sp": 13, "lr": 14, "pc": 15, "fp": 11, "sl": 10, "sb": 9,
	"a1": 0, "a2": 1, "a3": 2, "a4": 3, "v1": 4, "v2": 5, "v3": 6, "v4": 7, "v5": 8, "v6": 9, "v7": 10, "v8": 11,
}

func armName(n int) string {
	switch n {
	case 12:
		return "ip"
	case 14:
		return "lr"
	}
	return "r" + strconv.Itoa(n)
}

// armRegister returns the number of a register.
func armRegister(name []byte) (int, bool) {
	if n, ok := armNames[string(name)]; ok {
		return n, true
	}
	if len(name) < 2 || len(name) > 3 || name[0] != 'r' {
		return 0, false
	}
	n, err := strconv.Atoi(string(name[1:]))
	return n, err == nil && n >= 0 && n < 16
}

func isArmRegister(name []byte) bool {
	_, ok := armRegister(name)
	return ok
}

// armRegisters returns the registers that a text names, those of ranges such as r4-r7 included.
func armRegisters(text []byte) (out armSet) {
	from := -1 // of a range
	for i := 0; i < len(text); {
		if !asm.SymbolByte[text[i]] {
			if c := text[i]; c != '-' && c != ' ' && c != '\t' {
				from = -1
			}
			i++
			continue
		}
		n := asm.WordEnd(text, i)
		reg, ok := armRegister(bytes.ToLower(text[i:n]))
		switch {
		case !ok:
			from = -1
		case from >= 0 && bytes.IndexByte(text[:i], '-') >= 0:
			for r := from; r <= reg; r++ {
				out |= 1 << r
			}
			from = -1
		default:
			out |= 1 << reg
			from = reg
		}
		i = n
	}
	return out
}

// armOne returns the register that an operand consists of.
func armOne(op []byte) armSet {
	if n, ok := armRegister(op); ok {
		return 1 << n
	}
	return 0
}

// armPlaces returns the places of the probes of the blocks of fn.
func (r *rewriter) armPlaces(fn *asm.Function, implied [][]int) *armBlocks {
	live := r.liveArm(fn).in
	b := &armBlocks{places: make([]armPlace, len(implied))}
	first := 0
	for _, f := range fn.Frags {
		for i := range f.Blocks {
			p := &b.places[first+i]
			p.thumb, p.free = armOf(f).thumb, armTracked&^live[asm.Nodes+first+i]
			if _, live := p.register(); live {
				p.unwind = f.Unwind && cfaOnStack(r.unit.Src[f.Label:max(f.Label, f.Blocks[i].Probe)], "13", "sp")
			}
		}
		first += len(f.Blocks)
	}
	return b
}

// armLive is what is live at the beginning of each node of a function's flow graph.
type armLive struct {
	in       []armSet
	succs    [][]int
	anywhere []bool // it may go to any block that node 0 leads to
}

// out returns what is live at the end of a node.
func (l *armLive) out(node int) (out armSet) {
	for _, s := range l.succs[node] {
		out |= l.in[s]
	}
	if l.anywhere[node] {
		out |= l.in[asm.NodeIn]
	}
	return out
}

// liveArm solves the backward data flow.
func (r *rewriter) liveArm(fn *asm.Function) *armLive {
	g := fn.FlowGraph(r.unit.Taken, r.unit.Returns)
	n := len(g.Succs)
	l := &armLive{in: make([]armSet, n), succs: g.Succs, anywhere: make([]bool, n)}
	gen, kill := make([]armSet, n), make([]armSet, n)
	node := asm.Nodes
	for _, f := range fn.Frags {
		for i := len(f.Lines) - 1; i >= 0; i-- {
			line := &f.Lines[i]
			if line.Block < 0 {
				continue
			}
			k := node + int(line.Block)
			use, dead := armEffect(r.unit.Src[line.At:line.Next], line.App)
			gen[k] = gen[k]&^dead | use
			kill[k] |= dead
			l.anywhere[k] = l.anywhere[k] || line.App
		}
		for i := range f.Blocks {
			b := &f.Blocks[i]
			l.anywhere[node+i] = l.anywhere[node+i] || b.Last == asm.FlowJump && b.Target == nil
		}
		node += len(f.Blocks)
	}
	l.in[asm.NodeOut] = armArgs
	for changed := true; changed; {
		changed = false
		for k := n - 1; k >= asm.Nodes; k-- {
			if now := gen[k] | l.out(k)&^kill[k]; now != l.in[k] {
				l.in[k], changed = now, true
			}
		}
		for _, s := range g.Succs[asm.NodeIn] {
			l.in[asm.NodeIn] |= l.in[s]
		}
	}
	return l
}

// armEffect returns the registers that a line reads, and those that it overwrites without reading them. Inline
// assembly need not name its inputs, and neither does a system call.
func armEffect(line []byte, app bool) (use, kill armSet) {
	line = armCode(bytes.TrimRight(line, "\r\n"))
	s := asm.ParseLine(line)
	if app || s.Kind != asm.LineInsn || armSystem(s.Word) {
		return armTracked, 0
	}
	use, kill = armInsn(strings.TrimSuffix(strings.TrimSuffix(string(s.Word), ".w"), ".n"), s.Rest)
	return use & armTracked, kill & armTracked
}

// armSystem reports whether an instruction calls the system, or a higher exception level.
func armSystem(word []byte) bool {
	for _, name := range []string{"svc", "swi", "hvc", "smc"} {
		if bytes.HasPrefix(word, []byte(name)) {
			return true
		}
	}
	return false
}

func armInsn(word string, rest []byte) (use, kill armSet) {
	ops := armOperands(rest)
	all := armRegisters(armCode(rest))
	if base, cond, ok := armWord(word, "blx", "bx", "bl", "b"); ok {
		return armTransfer(base, cond, ops, all)
	}
	if bytes.IndexByte(rest, ';') >= 0 || len(ops) == 0 {
		return all, 0
	}
	all |= armPaired(word, ops)
	first := armOne(ops[0])
	rest3 := armRegisters(bytes.Join(ops[1:], []byte(",")))
	plain := word
	if !strings.HasPrefix(word, "ldr") { // ldrhs is ldr in the condition hs
		plain = strings.TrimSuffix(word, "s")
	}
	switch {
	case word == "pop":
		list := armRegisters(ops[0])
		return returned(list) &^ list, list
	case len(ops) == 2 && (word == "ldm" || word == "ldmia" || word == "ldmfd" || word == "ldmdb" || word == "ldmib"):
		list := armRegisters(ops[1])
		return armRegisters(ops[0]) | returned(list)&^list, list
	case len(ops) >= 3 && armOne(ops[1]) != 0 && (word == "ldrd" || word == "ldrexd"):
		return armRegisters(bytes.Join(ops[2:], []byte(","))), first | armOne(ops[1])
	case len(ops) == 4 && (plain == "umull" || plain == "smull"):
		return armRegisters(ops[2]) | armRegisters(ops[3]), first | armOne(ops[1])
	case word == "vmov" && len(ops) == 3 && first != 0 && armOne(ops[1]) != 0:
		return 0, first | armOne(ops[1])
	case armPure()[word], armPure()[plain] && len(ops) == 2, armThree()[plain] && len(ops) >= 3, armThree()[word] && len(ops) >= 3:
		if first&(1<<15) != 0 {
			return armTracked, 0 // a jump to anywhere
		}
		return rest3, first
	}
	return all, 0
}

// armPaired returns the second register of a paired store or load that names only the first: gcc writes strd
// r2, [sp] for r2 and r3.
func armPaired(word string, ops [][]byte) armSet {
	first := -1
	switch {
	case strings.HasPrefix(word, "strexd"):
		first = 1
	case strings.HasPrefix(word, "strd"), strings.HasPrefix(word, "ldrd"), strings.HasPrefix(word, "ldrexd"):
		first = 0
	}
	if first < 0 || len(ops) <= first+1 || armOne(ops[first+1]) != 0 {
		return 0
	}
	return armOne(ops[first]) << 1
}

// armTransfer is armInsn for calls and jumps.
func armTransfer(base, cond string, ops [][]byte, all armSet) (use, kill armSet) {
	named := len(ops) > 0 && !isArmRegister(ops[0])
	switch {
	case base == "bl" || base == "blx":
		use = armArgs | all
		if !named || bytes.IndexByte(ops[0], '.') >= 0 {
			use |= armIP
		}
		if cond == "" {
			kill = armIP | armLR
		}
		return use, kill
	case named && asm.IsLocal(ops[0]):
		return 0, 0
	case named: // a tail call
		use = armArgs | armLR
		if bytes.IndexByte(ops[0], '.') >= 0 {
			use |= armIP
		}
		return use, 0
	case len(ops) == 1 && string(ops[0]) == "lr":
		return armArgs | armLR, 0
	}
	return armTracked, 0
}

// returned returns the registers that are read after a load of these registers: if it loads the program
// counter, the return values.
func returned(loaded armSet) armSet {
	if loaded&(1<<15) != 0 {
		return armArgs
	}
	return 0
}

// armPure write their first operand without reading it. Those that end in s set flags as well.
var armPure = armWords("mov mvn movw neg cpy adr mrs clz rbit rev rev16 revsh uxtb uxth sxtb sxth uxtb16 sxtb16 ldr ldrb ldrh ldrsb ldrsh ldrex ldrexb ldrexh ldrt ldrbt lda ldab ldah vmov")

// armThree have this property with three operands; with two, they also read the first.
var armThree = armWords("add addw sub subw rsb and orr orn eor bic adc sbc rsc lsl lsr asr ror mul mla mls udiv sdiv ubfx sbfx" +
	" uxtab uxtah sxtab sxtah smmul smmla smulbb smulbt smultb smultt smlabb pkhbt pkhtb sel usat ssat qadd qsub uadd8 usub8 uadd16 usub16")

func armWords(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		words := map[string]bool{}
		for word := range strings.FieldsSeq(list) {
			words[word] = true
		}
		return words
	})
}
