package ptrace

import (
	"encoding/binary"
	"errors"
	"syscall"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// errForeign reports that a branch cannot be emulated.
var errForeign = errors.New("not a supported branch instruction")

// emulator executes branches on the registers of a thread, as described in Intel SDM volume 2: CALL, JMP, Jcc,
// LOOP and RET.
type emulator struct {
	regs  *syscall.PtraceRegs
	read  func(b []byte, addr uint64) error
	write func(b []byte, addr uint64) error
}

// The bits of the flags that conditions test.
const (
	flagCarry    = 1 << 0
	flagParity   = 1 << 2
	flagZero     = 1 << 6
	flagSign     = 1 << 7
	flagOverflow = 1 << 11
)

const (
	segmentFS = 0x64
	segmentGS = 0x65
)

// segment returns the fs or gs prefix of an instruction, or 0.
func segment(code []byte) (seg byte) {
	for _, c := range code {
		switch c {
		case segmentFS, segmentGS:
			seg = c
		case 0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x26, 0x2e, 0x36, 0x3e:
		default:
			return seg
		}
	}
	return seg
}

// branch executes the branch at the thread's place, and reports whether it is taken. After an error nothing has
// changed.
func (e *emulator) branch(b *block) (taken bool, err error) {
	in := &b.inst
	next := b.at + uint64(in.Len)
	if in.Prefix&x86.PrefixData != 0 && (in.Class != controlflow.Conditional || in.IsLoop()) {
		return false, errForeign // processors differ
	}
	switch {
	case in.Class == controlflow.Conditional && in.Opcode != 0xc7:
		if in.IsLoop() {
			taken = e.loop(in)
		} else {
			taken = e.condition(in.Opcode & 15)
		}
		if !taken {
			e.regs.Rip = next
			return false, nil
		}
		e.regs.Rip = in.Target(b.at)
	case in.Class == controlflow.Jump:
		e.regs.Rip = in.Target(b.at)
	case in.Class == controlflow.Call:
		return true, e.call(next, in.Target(b.at))
	case in.Class == controlflow.Return && (in.Opcode == 0xc3 || in.Opcode == 0xc2):
		return true, e.ret(b)
	case in.Class == controlflow.IndirectJump && in.Opcode == 0xff && in.ModRM>>3&7 == 4:
		to, err := e.operand(b)
		if err != nil {
			return false, err
		}
		e.regs.Rip = to
	case in.Class == controlflow.IndirectCall && in.Opcode == 0xff && in.ModRM>>3&7 == 2:
		to, err := e.operand(b)
		if err != nil {
			return false, err
		}
		return true, e.call(next, to)
	default:
		return false, errForeign
	}
	return true, nil
}

// condition evaluates one of the numbered conditions of opcodes.
func (e *emulator) condition(number uint8) bool {
	f := e.regs.Eflags
	is := func(bit uint64) bool { return f&bit != 0 }
	var holds bool
	switch number >> 1 {
	case 0:
		holds = is(flagOverflow)
	case 1:
		holds = is(flagCarry)
	case 2:
		holds = is(flagZero)
	case 3:
		holds = is(flagCarry) || is(flagZero)
	case 4:
		holds = is(flagSign)
	case 5:
		holds = is(flagParity)
	case 6:
		holds = is(flagSign) != is(flagOverflow)
	case 7:
		holds = is(flagZero) || is(flagSign) != is(flagOverflow)
	}
	return holds != (number&1 == 1)
}

// loop decrements rcx, or ecx; jrcxz only tests it.
func (e *emulator) loop(in *x86.Inst) bool {
	mask := ^uint64(0)
	if in.Prefix&x86.PrefixAddress != 0 {
		mask = 1<<32 - 1
	}
	if in.Opcode == 0xe3 {
		return e.regs.Rcx&mask == 0
	}
	e.regs.Rcx = (e.regs.Rcx - 1) & mask // a write of ecx clears the upper half
	zero := e.regs.Eflags&flagZero != 0
	switch in.Opcode {
	case 0xe0:
		return e.regs.Rcx != 0 && !zero
	case 0xe1:
		return e.regs.Rcx != 0 && zero
	}
	return e.regs.Rcx != 0
}

func (e *emulator) call(next, to uint64) error {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], next)
	if err := e.write(b[:], e.regs.Rsp-8); err != nil {
		return err
	}
	e.regs.Rsp -= 8
	e.regs.Rip = to
	return nil
}

func (e *emulator) ret(b *block) error {
	to, err := e.word(e.regs.Rsp)
	if err != nil {
		return err
	}
	e.regs.Rsp += 8 + b.pop
	e.regs.Rip = to
	return nil
}

func (e *emulator) word(at uint64) (uint64, error) {
	var b [8]byte
	if err := e.read(b[:], at); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// operand returns the target of a branch through a register or memory.
func (e *emulator) operand(b *block) (uint64, error) {
	in := &b.inst
	if in.Mod() == 3 {
		return *e.register(in.RM()), nil
	}
	var at uint64
	switch {
	case in.RIP:
		at = in.Memory(b.at)
	case in.ModRM&7 == 4:
		at = uint64(int64(in.Disp)) + e.scaled(in)
	default:
		at = uint64(int64(in.Disp)) + *e.register(in.RM())
	}
	if in.Prefix&x86.PrefixAddress != 0 {
		at = uint64(uint32(at))
	}
	switch b.seg {
	case segmentFS:
		at += e.regs.Fs_base
	case segmentGS:
		at += e.regs.Gs_base
	}
	return e.word(at)
}

// scaled returns the sum that a SIB byte describes.
func (e *emulator) scaled(in *x86.Inst) (sum uint64) {
	base, index := in.SIB&7, in.SIB>>3&7|in.Rex&2<<2
	if base != 5 || in.Mod() != 0 {
		sum = *e.register(base | in.Rex&1<<3)
	}
	if index != 4 { // rsp cannot be one
		sum += *e.register(index) << (in.SIB >> 6)
	}
	return sum
}

// register returns a general register by its number in instructions.
func (e *emulator) register(number uint8) *uint64 {
	r := e.regs
	return [16]*uint64{
		&r.Rax, &r.Rcx, &r.Rdx, &r.Rbx, &r.Rsp, &r.Rbp, &r.Rsi, &r.Rdi,
		&r.R8, &r.R9, &r.R10, &r.R11, &r.R12, &r.R13, &r.R14, &r.R15,
	}[number]
}
