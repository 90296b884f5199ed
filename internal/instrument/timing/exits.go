package timing

import (
	"bytes"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/arm"
)

// Problem: the stamp of a function's entry must be checked wherever the function is left, and nowhere else. A
// missed exit loses a call; an exit without an entry, or an internal jump mistaken for one, would read the
// stamp of another call. Example, from gcc: jmp *%rax is a switch in one function and the last call of the
// next.
//
// Choice: read each instruction of the body again, with the compiler's comment after it. gcc -dp names the
// pattern of each instruction (*sibcall_value, *tablejump_1), clang marks the jumps of tail calls with
// TAILCALL. Where that is missing the operand must decide, or the function is left alone and the reason
// reported.
//
// A function that ends in a call that does not return, a trap or an endless loop has no exit there. A frame that
// an exception or a longjmp unwinds has no exit either.

// body is the code that runs in one frame: a function with its cold fragments.
type body struct {
	fn      *asm.Function
	name    string
	frags   []*asm.Fragment // the first has the entry
	insns   []bodyInsn
	succs   [][]int // by block, through all fragments; the last is of none, and leads to all labels that computed jumps may go to
	exits   []exit
	refused string      // why it cannot be timed; "" if it can
	rep     bool        // it has a string instruction that repeats
	live    regSet      // at the entry
	leaves  []departure // of COFF: where the exits are checked
	timed   bool        // it has probes
	id      string      // of COFF in mode trace: the label by which events name it
}

// bodyInsn is an instruction, or a line of inline assembly.
type bodyInsn struct {
	frag    int
	at      int // offset of its line
	block   int // among those of the body, or -1
	app     bool
	word    string
	rest    []byte // operands, without the comment
	comment []byte
	flow    asm.Flow
	target  []byte
	effect  effect
}

// exit is a place where a body is left.
type exit struct {
	insn  int    // the instruction that leaves
	leave string // its text in a stub
	cond  string // the mnemonic of the jump to the code of a conditional exit, or ""
	whole bool   // that code replaces the instruction, which may be in an IT block of Armv7
	keep  regSet // which of r10 and r11 it needs
}

// inPlace reports whether the code of an exit is in front of the instruction that leaves, or replaces it.
func (e *exit) inPlace() bool { return e.cond == "" || e.whole }

// Reasons to leave a body alone in timed modes.
const (
	RefuseIndirect  = "an indirect jump that may leave the function"
	RefuseElsewhere = "a jump into the middle of another function"
	RefuseForm      = "an exit of an unknown form"
	RefuseKernel    = "a return from an interrupt or a system call"
	RefuseStack     = "it switches stacks"
	RefuseThunk     = "it calls into itself, as inline thunks for indirect branches do"
	RefuseShort     = "a branch with limited range, over an exit"
	RefuseOutlined  = "it shares a frame with code that was outlined"
	RefuseSleds     = "XRay overwrites its entry and its exits"
	RefuseRegisters = "its calls use a special calling convention"
)

// bodyOf returns the body of fn with its exits.
func (t *timer) bodyOf(fn *asm.Function) *body {
	b := &body{fn: fn, name: fn.Name, frags: fn.Frags}
	t.read(b)
	return b
}

func (b *body) refuse(why string) {
	if b.refused == "" {
		b.refused = why
	}
}

// read fills in the instructions of b, the graph of its blocks and its exits.
func (t *timer) read(b *body) {
	index := map[string]int{} // label -> block
	n := 0
	starts := make([]int, len(b.frags))
	for i, f := range b.frags {
		starts[i] = n
		if i > 0 {
			index[f.Name] = n
		}
		for _, l := range f.Labels {
			index[string(l.Name)] = n + l.Block
			if l.Block >= len(f.Blocks) {
				index[string(l.Name)] = -1 // no code after it: it is never jumped to
			}
		}
		if t.Unit.Kind == machine.Arm { // labels in front of literals begin no blocks; clang jumps there behind calls that do not return
			for _, l := range arm.Of(f).Places {
				if _, ok := index[l.Name]; !ok {
					index[l.Name] = -1
				}
			}
		}
		n += len(f.Blocks)
	}
	b.succs = make([][]int, n+1)
	for label, to := range index {
		if t.Unit.Taken[label] && to >= 0 {
			b.succs[n] = append(b.succs[n], to)
		}
	}
	if f := b.frags[0]; len(f.Blocks) > 1 && !f.Blocks[0].Used {
		b.succs[0] = []int{1} // a label at the entry: it is a block without code
	}
	for i, f := range b.frags {
		for k := range f.Lines {
			b.insns = append(b.insns, t.parse(&f.Lines[k], i, starts[i]))
		}
	}
	for i := range b.insns {
		t.visit(b, i, index)
	}
	b.checkShort(index)
}

