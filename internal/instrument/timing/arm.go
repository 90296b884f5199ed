package timing

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/arm"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/prof"
)

// armTiming implements timing for Armv7: trace_arm.S and tree_enter_arm.S document the code.
//
// The code of an event preserves all registers, so that no liveness is needed, and has no stubs. A conditional exit, popne
// {r4, pc}, is replaced as a whole, as it may be the last instruction of an IT block, in which nothing can be inserted:
//
//	        bne     1f
//	        b       2f
//	1:      push    {r0, lr}
//	        adr     r0, F + KIND
//	        bl      __cairn_trace_event
//	        pop     {r0, lr}
//	        pop     {r4, pc}
//	2:
type armTiming struct{}

// Routines of the runtime that store an event.
const (
	armEvent = "__cairn_trace_event"
	armStack = "__cairn_trace_stack"
	armLeft  = "__cairn_trace_left"
)

// armTraced is the most that the code of an event takes, beside a conditional exit that it replaces and behind a call that
// returns twice; armDeepTraced is that of mode trace with --depth.
const (
	armTraced     = 48
	armDeepTraced = 72
	armTailed     = 5 // times of that for a jump that becomes a call
)

// armNear is the most bytes of a function in the Thumb state whose code can take the address of its start by adr.
const armNear = 4000

func (armTiming) comment() string { return "@" }

func (armTiming) effects(string, []byte) effect { return effect{} }

func (armTiming) mentioned([]byte) regSet { return 0 }

func (armTiming) called(_ *bodyInsn, callee string) effect { return effect{callee: callee} }

func (armTiming) isReturn(in *bodyInsn) bool {
	return !strings.HasPrefix(in.word, "rfe") && in.word != "eret"
}

// isTail uses the names of gcc's patterns, which are at the first of the instructions of a pattern. Clang has none: bx is its
// tail call, and its jump to a label only where one has its address taken.
func (armTiming) isTail(t *timer, b *body, i int) (tail, known bool) {
	in := &b.insns[i]
	switch word := strings.TrimSuffix(in.word, ".w"); {
	case word == "tbb" || word == "tbh":
		return false, true
	case word == "bx" && t.clang && t.takesBlocks(b) && !arm.Of(b.frags[0]).Thumb: // where it is mov
		return b.leavesBlocks(i)
	case word == "bx" && t.clang:
		tail = !slices.ContainsFunc(b.frags, func(f *asm.Fragment) bool {
			return slices.ContainsFunc(f.Labels, func(l asm.BlockLabel) bool { return t.Unit.Taken[string(l.Name)] })
		})
		return tail, tail
	case t.clang:
		return false, word == "mov" || word == "ldr" || word == "add"
	}
	for k := i; k >= 0 && b.insns[k].frag == in.frag; k-- {
		switch pattern := b.insns[k].comment; {
		case bytes.Contains(pattern, []byte("sibcall")):
			return true, true
		case bytes.Contains(pattern, []byte("casesi")), bytes.Contains(pattern, []byte("tablejump")), bytes.Contains(pattern, []byte("indirect_jump")):
			return false, true
		case bytes.IndexByte(pattern, '[') >= 0:
			return false, false
		}
	}
	return false, false
}

// conditional has the conditional jump to another function, and the return. A jump by a table stays in the body.
func (armTiming) conditional(in *bodyInsn) (exit, bool) {
	ops := arm.Operands(in.rest)
	if len(ops) > 1 && string(ops[0]) == "pc" && bytes.HasPrefix(bytes.TrimPrefix(ops[1], []byte("[")), []byte("pc")) {
		return exit{}, true
	}
	base, cond, ok := arm.Condition(in.word)
	if !ok || cond == "" {
		return exit{}, false
	}
	if flow, _ := (arm.Machine{}).Classify([]byte(base), in.rest); len(in.target) == 0 && flow != asm.FlowEnd {
		return exit{}, false
	}
	return exit{leave: base + "\t" + string(in.rest), cond: "b" + cond, whole: true}, true
}

func (armTiming) movesStack(*bodyInsn) bool { return false }

func (armTiming) scratch(string) bool { return false }

// sharesFrame recognizes functions that clang outlines at -Oz, and those that end in one: the flags may be in use there.
func (armTiming) sharesFrame(_ *timer, b *body) bool {
	const outlined = "OUTLINED_FUNCTION_"
	return strings.HasPrefix(b.name, outlined) || slices.ContainsFunc(b.exits, func(e exit) bool {
		return strings.HasPrefix(b.insns[e.insn].effect.callee, outlined)
	})
}

func (armTiming) reach(t *timer, b *body) bool {
	var edits []probe.Edit
	room := armTraced
	if t.Opts.Mode == prof.ModeTrace && t.Opts.Depth > 0 {
		room = armDeepTraced
	}
	t.place.far, t.place.chain = len(b.frags) > 1, t.armChain(b)
	for i, f := range b.frags {
		inserted := []asm.Pad{{At: f.Probe, Size: room}, {At: f.End, Size: armNamed}}
		add := func(at int) {
			if at >= f.Label && at <= f.End {
				inserted = append(inserted, asm.Pad{At: at, Size: room})
			}
		}
		for k := range b.insns {
			if in := &b.insns[k]; in.frag == i && leavesStack(in) {
				add(in.at)
				add(t.lineEnd(in.at))
			}
		}
		for _, e := range b.exits {
			in := &b.insns[e.insn]
			if in.frag != i {
				continue
			}
			add(in.at)
			if in.effect.tail && changesStack(in.effect.callee) {
				for range armTailed {
					add(in.at)
				}
			}
		}
		for _, a := range t.arrivals(b) {
			add(a.at)
			if a.changed {
				add(a.call)
				add(a.at)
			}
		}
		more, size, ok := t.ReachArm(f, inserted)
		if !ok {
			return false
		}
		edits = append(edits, more...)
		t.place.far = t.place.far || size > armNear || !arm.Of(f).Thumb
	}
	t.Edits = append(t.Edits, edits...)
	return true
}

