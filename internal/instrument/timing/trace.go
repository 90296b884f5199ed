package timing

import (
	"bytes"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Problem: in mode trace, keep an event for each entry and each exit, in the order of the thread, at the cost
// of a few stores.
//
// Choice: each thread has a chunk of 64 KiB, aligned to its size, and a position in it, which is the only word
// of thread-local storage. When its low 16 bits become zero the chunk is full; they also do at a thread's first
// event.
//
//	        movq  __cairn_local(%rip), %r10
//	        movq  %fs:(%r10), %r11
//	        addw  $8, %r11w
//	        jz    S
//	B:      movq  %r11, %fs:(%r10)
//	        movq  __cairn_tracer(%rip), %r10
//	        movl  (%r10), %r10d                          the clock
//	        movl  %r10d, -8(%r11)
//	        leaq  F+kind(%rip), %r10
//	        movl  %r10d, -4(%r11)
//
//	S:      call  __cairn_trace_full                     which changes r11 only
//	        jmp   B
//
// Around a call that continues on another stack are events with the stack pointer in place of the clock, and none
// of a function (arrive.go).
//
// With a depth, a comparison of the stack pointer with that of the deepest recorded call comes first
// (trace_depth_x86_64.S).
//
// F is the function's start, aligned so that the last two bits of its address are free for the kind of event:
// it needs no number, and the reader finds its name in the program's symbols. The position is advanced before
// the event is stored: a signal handler in between writes after it. A handler between the load of the position
// and its store loses its own events.

// Symbols of the runtime of mode trace.
const (
	TraceFull    = "__cairn_trace_full" // pulls in the runtime
	traceDeeper  = "__cairn_trace_deeper"
	traceUpper   = "__cairn_trace_upper"
	traceLeaves  = "__cairn_depth_leaves"
	traceReturns = "__cairn_depth_returns"
	tracer       = "__cairn_tracer" // the address of the process's state, which begins with the clock
)

// traceDeep is the offset of the stack pointer of the deepest recorded call in what a thread has.
const traceDeep = 8

// RefuseUnaligned is the reason why mode trace leaves a function alone if the compiler put something before it,
// such as room for patches.
const RefuseUnaligned = "the code before it prevents its alignment"

// traceEvent is an event of mode trace.
type traceEvent struct {
	id   string // label of the body
	kind int
	keep regSet // registers that its code preserves
	at   int    // offset of its place
}

// traceBody plans the code of one body in mode trace.
func (t *timer) traceBody(b *body) {
	start, _ := t.alignPlace(b.frags[0].Label)
	id := t.NewLabel()
	t.Insert(start, "\t.p2align\t2\n")
	t.Insert(b.frags[0].Label, id+":\n")
	stubs := make([]stubText, len(b.frags))
	for i, f := range b.frags {
		stubs[i].at, stubs[i].unwound = t.stubPlace(f.End)
	}
	t.Insert(b.frags[0].Probe, t.on.record(t, traceEvent{id: id, kind: wire.EventEnter, at: b.frags[0].Probe}, b, &stubs[0]))
	for k := range b.insns {
		if in := &b.insns[k]; leavesStack(in) && in.flow == asm.FlowCall {
			stub := &stubs[in.frag]
			t.unwinding = t.unwinds(b.frags[in.frag])
			end := t.lineEnd(in.at)
			t.insertCall(in.at, t.leaveCall(in.at, stub))
			t.Insert(end, t.on.leaveMark(t, wire.EventResume, end, stub)+t.depth(traceReturns, end)) // it has failed
		}
	}
	for _, a := range t.arrivals(b) {
		i := b.fragmentOf(a.at)
		if i < 0 {
			continue
		}
		t.unwinding = t.unwinds(b.frags[i])
		code := t.on.again(t, a, t.on.record(t, traceEvent{id: id, kind: wire.EventArrive, at: a.at}, b, &stubs[i]))
		if a.changed {
			t.insertCall(a.call, t.on.stackMark(t, wire.EventSuspend, a.call, &stubs[i])+t.depth(traceLeaves, a.call))
			code = t.on.stackMark(t, wire.EventResume, a.at, &stubs[i]) + t.depth(traceReturns, a.at) + code
		}
		t.Insert(a.at, code)
	}
	for k := range b.exits {
		e := &b.exits[k]
		in := &b.insns[e.insn]
		stub := &stubs[in.frag]
		t.unwinding, t.place.leave = t.unwinds(b.frags[in.frag]), e.leave
		code, kind := "", wire.EventExit
		if in.effect.tail {
			kind = wire.EventTailExit
		}
		if in.effect.tail && e.inPlace() && changesStack(in.effect.callee) {
			code = t.on.tailSwitch(t, in, func(kind int) string { return t.on.record(t, traceEvent{id: id, kind: kind, at: in.at}, b, stub) }, stub)
		}
		code += t.on.record(t, traceEvent{id, kind, e.keep, in.at}, b, stub)
		if e.inPlace() && leavesStack(in) {
			code += t.leaveCall(in.at, stub)
		}
		stub.code = append(stub.code, t.insertExit(in.at, e, code)...)
	}
	for i, f := range b.frags {
		if s := &stubs[i]; len(s.code) > 0 {
			t.Insert(s.at, t.stubUnwind(f, s.at, s.unwound), string(s.code))
		}
	}
}

// leaveCall returns code in front of a call that continues on another stack and does not return.
func (t *timer) leaveCall(at int, stub *stubText) string {
	return t.on.leaveMark(t, wire.EventSuspend, at, stub) + t.depth(traceLeaves, at)
}

// depth returns the call of a routine for the depth of the stack that is left or goes on, beside a call at an offset.
func (t *timer) depth(routine string, at int) string {
	if t.Opts.Depth == 0 {
		return ""
	}
	return t.stacking().inFrame(t, routine, at)
}

// fragmentOf returns the index of the fragment that an offset is in, -1 if it is in none.
func (b *body) fragmentOf(at int) int {
	return slices.IndexFunc(b.frags, func(f *asm.Fragment) bool { return at >= f.Label && at <= f.End })
}

// stubText is text to insert after a fragment.
type stubText struct {
	at      int
	unwound bool // unwind directives are in force there
	code    []byte
}

// alignPlace returns the offset of the line of the label that ends at pos, and whether it can be aligned:
// whether nothing before it belongs to the function, as room for patches and hashes of types do.
func (t *timer) alignPlace(pos int) (start int, ok bool) {
	src := t.Unit.Src
	line := func(end int) int { return bytes.LastIndexByte(src[:end], '\n') + 1 }
	start = line(max(pos-1, 0))
	for at := start; at > 0; {
		prev := line(at - 1)
		s := t.Unit.ParseLine(src[prev:at])
		word := string(s.Word)
		switch {
		case s.Kind == asm.LineDirective && (strings.HasPrefix(word, ".p2align") || strings.HasPrefix(word, ".align") ||
			strings.HasPrefix(word, ".balign") || word == ".section" || word == ".text" || word == ".size" || word == ".cfi_endproc" || word == ".end_data_region"):
			return start, true
		case s.Kind == asm.LineDirective && isData(word):
			return start, false
		case s.Kind == asm.LineLabel && strings.HasPrefix(word, ".LPFE"), s.Kind == asm.LineInsn && word == "nop":
			return start, false
		case s.Kind == asm.LineInsn:
			return start, true
		}
		at = prev
	}
	return start, true
}

// aligns reports whether the function whose label ends at pos can be aligned.
func (t *timer) aligns(pos int) bool {
	_, ok := t.alignPlace(pos)
	return ok
}

// isData reports whether a directive emits bytes at its place.
func isData(word string) bool {
	switch word {
	case ".byte", ".short", ".value", ".long", ".quad", ".nops", ".zero", ".skip", ".space", ".ascii", ".string":
		return true
	}
	return false
}
