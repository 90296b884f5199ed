package timing

import (
	"bytes"
	"math/bits"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/arm"
)

// Modes stacks and spike on Armv7. There is no window: a call has its state in a table of parts of the address space
// (timed_arm.h of the runtime), and inserted code calls routines that look there. In front of an exit the stack pointer may
// not be that of the entry yet: pop {r4, pc} moves it by 8, which is what r0 says.
//
//	entry:  push    {r0, lr}
//	        adr     r0, ID                   or movw, movt and add
//	        bl      __cairn_tree_enter
//	        pop     {r0, lr}
//
//	exit:   push    {r0, lr}
//	        mov     r0, #8
//	        bl      __cairn_tree_exit
//	        pop     {r0, lr}
//	        pop     {r4, pc}
//
//	        .byte   0, 0, 0
//	        .long   ID-f
//	        .byte   hash, with flags
//	ID:
//
// ID is behind the code of the function, and names it.

// treeExited is the routine for an exit: other machines have that inline.
const treeExited = "__cairn_tree_exit"

// Routines for mode spike, beside those of the names that other machines have.
const (
	spikeEntered = "__cairn_spike_enter"
	spikeExited  = "__cairn_spike_exit"
)

// armNamed is the size of what names a function.
const armNamed = 8

// armDistance returns by how much an instruction that leaves a function moves the stack pointer. It is not ok if that is not known.
func armDistance(leave string) (int, bool) {
	word, rest, _ := strings.Cut(leave, "\t")
	base, _, ok := arm.Condition(word)
	ops := arm.Operands([]byte(rest))
	pc := base != "b" && bytes.Contains([]byte(rest), []byte("pc"))
	switch {
	case !ok || len(ops) == 0:
		return 0, false
	case base == "pop":
		return 4 * bits.OnesCount32(uint32(arm.Registers(ops[0]))), true
	case strings.HasPrefix(base, "ldm") && pc:
		list := arm.Registers(ops[len(ops)-1])
		return 4 * bits.OnesCount32(uint32(list)), string(ops[0]) == "sp!" && (base == "ldm" || base == "ldmia" || base == "ldmfd") && list&(1<<13) == 0
	case base == "ldr" && len(ops) == 3 && string(ops[1]) == "[sp]":
		n, err := strconv.Atoi(string(bytes.TrimPrefix(ops[2], []byte("#"))))
		return n, err == nil
	}
	return 0, !pc || base == "mov"
}

// armLeaves reports whether the stack pointer at the entry is known at all exits of b.
func armLeaves(b *body) bool {
	for i := range b.exits {
		if _, ok := armDistance(b.exits[i].leave); !ok {
			return false
		}
	}
	return true
}

// named returns code that sets r0 to the address of a label, beside an offset.
func (armTiming) named(t *timer, at int, what string) string {
	if !t.place.far {
		return "\tadr\tr0, " + what + "\n"
	}
	f := t.fragmentAt(at)
	return arm.Address(f == nil || arm.Of(f).Thumb, "r0", what, t.NewLabel())
}

func (m armTiming) treeEntry(t *timer, _ regSet, _ int, id, _ string) string {
	at := t.place.at
	return t.armCall(at, m.named(t, at, id), treeEnter)
}

func (armTiming) treeMiss(_ *timer, _ *body, _ regSet, miss treeStub) string {
	return armName(miss)
}

// armName returns what names a function.
func armName(miss treeStub) string {
	return "\t.byte\t0, 0, 0\n\t.long\t" + miss.id + "-" + miss.start + "\n\t.byte\t" + strconv.Itoa(miss.flags) + "\n" + miss.id + ":\n"
}

func (armTiming) treeExit(t *timer, _ regSet) string {
	distance, _ := armDistance(t.place.leave)
	return t.armCall(t.place.at, "\tmov\tr0, #"+strconv.Itoa(distance)+"\n", treeExited)
}