func (armTiming) again(t *timer, a arrival, code string) string {
	if !a.again {
		return code
	}
	first := t.NewLabel()
	return "\tcmp\tr0, #0\n\tbeq\t" + first + "\n" + code + first + ":\n"
}

// armChain reports whether ip may have a value for another function at any event of a body: at the entry, as in nested functions of
// GNU C, if the body names ip or calls such a function; or at a jump to a computed address.
func (t *timer) armChain(b *body) bool {
	names := slices.ContainsFunc(b.insns, func(in bodyInsn) bool { return t.armIP(in.at) })
	computed := slices.ContainsFunc(b.exits, func(e exit) bool { in := &b.insns[e.insn]; return in.effect.tail && in.effect.callee == "" })
	return names && (computed || arm.Live(t.Unit, b.fn).In[asm.Nodes]&arm.IP != 0)
}

// armIP reports whether the line at an offset names ip, or leaves for a function that may read it: nested ones have a name with a dot.
func (t *timer) armIP(at int) bool {
	line := arm.Code(t.Unit.Src[at:t.lineEnd(at)])
	s := t.Unit.ParseLine(bytes.TrimSpace(line))
	if len(s.Word) == 0 { // a label or a comment
		return false
	}
	flow, target := t.Unit.Machine.Classify(s.Word, s.Rest)
	leaves := flow == asm.FlowJump || flow == asm.FlowBranch || flow == asm.FlowCall
	return arm.Registers(line)&arm.IP != 0 || leaves && !asm.IsLocal(target) && bytes.IndexByte(target, '.') > 0
}

// armCall returns the call of a routine at an offset, with what sets r0 for it.
func (t *timer) armCall(at int, argument, routine string) string {
	return t.armFramed(at, argument+t.armBranch(at, routine))
}

// armFramed returns code that may change r0 and lr, and keeps them.
func (t *timer) armFramed(at int, code string) string {
	down, up := "", ""
	if t.armAdjusts(at) {
		down, up = "\t.cfi_adjust_cfa_offset 8\n", "\t.cfi_adjust_cfa_offset -8\n"
	}
	return "\tpush\t{r0, lr}\n" + down + code + "\tpop\t{r0, lr}\n" + up
}

// armAdjusts reports whether the CFA is relative to the stack pointer at an offset.
func (t *timer) armAdjusts(at int) bool {
	f := t.fragmentAt(at)
	return f != nil && f.Unwind && asm.CFAOnStack(t.Unit.Src[f.Label:max(f.Label, at)], "13", "sp")
}

// armBranch returns the call itself.
//
// In a program with more than 16 MiB of code it may go through a linker's veneer, which changes ip. Where that may be in use, in
// front of a jump to its value and in nested functions, the routine is called by its address.
func (t *timer) armBranch(at int, routine string) string {
	if !t.place.chain && !t.armIP(at) {
		return "\tbl\t" + routine + "\n"
	}
	f := t.fragmentAt(at)
	return arm.Address(f == nil || arm.Of(f).Thumb, "lr", routine, t.NewLabel()) + "\tblx\tlr\n"
}

func (m armTiming) record(t *timer, e traceEvent, b *body, _ *stubText) string {
	what := e.id + "+" + strconv.Itoa(e.kind)
	if t.Opts.Depth == 0 {
		return t.armCall(e.at, m.named(t, e.at, what), armEvent)
	}
	routine, distance, skip := traceUpper, 0, t.NewLabel()
	switch e.kind {
	case wire.EventEnter:
		routine = traceDeeper
	case wire.EventExit, wire.EventTailExit:
		distance, _ = armDistance(t.place.leave)
	}
	return t.armFramed(e.at, "\tmov\tr0, #"+strconv.Itoa(distance)+"\n"+t.armBranch(e.at, routine)+"\tcmp\tr0, #0\n\tbeq\t"+skip+"\n"+
		m.named(t, e.at, what)+t.armBranch(e.at, armEvent)+skip+":\n")
}

func (armTiming) stackMark(t *timer, kind, at int, _ *stubText) string {
	return t.armCall(at, "\tmov\tr0, #"+strconv.Itoa(kind)+"\n", armStack)
}

func (armTiming) leaveMark(t *timer, kind, at int, _ *stubText) string {
	return t.armCall(at, "\tmov\tr0, #"+strconv.Itoa(kind)+"\n", armLeft)
}

func (m armTiming) tailSwitch(t *timer, in *bodyInsn, record func(kind int) string, stub *stubText) string {
	return t.armTail(in, m.stackMark(t, wire.EventSuspend, in.at, stub)+t.depth(traceLeaves, in.at),
		m.stackMark(t, wire.EventResume, in.at, stub)+t.depth(traceReturns, in.at)) + record(wire.EventArrive) + record(wire.EventExit) + "\tbx\tlr\n"
}

// armTail returns the call of what a jump leaves for, with code before and behind it. The return address is on the stack meanwhile.
func (t *timer) armTail(in *bodyInsn, before, behind string) string {
	down, up := "", ""
	if t.armAdjusts(in.at) {
		down, up = "\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset 14, 4\n", "\t.cfi_adjust_cfa_offset -8\n\t.cfi_restore 14\n"
	}
	return "\tpush\t{r4, lr}\n" + down + before + "\tbl\t" + string(arm.Operands(in.rest)[0]) + "\n" + behind + "\tpop\t{r4, lr}\n" + up
}
