package timing

import (
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/prof"
)

// timing is the machine-dependent part of the timed modes: how functions are left, and the inserted code.
type timing interface {
	// comment returns the text that begins the compiler's comment after an instruction.
	comment() string
	// effects returns the effect of an instruction other than a call or a jump on registers.
	effects(word string, rest []byte) effect
	// mentioned returns the registers that a text names.
	mentioned(text []byte) regSet
	// called returns the effect of a call on registers.
	called(in *bodyInsn, callee string) effect
	// isReturn reports whether an instruction that ends the flow of control returns.
	isReturn(in *bodyInsn) bool
	// isTail reports whether an indirect jump leaves the body, if that is known.
	isTail(t *timer, b *body, i int) (tail, known bool)
	// conditional returns the exit that an instruction is under a condition, which has none if it stays in the body. It is
	// not ok for an exit that cannot be timed.
	conditional(in *bodyInsn) (e exit, ok bool)
	// movesStack reports whether an instruction before an exit sets the stack pointer to that of another frame.
	movesStack(in *bodyInsn) bool
	// scratch reports whether a register, as unwind directives name it, is one that calls may change.
	scratch(register string) bool
	// sharesFrame reports whether a function may be entered with the same stack pointer as its caller, or
	// leaves its frame to another.
	sharesFrame(t *timer, b *body) bool
	// reach makes the edits that keep the targets of b's branches in reach over the insertions, or returns
	// false.
	reach(t *timer, b *body) bool
	// again returns code for an arrival that runs only if a call has returned again.
	again(t *timer, a arrival, code string) string

	// record returns the code of an event of mode trace; it adds out-of-line code to the stub.
	record(t *timer, e traceEvent, b *body, stub *stubText) string
	// stackMark returns the code of an event beside a call at an offset that changes the stack.
	stackMark(t *timer, kind, at int, stub *stubText) string
	// leaveMark returns the code of an event beside a call at an offset that leaves the stack and does not return.
	leaveMark(t *timer, kind, at int, stub *stubText) string
	// tailSwitch returns code in front of a jump that leaves the function for one that changes the stack: it calls that and
	// returns, as control does not come back here otherwise. It is "" where the jump has to stay.
	tailSwitch(t *timer, in *bodyInsn, record func(kind int) string, stub *stubText) string
}

// stacking is the timing of machines that have mode stacks.
type stacking interface {
	timing
	// row returns the unwind directives for stubs at an offset after f: they run in the
	// state of a function's entry.
	row(t *timer, f *asm.Fragment, at int) string

	// rowEnd returns the directives that undo changes of row that cannot be made twice.
	rowEnd(t *timer, f *asm.Fragment, at int) string
	// inFrame returns the call of a routine at an offset in a function, beside a call.
	inFrame(t *timer, routine string, at int) string

	treeEntry(t *timer, live regSet, slot int, id, back string) string
	treeMiss(t *timer, b *body, live regSet, miss treeStub) string
	treeExit(t *timer, keep regSet) string
	// treeTail does for mode stacks what tailSwitch does for mode trace.
	treeTail(t *timer, in *bodyInsn, id string) string
	treeArrive(t *timer, a arrival, id string) string
	treeLeave(t *timer, at, ends int) string
}

// measuring is the timing of machines whose code of mode spike is in the functions. That of Armv7 calls routines (armcalls.go).
type measuring interface {
	stacking
	entry(t *timer, live regSet) string
	exit(t *timer, keep regSet, slow string) string
	slow(leave string, unwound bool) string
	flightEntry(t *timer, b *body) (id, entry, stubs string)
	flightArrive() string
	// arrive returns the code for an arrival, "" if there is none.
	arrive(t *timer, a arrival) string
	// tailCall returns code in front of a jump that leaves the function for one that suspends its stack: it calls that, and
	// the routines around it. It is "" where the jump has to stay.
	tailCall(t *timer, in *bodyInsn) string
}

// measuring returns the timing of a machine for mode spike, stacking that for mode stacks.
func (t *timer) measuring() measuring { return t.on.(measuring) }
func (t *timer) stacking() stacking   { return t.on.(stacking) }

// Supports reports whether a timed mode supports a machine.
func Supports(kind machine.Kind, mode prof.Mode) bool {
	return timings[kind] != nil && mode.Timed()
}

// timings are the machines that the timed modes support.
var timings = map[machine.Kind]timing{machine.X86_64: x86Timing{}, machine.AArch64: aarch64Timing{}, machine.Arm: armTiming{}}
