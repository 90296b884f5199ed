// Package stackcopy finds the return addresses in copies of stacks, as perf record --call-graph
// dwarf makes them, by the unwind tables of the modules in the process. Registers are those of
// perf_regs.h of Linux, and the rules those of internal/binary/ehframe.
package stackcopy

import (
	"encoding/binary"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/sample"
)

// Table has the unwind rules of a module in a process. Bias is what was added to its link-time
// addresses when it was loaded.
type Table struct {
	Rules *Rules
	Bias  uint64
}

// End is the reason why a walk ended.
type End uint8

// The reasons.
const (
	Whole   End = iota // at the outermost frame
	NoTable            // in code without a table
	NoRule             // at an instruction with a rule that is not supported
	Short              // where the copy ends
	Damaged            // at an address or a frame that cannot be one
	Ends
)

// maxFrames limits stacks: a copy has at most 64 KiB.
const maxFrames = 1 << 12

// Walk appends the address of a thread and its return addresses, innermost first, to stack.
// table returns the table for an address, nil if there is none.
func Walk(stack []uint64, u *sample.UserState, of machine.Kind, table func(pc uint64) *Table) ([]uint64, End) {
	return (*Memory)(nil).Walk(stack, u, of, table)
}

// Walk is the function Walk for the process of Enter, of which table is.
func (m *Memory) Walk(stack []uint64, u *sample.UserState, of machine.Kind, table func(pc uint64) *Table) ([]uint64, End) {
	w := walk{u: u, of: of, table: table, memory: m}
	if !w.begin() {
		return stack, Damaged
	}
	exact := true // the address is that of an instruction, not one after a call
	for range maxFrames {
		stack = append(stack, w.pc)
		var end End
		if exact, end = w.step(exact); end != Whole || w.pc == 0 {
			return stack, end
		}
	}
	return stack, Damaged
}

// walk is the state at a frame.
type walk struct {
	u      *sample.UserState
	of     machine.Kind
	table  func(pc uint64) *Table
	memory *Memory

	base           uint64 // address of the copy
	pc, sp, fp, lr uint64
	inner          bool // no frame has been left yet: lr is valid
}

// Numbers of registers.
const (
	x86FP, x86SP, x86IP        = 6, 7, 8
	x86Registers               = 32 // their number, at most
	armFP, armLR, armSP, armPC = 29, 30, 31, 32
	armAddress                 = 1<<48 - 1 // bits of an address that are not a signature
	word                       = 8
	signalContext              = 40 // of x86-64: registers in the ucontext_t at the stack pointer
	savedFP, savedSP, savedIP  = signalContext + 10*word, signalContext + 15*word, signalContext + 16*word
)

// MachineOf returns the machine whose registers a copy has.
func MachineOf(u *sample.UserState) machine.Kind {
	if u.Mask>>x86IP&1 != 0 && u.Mask>>x86Registers == 0 {
		return machine.X86_64
	}
	return machine.AArch64
}

func (w *walk) begin() bool {
	regs := [4]int{x86IP, x86SP, x86FP, x86FP}
	if w.of == machine.AArch64 {
		regs = [4]int{armPC, armSP, armFP, armLR}
	}
	for i, to := range []*uint64{&w.pc, &w.sp, &w.fp, &w.lr} {
		v, ok := w.u.Reg(regs[i])
		if !ok {
			return false
		}
		*to = v
	}
	w.base, w.inner = w.sp, true
	if w.called() {
		w.sp += word
	}
	return w.of == machine.X86_64 || w.of == machine.AArch64
}

// called reports whether the instruction of x86-64 is a call that has been made: precise samples (PEBS of Intel) have the
// address of the instruction, and the registers after it. Then the address after the call is on the stack.
func (w *walk) called() bool {
	const shortest, longest = 2, 8 // calls, in bytes
	ret, ok := w.read(w.sp)
	return ok && w.of == machine.X86_64 && ret-w.pc >= shortest && ret-w.pc <= longest
}

// read returns the word at an address of the copy.
func (w *walk) read(addr uint64) (uint64, bool) {
	off := addr - w.base
	if n := uint64(len(w.u.Stack)); off > n || n-off < word {
		return 0, false
	}
	return binary.LittleEndian.Uint64(w.u.Stack[off:]), true
}

