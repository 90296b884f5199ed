package machinecode

import "github.com/cairnprof/cairn/internal/binary/controlflow"

import "github.com/cairnprof/cairn/internal/binary/aarch64"

// convention: x19 to x28 are callee-saved, x29 is the frame pointer, and 31 is no value
// register.
func (aarch64Arch) convention() convention {
	return convention{0, 1<<19 - 1 | 1<<aarch64.LR, (1<<29 - 1) &^ (1<<19 - 1)}
}

// aarch64 decodes an instruction.
func (w *walk) aarch64(r Ref) aarch64.Inst {
	return aarch64.Decode(w.code.bytes(w.binary, r))
}

func (aarch64Arch) dispatch(w *walk, at Ref) Dispatch {
	v := w.regs[w.aarch64(at).Rn()]
	if v.offset != 0 {
		return Dispatch{}
	}
	return w.reads(w.origins[v.number])
}

func (aarch64Arch) move(w *walk, at Ref) moved {
	if w.code.Class(at) != controlflow.Other {
		return moved{dest: registers}
	}
	in := w.aarch64(at)
	m := moved{written: in.Writes() | 1<<aarch64.SP, dest: registers}
	known := func(v value) { m.dest, m.value = in.Rd(), v }
	n, adds := in.Sum()
	off, plain := in.Offset()
	switch from, moves := in.Moves(); {
	case moves:
		known(w.regs[from])
	case adds && in.Rn() != aarch64.SP:
		v := w.regs[in.Rn()]
		v.offset += int32(n)
		known(v)
	case plain && in.LoadsWord() && in.Rn() != aarch64.SP:
		v := w.regs[in.Rn()]
		v.offset += int32(off)
		known(w.fresh(origin{from: v, read: true}))
	case in.Adds(), in.LoadsIndexed():
		known(w.fresh(origin{cases: true}))
	}
	m.pops = in.OnStack() && w.leaves(at)
	return m
}

// leaves reports whether the function returns after an instruction, with only instructions
// that use the stack in between.
func (w *walk) leaves(at Ref) bool {
	const most = 12
	for r := at + 1; r < w.end && r < at+most; r++ {
		switch class := w.code.Class(r); {
		case class == controlflow.Return, class == controlflow.Jump, class == controlflow.IndirectJump:
			return true
		case class != controlflow.Other:
			return false
		}
	}
	return false
}
