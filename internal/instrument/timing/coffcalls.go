package timing

import (
	"bytes"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/prof"
)

// Modes stacks and trace on Windows. The code is that of Linux (tree.go, trace.go), with the word of a thread in its block
// at gs, and exits in front of the epilogue.
//
// What an entry jumps to runs without a frame. It is behind the function's unwind table: where there is none, the return
// address is at the stack pointer. What exits and arrivals jump to is inside, with the same frame.
//
// The word is 0 until the thread calls something, and the code fails then: the runtime looks at the exception first.

// ofThread returns code with the word of a thread where Windows has it.
func ofThread(code string) string { return strings.ReplaceAll(code, "%fs:", "%gs:") }

// outside returns the offset behind the unwind table of b.
func (t *timer) outside(b *body) int {
	if f := t.frameAt(b.insns[0].at); f != nil {
		return asm.LineEnd(t.Unit.Src, f.end)
	}
	at, _ := t.stubPlace(b.frags[0].End)
	return at
}

// coffTree plans the code of one body in mode stacks.
func (t *timer) coffTree(b *body) {
	start, id, back := t.NewLabel(), t.NewLabel(), t.NewLabel()
	slot, live := treeSlot(b.name), b.live&^regR11
	t.Insert(b.frags[0].Label, start+":\n")
	t.Insert(b.frags[0].Probe, leaf.keepHome(live, false)+ofThread(x86Timing{}.treeEntry(t, 0, slot, id, back))+leaf.keepHome(live, true))
	t.Insert(t.outside(b), x86Timing{}.treeMiss(t, b, 0, treeStub{start: start, id: id, back: back, flags: slot | t.treeFlags()}))
	stubs := make([]stubText, len(b.frags))
	for k := range b.exits {
		e, d := &b.exits[k], b.leaves[k]
		code := ofThread(strings.Replace(x86Timing{}.treeExit(t, 0), loadStack, "\tleal\t"+d.frame.above(0)+", %r11d\n", 1))
		if e.cond == "" {
			code += t.coffLast(b, e.insn)
		}
		stub := &stubs[b.insns[e.insn].frag]
		stub.code = append(stub.code, t.insertExit(d.at, e, d.frame.keepHome(e.keep, false)+code+d.frame.keepHome(e.keep, true))...)
	}
	t.coffArrivals(b, func(a arrival, f *frame) string {
		return "\tleaq\t" + f.above(0) + ", %r11\n\tcall\t" + treeBackAt + "\n"
	})
	t.beforeCalls(b)
	t.insertStubs(b, stubs)
}

// coffLast returns the code in front of instruction i, if that ends the process, or a process that may be this one.
func (t *timer) coffLast(b *body, i int) string {
	switch t.imported(b, i) {
	case "_exit", "_Exit", "quick_exit", "abort", "ExitProcess":
		return x86Timing{}.treeLeave(t, b.insns[i].at, 1)
	case "TerminateProcess":
		return x86Timing{}.treeLeave(t, b.insns[i].at, 0)
	}
	return ""
}

// coffTrace plans the code of one body in mode trace.
func (t *timer) coffTrace(b *body) {
	id := t.NewLabel()
	b.id = id
	t.Insert(beforeProc(t.Unit.Src, b.frags[0].Label), "\t.p2align\t2\n")
	t.Insert(b.frags[0].Label, id+":\n")
	var first stubText
	tmp, kept := "%r10", regSet(0)
	switch b.live & (regRAX | regR10) {
	case regR10:
		tmp = "%rax"
	case regRAX | regR10:
		kept = regR10
	}
	t.Insert(b.frags[0].Probe, leaf.keepHome(kept, false)+t.coffEvent(traceEvent{id: id, kind: wire.EventEnter}, tmp, &leaf, &first)+leaf.keepHome(kept, true))
	t.Insert(t.outside(b), string(first.code))
	stubs := make([]stubText, len(b.frags))
	for k := range b.exits {
		e, d := &b.exits[k], b.leaves[k]
		in := &b.insns[e.insn]
		kind := wire.EventExit
		if in.effect.tail {
			kind = wire.EventTailExit
		}
		stub := &stubs[in.frag]
		code := d.frame.keepHome(e.keep, false) + t.coffEvent(traceEvent{id: id, kind: kind}, "%r10", d.frame, stub) + d.frame.keepHome(e.keep, true)
		stub.code = append(stub.code, t.insertExit(d.at, e, code)...)
	}
	t.coffArrivals(b, func(a arrival, _ *frame) string { // the function goes on: only calls below its frame have ended
		return t.coffEvent(traceEvent{id: id, kind: wire.EventArrive}, "%r10", &leaf, &stubs[b.fragmentOf(a.at)])
	})
	t.insertStubs(b, stubs)
}