func (m armTiming) treeTail(t *timer, in *bodyInsn, id string) string {
	return t.armTail(in, "", "") + m.treeArrive(t, arrival{at: in.at, changed: true}, id) + m.treeExit(t, 0) + "\tbx\tlr\n"
}

func (m armTiming) treeArrive(t *timer, a arrival, id string) string {
	to := treeBack
	if a.changed {
		to = treeSwitched
	}
	return m.again(t, a, t.armCall(a.at, m.named(t, a.at, id), to))
}

func (armTiming) treeLeave(t *timer, at, ends int) string {
	return t.armCall(at, "\tmov\tr0, #"+strconv.Itoa(ends)+"\n", treeLeave)
}

// insertCall inserts code in front of a call at an offset. On Armv7 one under a condition may be in an IT block, and the code
// changes the flags: it is replaced as conditional exits are.
func (t *timer) insertCall(at int, code string) {
	cond := ""
	if t.Unit.Kind == machine.Arm && code != "" {
		end := t.lineEnd(at)
		s := t.Unit.ParseLine(arm.Code(bytes.TrimRight(t.Unit.Src[at:end], "\r\n")))
		var base string
		if base, cond = arm.CallCondition(string(s.Word)); cond != "" {
			does, goes := t.NewLabel(), t.NewLabel()
			t.Replace(at, end-at, "\tb"+cond+"\t"+does+"\n\tb\t"+goes+"\n"+does+":\n"+code+"\t"+base+"\t"+string(s.Rest)+"\n"+goes+":\n")
			return
		}
	}
	t.Insert(at, code)
}

// armSpike plans the code of one body in mode spike.
func (t *timer) armSpike(b *body) {
	m, start, id := armTiming{}, t.NewLabel(), t.NewLabel()
	at := b.frags[0].Probe
	t.Insert(b.frags[0].Label, start+":\n")
	t.Insert(at, t.armCall(at, m.named(t, at, id), spikeEntered))
	goes := func(at int) string { return t.armCall(at, "", timedSuspends) }
	comes := func(at int) string { return t.armCall(at, m.named(t, at, id), timedComes) }
	for _, a := range t.arrivals(b) {
		if a.changed {
			if a.away {
				t.insertCall(a.call, goes(a.call))
			}
			t.Insert(a.at, comes(a.at))
		} else {
			t.Insert(a.at, m.again(t, a, t.armCall(a.at, m.named(t, a.at, id), timedArrived)))
		}
	}
	for k := range b.insns {
		if in := &b.insns[k]; leavesStack(in) && in.flow == asm.FlowCall {
			t.insertCall(in.at, goes(in.at))
			t.Insert(t.lineEnd(in.at), comes(t.lineEnd(in.at))) // it has failed
		}
	}
	for at, routine := range departures(b) {
		if routine == timedDeparts {
			t.insertCall(at, t.armCall(at, "", timedDeparts))
		}
	}
	for k := range b.exits {
		e := &b.exits[k]
		in, code := &b.insns[e.insn], ""
		distance, _ := armDistance(e.leave)
		exit := t.armCall(in.at, "\tmov\tr0, #"+strconv.Itoa(distance)+"\n", spikeExited)
		if in.effect.tail && suspends(in.effect.callee) {
			code = t.armTail(in, goes(in.at), comes(in.at)) + exit + "\tbx\tlr\n"
		}
		code += exit
		if leavesStack(in) {
			code += goes(in.at)
		}
		t.insertExit(in.at, e, code)
	}
	end, _ := t.stubPlace(b.frags[0].End)
	t.Insert(end, armName(treeStub{start: start, id: id}))
}

// row is nothing: no code is behind a function, only what names it.
func (armTiming) row(*timer, *asm.Fragment, int) string { return "" }

func (armTiming) rowEnd(*timer, *asm.Fragment, int) string { return "" }

func (armTiming) inFrame(t *timer, routine string, at int) string {
	return t.armCall(at, "", routine)
}