// parse reads a line of code again.
func (t *timer) parse(l *asm.CodeLine, frag, start int) bodyInsn {
	in := bodyInsn{frag: frag, at: int(l.At), block: -1, app: l.App}
	if l.Block >= 0 {
		in.block = start + int(l.Block)
	}
	text := bytes.TrimRight(t.Unit.Src[l.At:l.Next], "\r\n")
	if l.App {
		in.rest = text
		in.effect = effect{use: t.on.mentioned(text)}
		return in
	}
	s := t.Unit.ParseLine(text)
	in.word = string(s.Word)
	in.rest, in.comment, _ = bytes.Cut(s.Rest, []byte(t.on.comment()))
	in.rest = bytes.TrimSpace(in.rest)
	if t.isMachO() {
		_, in.comment, _ = bytes.Cut(text, []byte("##"))
	}
	in.flow, in.target = t.Unit.Machine.Classify(s.Word, s.Rest)
	in.effect = t.on.effects(in.word, in.rest)
	return in
}

// visit adds the effect of instruction i on the graph and the exits.
func (t *timer) visit(b *body, i int, index map[string]int) {
	in := &b.insns[i]
	if in.block >= 0 && (i+1 == len(b.insns) || b.insns[i+1].block != in.block) {
		b.fallThrough(in, i)
	}
	if in.app {
		asm.LocalNames(in.rest, func(name []byte, _, _ int) { b.edgeTo(in, index, string(name)) })
		return
	}
	switch in.word {
	case "rep", "repz", "repe", "repnz", "repne":
		b.rep = b.rep || in.flow != asm.FlowEnd
	}
	switch in.flow {
	case asm.FlowCall:
		t.visitCall(b, in)
	case asm.FlowBranch, asm.FlowShort:
		if !b.edgeTo(in, index, string(in.target)) {
			t.visitConditional(b, i)
		}
	case asm.FlowJump:
		if !b.edgeTo(in, index, t.Unit.Machine.Callee(in.target)) {
			t.visitJump(b, i, index)
		}
	case asm.FlowEnd:
		t.visitEnd(b, i)
	case asm.FlowNext:
		if hidesFlow(in.word, in.rest) {
			b.refuse(RefuseForm)
		}
	}
}

// fallThrough adds the edge from the block that ends with in to the next.
func (b *body) fallThrough(in *bodyInsn, i int) {
	if in.flow == asm.FlowJump || in.flow == asm.FlowEnd && !in.app {
		return
	}
	if i+1 < len(b.insns) && b.insns[i+1].frag == in.frag && b.insns[i+1].block == in.block+1 {
		b.succs[in.block] = append(b.succs[in.block], in.block+1)
	}
}

// edgeTo adds the edge to a label of the body and reports whether name is one.
func (b *body) edgeTo(in *bodyInsn, index map[string]int, name string) bool {
	to, ok := index[name]
	if ok && in.block >= 0 && to >= 0 {
		b.succs[in.block] = append(b.succs[in.block], to)
	}
	return ok
}

func (t *timer) visitCall(b *body, in *bodyInsn) {
	name := t.Unit.Machine.Callee(in.target)
	switch {
	case asm.IsLocal([]byte(name)):
		b.refuse(RefuseThunk)
	case name == "__morestack" || name == "__morestack_non_split":
		b.refuse(RefuseStack)
	case name == "mcount" || name == "_mcount" || name == "__fentry__":
		in.effect = effect{} // it keeps all registers
	default:
		in.effect = t.on.called(in, name)
	}
}

// visitConditional adds the exit of a conditional branch to another function, or of a conditional return.
func (t *timer) visitConditional(b *body, i int) {
	in := &b.insns[i]
	name := t.Unit.Machine.Callee(in.target)
	e, ok := t.on.conditional(in)
	switch {
	case in.word == "xbegin", ok && e.cond == "":
	case in.flow == asm.FlowShort || !ok || name == "" && len(in.target) > 0:
		b.refuse(RefuseForm)
	case asm.IsLocal([]byte(name)) && t.aliases[name] == "":
		b.refuse(RefuseElsewhere)
	default:
		in.effect.callee, in.effect.tail = name, name != ""
		e.insn = i
		if t.isMachO() {
			e.leave = "jmp\t" + string(t.spelled(in, in.target))
		}
		b.exits = append(b.exits, e)
	}
}