// coffEvent is event for Windows, where the stack pointer at the entry is that of a frame. With a depth, a comparison of that with the
// word of the thread for the deepest recorded call comes first (coff_depth.c).
func (t *timer) coffEvent(e traceEvent, tmp string, f *frame, stub *stubText) string {
	event := ofThread(t.event(e, tmp, stub))
	if t.Opts.Depth == 0 {
		return event
	}
	routine := traceUpper
	if e.kind == wire.EventEnter {
		routine = traceDeeper
	}
	to, back, entry := t.NewLabel(), t.NewLabel(), "\tleaq\t"+f.above(0)+", %r11\n"
	stub.code = append(stub.code, to+":\n"+entry+"\tcall\t"+routine+"\n"+event+"\tjmp\t"+back+"\n"...)
	load, sp := entry, "%r11"
	if f == &leaf {
		load, sp = "", "%rsp"
	}
	return "\tmovq\t" + traceDeepest + "(%rip), " + tmp + "\n" + load + "\tcmpq\t%gs:(" + tmp + "), " + sp + "\n\tjae\t" + to + "\n" + back + ":\n"
}

// traceDeepest has where the word of a thread is that has the stack pointer of the deepest recorded call.
const traceDeepest = "__cairn_deep"

// coffArrivals inserts code where control may arrive other than from an exit.
func (t *timer) coffArrivals(b *body, code func(a arrival, f *frame) string) {
	for _, a := range t.arrivals(b) {
		if f := t.frameAt(a.at); f != nil && !a.changed && b.fragmentOf(a.at) >= 0 {
			t.Insert(a.at, t.on.again(t, a, code(a, f)))
		}
	}
}

// insertStubs inserts what the code of each fragment of b jumps to.
func (t *timer) insertStubs(b *body, stubs []stubText) {
	for i, f := range b.frags {
		if len(stubs[i].code) > 0 {
			at, _ := t.stubPlace(f.End)
			t.Insert(at, string(stubs[i].code))
		}
	}
}

// beforeProc returns the offset of the line of the label that ends at pos, or of the directive in front of it that begins an
// unwind table: that begins where its directive is.
func beforeProc(src []byte, pos int) int {
	line := func(end int) int { return bytes.LastIndexByte(src[:max(end-1, 0)], '\n') + 1 }
	start := line(pos)
	if before := line(start); bytes.HasPrefix(bytes.TrimLeft(src[before:start], "\t "), []byte(".seh_proc")) {
		return before
	}
	return start
}

// replaced are functions of the system in place of which code calls the runtime's, also where it is the last thing that a function does:
// these do the same. Fibers continue on another stack, and switch by one function, which notes the switch. Threads that suspend others
// do not do so while the clock's thread does. In mode spike, the critical section that a thread waits for is known.
var replaced = map[string]string{switchFiber: "__cairn_switch_fiber", "SuspendThread": "__cairn_suspend_thread", enterSection: "__cairn_enter_critical_section"}

const (
	switchFiber  = "SwitchToFiber"
	enterSection = "EnterCriticalSection"
	imported     = "__imp_" // begins the name of the word that has the address of a function of a DLL
)

// withReplaced returns the unit in which code calls the runtime's functions.
func withReplaced(u *asm.Unit, mode prof.Mode) *asm.Unit {
	for name, ours := range replaced {
		if name != enterSection || mode == prof.ModeSpike {
			u = withCalls(u, name, ours)
		}
	}
	return u
}

// withCalls returns the unit in which calls of a function are those of another one.
func withCalls(u *asm.Unit, name, ours string) *asm.Unit {
	if u.Object != asm.COFF || !bytes.Contains(u.Src, []byte(name)) {
		return u
	}
	var out []byte
	for line := range bytes.Lines(u.Src) {
		s := asm.ParseLine(bytes.TrimRight(line, "\r\n"))
		operand, _, _ := bytes.Cut(s.Rest, []byte("#"))
		switch {
		case s.Kind != asm.LineInsn:
		case bytes.Contains(operand, []byte(imported+name+"(%rip)")):
			line = bytes.Replace(line, []byte(imported+name), []byte(imported+ours), 1)
		case name == switchFiber && string(bytes.TrimSpace(operand)) == name && calls()[string(s.Word)]: // others may be the program's own
			line = bytes.Replace(line, []byte(name), []byte(ours), 1)
		}
		out = append(out, line...)
	}
	changed, err := asm.ParseOptions{Object: u.Object, Plain: u.Plain}.Parse(out, u.Kind, u.Machine)
	if err != nil {
		return u
	}
	return changed
}