// row returns the rule at the frame.
func (w *walk) row(exact bool) (*ehframe.Row, End) {
	pc := w.pc
	if !exact {
		pc-- // the call may be the last instruction of a function
	}
	if row := w.memory.at(pc); row != nil {
		return row, Whole
	}
	t := w.table(pc)
	if t == nil {
		return nil, NoTable
	}
	row := t.Rules.At(pc - t.Bias)
	if row == nil || row.CFA == ehframe.CFAUnknown {
		if w.inner && w.of == machine.X86_64 && t.Rules.beforeStart(pc-t.Bias) {
			return w.cloned(), Whole
		}
		return nil, NoRule
	}
	w.memory.keep(pc, row)
	return row, Whole
}

// cloned returns the rule at the end of the system call that makes a thread. The tables of libc have none there, as two
// threads leave the call: the one that made it returns to its caller, whose address is on its stack. The new one has the
// function that it begins with on its stack, or nothing.
func (w *walk) cloned() *ehframe.Row {
	begins := &ehframe.Row{CFA: ehframe.CFAStack, Offset: word, Return: ehframe.ReturnNone}
	to, ok := w.read(w.sp)
	if !ok {
		return begins
	}
	t := w.table(to)
	if t == nil {
		return begins
	}
	if row := t.Rules.all().exactly(to - t.Bias); row == nil || row.CFA == ehframe.CFAUnknown || row.PC == to-t.Bias {
		return begins
	}
	return &ehframe.Row{CFA: ehframe.CFAStack, Offset: word}
}

// step goes to the caller. At the outermost frame the address becomes 0.
func (w *walk) step(exact bool) (nextExact bool, end End) {
	row, end := w.row(exact)
	if end != Whole {
		return false, end
	}
	if row.Return == ehframe.ReturnNone {
		w.pc = 0
		return false, Whole
	}
	if row.CFA == ehframe.CFASignal {
		return true, w.interrupted()
	}
	cfa, ok := w.cfa(row)
	if !ok {
		return false, Short
	}
	ret, end := w.back(row, cfa)
	if end != Whole {
		return false, end
	}
	fp := w.fp
	switch row.Frame {
	case ehframe.FrameAtCFA:
		// In an epilogue the table still has where it was saved, below the stack pointer.
		if at := cfa + uint64(int64(row.FrameOffset)); at >= w.sp {
			fp, ok = w.read(at)
		}
	case ehframe.FrameAtFrame:
		fp, ok = w.read(w.fp + uint64(int64(row.FrameOffset)))
	case ehframe.FrameSame:
	}
	switch {
	case !ok:
		return false, Short
	case cfa < w.sp, cfa == w.sp && !w.inner:
		return false, Damaged
	}
	w.pc, w.sp, w.fp, w.inner = ret, cfa, fp, false
	w.memory.leave(cfa)
	return false, Whole
}

// cfa returns the value of the stack pointer before the call.
func (w *walk) cfa(row *ehframe.Row) (uint64, bool) {
	offset := uint64(int64(row.Offset))
	switch row.CFA {
	case ehframe.CFAStack:
		return w.sp + offset, true
	case ehframe.CFAFrame:
		return w.fp + offset, true
	case ehframe.CFAAtFrame:
		return w.read(w.fp + offset)
	case ehframe.CFAPLT:
		cfa := w.sp + word
		if w.pc&15 >= offset {
			cfa += word
		}
		return cfa, true
	case ehframe.CFAUnknown, ehframe.CFASignal:
	}
	return 0, false
}

// back returns the return address.
func (w *walk) back(row *ehframe.Row, cfa uint64) (ret uint64, end End) {
	ok := true
	switch row.Return {
	case ehframe.ReturnPlain:
		ret, ok = w.read(cfa - word)
	case ehframe.ReturnAtCFA:
		ret, ok = w.read(cfa + uint64(int64(row.ReturnOffset)))
	case ehframe.ReturnRegister:
		if !w.inner {
			return 0, Damaged // it was overwritten by a call
		}
		ret = w.lr
	case ehframe.ReturnNone, ehframe.ReturnComputed:
		return 0, NoRule
	}
	if !ok {
		return 0, Short
	}
	if w.of == machine.AArch64 {
		ret &= armAddress
	}
	return ret, Whole
}

// interrupted goes from the return of a signal handler to the code that the signal interrupted.
func (w *walk) interrupted() End {
	if w.of != machine.X86_64 {
		return NoRule
	}
	pc, ok1 := w.read(w.sp + savedIP)
	sp, ok2 := w.read(w.sp + savedSP)
	fp, ok3 := w.read(w.sp + savedFP)
	switch {
	case !ok1 || !ok2 || !ok3:
		return Short
	case sp <= w.sp:
		return Damaged // it ran on another stack, which was not copied
	}
	w.pc, w.sp, w.fp, w.inner = pc, sp, fp, true
	return Whole
}
