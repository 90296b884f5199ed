package timing

import (
	"bytes"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/msname"
	"github.com/cairnprof/cairn/prof"
)

// Problem: on MSVC's system the handler of an exception, and what destroys objects then, is code of its own, which the unwinder
// calls: the calls that the exception left are still in the stack, above it. In assembly these are functions with names of their own, which
// neither symbols nor a PDB have.
//
// Choice: they are no calls but parts of their functions, as landing pads are on other systems. Their prologue sets the frame
// pointer of the function, from which the stack pointer of its entry is found: control arrives there, and what is called next is called by
// the function. When the handler returns, the function goes on.

// handlers plans the code of handlers of exceptions whose functions have probes.
func (t *timer) handlers() {
	timed := map[string]*body{}
	for _, b := range t.all {
		if b.timed {
			timed[b.name] = b
		}
	}
	for _, b := range t.all {
		name, ok := msname.HandlerOf(b.name)
		if of := timed[name]; ok && of != nil && len(b.insns) > 0 {
			t.handler(b, of)
		}
	}
}

// handler plans the code of a handler, b, of a function.
func (t *timer) handler(b, of *body) {
	own, f := t.frameAt(b.insns[0].at), t.frameAt(of.insns[0].at)
	if own == nil || f == nil || own.body == 0 || !t.setsFrame(b, own, f) {
		return
	}
	var stub stubText
	code := "\tleaq\t" + f.above(0) + ", %r11\n\tcall\t"
	switch t.Opts.Mode {
	case prof.ModeStacks:
		code += treeBackAt + "\n"
	case prof.ModeTrace:
		body := frame{reg: f.reg, off: f.off - f.size} // whose stack pointer is below that of the entry: the function goes on
		code = t.coffEvent(traceEvent{id: of.id, kind: wire.EventArrive}, "%r10", &body, &stub)
	default:
		if code += timedArrived + "\n"; t.Opts.Flight {
			code += f.coffFlightEnd(-f.size)
		}
	}
	t.Insert(own.body, code)
	t.beforeCalls(b)
	t.insertStubs(b, []stubText{stub})
}

// setsFrame reports whether the prologue of a handler sets the register that the frame of its function is found by.
func (t *timer) setsFrame(b *body, own, f *frame) bool {
	if f.reg == "%rsp" {
		return false
	}
	for i := range b.insns {
		in := &b.insns[i]
		ops := asm.SplitInsnOperands(in.rest)
		if in.at < own.body && strings.HasPrefix(in.word, "lea") && len(ops) == 2 && string(ops[1]) == f.reg && bytes.HasSuffix(ops[0], []byte("(%rdx)")) {
			return true
		}
	}
	return false
}