// visitJump adds the exit of a jump that does not go to a label of the body.
func (t *timer) visitJump(b *body, i int, index map[string]int) {
	in := &b.insns[i]
	name := t.Unit.Machine.Callee(in.target)
	switch {
	case name == "__x86_return_thunk":
		t.leave(b, i, "jmp\t__x86_return_thunk")
		return
	case name == "" || strings.HasPrefix(name, "__x86_indirect_thunk") || strings.HasPrefix(name, "__llvm_retpoline"):
		tail, known := t.on.isTail(t, b, i)
		if !known {
			b.refuse(RefuseIndirect)
			return
		}
		if !tail {
			in.effect.use |= t.on.mentioned(in.rest) | thunkRegister(name)
			if in.block >= 0 {
				b.succs[in.block] = append(b.succs[in.block], len(b.succs)-1)
			}
			return
		}
		in.effect = effect{use: t.on.mentioned(in.rest) | thunkRegister(name) | regRAX, tail: true}
	case asm.IsLocal([]byte(name)) && t.aliases[name] == "":
		b.refuse(RefuseElsewhere)
		return
	default:
		in.effect = effect{callee: name, tail: true}
	}
	if belowStack(in.rest) {
		b.refuse(RefuseForm)
	}
	t.leave(b, i, t.instructionText(in))
}

// visitEnd adds the exit of a return.
func (t *timer) visitEnd(b *body, i int) {
	in := &b.insns[i]
	switch {
	case t.Unit.Machine.IsTrap([]byte(in.word)):
	case t.on.isReturn(in):
		t.leave(b, i, t.instructionText(in))
	default:
		b.refuse(RefuseKernel)
	}
}

// leave adds an exit before instruction i, which is text without its comment.
func (t *timer) leave(b *body, i int, text string) {
	in := &b.insns[i]
	if i+1 < len(b.insns) && b.insns[i+1].word == "int3" && b.insns[i+1].frag == in.frag {
		text += "\n\tint3" // prevents speculation past the jump
	}
	if i > 0 && t.on.movesStack(&b.insns[i-1]) {
		b.refuse(RefuseStack)
	}
	b.exits = append(b.exits, exit{insn: i, leave: text})
}

// instructionText returns an instruction without its comment.
func (t *timer) instructionText(in *bodyInsn) string {
	if len(in.rest) == 0 {
		return in.word
	}
	return in.word + "\t" + string(t.spelled(in, in.rest))
}

// checkShort refuses a body with a branch of short reach over an insertion.
func (b *body) checkShort(index map[string]int) {
	first := map[int]int{} // block -> offset of its first instruction
	for i := range b.insns {
		in := &b.insns[i]
		if _, ok := first[in.block]; !ok {
			first[in.block] = in.at
		}
	}
	for i := range b.insns {
		in := &b.insns[i]
		if in.flow != asm.FlowShort || in.app {
			continue
		}
		to, ok := first[index[string(in.target)]]
		if !ok {
			b.refuse(RefuseShort)
		}
		for _, e := range b.exits {
			if at := b.insns[e.insn].at; at >= min(in.at, to) && at <= max(in.at, to) {
				b.refuse(RefuseShort)
			}
		}
	}
}

// hasLoop reports whether the graph has a cycle reachable from the entry, or a string instruction repeats.
func (b *body) hasLoop() bool {
	if b.rep {
		return true
	}
	const (
		open = 1
		done = 2
	)
	state := make([]uint8, len(b.succs))
	type frame struct{ node, next int }
	stack := []frame{{node: 0}}
	state[0] = open
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(b.succs[top.node]) {
			state[top.node] = done
			stack = stack[:len(stack)-1]
			continue
		}
		to := b.succs[top.node][top.next]
		top.next++
		switch state[to] {
		case open:
			return true
		case 0:
			state[to] = open
			stack = append(stack, frame{node: to})
		}
	}
	return false
}

// size returns the number of instructions.
func (b *body) size() (n int) {
	for _, f := range b.frags {
		n += f.Insns
	}
	return n
}
