package lbr

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// Kind is what a branch is, in an event.
type Kind uint8

// The kinds of branches.
const (
	Jump         Kind = iota // within a function, or not to the start of another
	Call                     //
	Return                   //
	TailCall                 // a jump to the start of another function
	IndirectJump             // jump or tail call: the runtime decides
	IndirectCall             //
	FromOutside              // from code that has no copy
)

// Offsets in the state of a thread, which gs refers to.
const (
	slotSave     = 8 * iota // rax while an event is stored
	slotSaveRCX             //
	slotFlags               //
	slotTarget              // of a computed branch
	slotGo                  // where to continue
	slotFrom                // of a computed branch: the first word of its event
	slotPosition            // in the buffer of events
)

// Words that the runtime sets.
const (
	wordDispatch = iota
	wordSystemCall
	wordReturns // and all after it
)

// The first word of an event has the kind in its high bits and the number of the branch in
// the low ones. The last word has the module in its high bits, and in the low ones the high
// bits of the target's address, or a mark that the target is a number.
const (
	kindShift   = 28
	moduleShift = 16
	toNumber    = 0x8000
)

var errFar = errors.New("an operand is out of range of the copy")

func put32(to []byte, v uint32) { binary.LittleEndian.PutUint32(to, v) }

func (p *planner) bytes(b ...byte) { p.Code = append(p.Code, b...) }
func (p *planner) word(v uint32)   { p.Code = binary.LittleEndian.AppendUint32(p.Code, v) }
func (p *planner) saveRAX(at int)  { p.bytes(0x65, 0x48, 0x89, 0x04, 0x25); p.word(uint32(at)) }
func (p *planner) loadRAX(at int)  { p.bytes(0x65, 0x48, 0x8b, 0x04, 0x25); p.word(uint32(at)) }
func (p *planner) linkTo(to uint32) {
	p.word(0)
	p.links = append(p.links, link{uint32(len(p.Code)), to})
}

// reach returns the displacement from the end of an instruction, which is an offset in Code,
// to an address of the original, relative to Lo. It records that the displacement is in the
// four bytes that end at offset.
func (p *planner) reach(to int64, end, offset int) (uint32, error) {
	d := to - p.Distance - int64(end)
	if d < math.MinInt32 || d > math.MaxInt32 {
		return 0, errFar
	}
	p.Far = append(p.Far, uint32(offset))
	p.Nearest, p.Farthest = min(p.Nearest, d), max(p.Farthest, d)
	return uint32(d), nil
}

// relative appends the displacement to an address of the original, relative to Lo,
// which ends an instruction.
func (p *planner) relative(to int64) error {
	end := len(p.Code) + 4
	d, err := p.reach(to, end, end)
	p.word(d)
	return err
}

// toWord appends the displacement to a word, which ends an instruction.
func (p *planner) toWord(i int) {
	p.word(0)
	p.wordRefs = append(p.wordRefs, wordRef{uint32(len(p.Code)), i})
}

// instruction writes the copy of one instruction.
func (p *planner) instruction(in *instruction) error {
	switch {
	case in.Class == controlflow.Jump:
		p.Branches++
		return p.jump(in.number, in.target(), p.kind(in))
	case in.Class == controlflow.Call:
		p.Branches++
		return p.call(in)
	case in.Class == controlflow.Conditional && in.Opcode != 0xc7:
		p.Branches++
		return p.conditional(in)
	case in.Class == controlflow.IndirectJump && in.Opcode == 0xff && in.ModRM>>3&7 == 4:
		p.Branches++
		return p.indirect(in, IndirectJump)
	case in.Class == controlflow.IndirectCall && in.Opcode == 0xff && in.ModRM>>3&7 == 2:
		p.Branches++
		return p.indirect(in, IndirectCall)
	case in.Class == controlflow.Return && (in.Opcode == 0xc3 || in.Opcode == 0xc2):
		p.Branches++
		p.ret(in)
		return nil
	}
	if in.Len == 2 && in.bytes[0] == 0x0f && in.bytes[1] == 0x05 {
		p.systemCall()
	}
	return p.plain(in)
}

// systemCall asks the runtime whether the following system call must be replaced. The kernel
// overwrites rcx and r11.
func (p *planner) systemCall() {
	p.bytes(0x4c, 0x8d, 0x1d, 6, 0, 0, 0) // lea next(%rip), %r11
	p.bytes(0xff, 0x25)
	p.toWord(wordSystemCall)
}

// target is the target of a branch, relative to Lo; it may be outside of the code.
func (in *instruction) target() int64 { return int64(in.at) + int64(in.Len) + int64(in.Rel) }

// inside reports whether the code at to, relative to Lo, may have a copy.
func (p *planner) inside(to int64) bool { return to >= 0 && to < int64(p.Hi-p.Lo) }

// kind distinguishes a jump from a tail call.
func (p *planner) kind(in *instruction) Kind {
	to := in.target()
	if !p.inside(to) || !p.starts[uint32(to)] {
		return Jump
	}
	if i, found := slices.BinarySearch(p.Functions, in.at); !found && i > 0 && p.Functions[i-1] == uint32(to) || found && in.at == uint32(to) {
		return Jump // to the start of the same function
	}
	return TailCall
}

// plain copies an instruction that is not a branch, or one that no event records.
func (p *planner) plain(in *instruction) error {
	at := len(p.Code)
	p.bytes(in.bytes...)
	if in.Relative() { // xbegin
		if !p.inside(in.target()) {
			return errFar
		}
		put32(p.Code[len(p.Code)-4:], 0)
		p.links = append(p.links, link{uint32(len(p.Code)), uint32(in.target())})
		return nil
	}
	if !in.RIP {
		return nil
	}
	offset := at + int(in.DispOff)
	d, err := p.reach(int64(in.at)+int64(in.Len)+int64(in.Disp), len(p.Code), offset+4)
	put32(p.Code[offset:], d)
	return err
}

// event stores the event of a direct branch from the instruction with a number to the
// instruction at to.
func (p *planner) event(from, to uint32, kind Kind) {
	last := uint32(p.Number) << moduleShift
	if number, ok := p.InstructionAt(to); ok {
		to = number
		last |= toNumber
	}
	p.saveRAX(slotSave)
	p.loadRAX(slotPosition)
	p.bytes(0xc7, 0x00)
	p.word(from | uint32(kind)<<kindShift)
	p.bytes(0xc7, 0x40, 4)
	p.word(to)
	p.bytes(0x89, 0x60, 8)
	p.bytes(0xc7, 0x40, 12)
	p.word(last)
	p.bytes(0x48, 0x8d, 0x40, 16)
	p.saveRAX(slotPosition)
	p.loadRAX(slotSave)
}

// jump emits a jump from the instruction with a number to the instruction at to.
func (p *planner) jump(from uint32, to int64, kind Kind) error {
	if !p.inside(to) {
		return p.leave(from, to, kind)
	}
	p.event(from, uint32(to), kind)
	p.bytes(0xe9)
	p.linkTo(uint32(to))
	return nil
}

// dispatch jumps to the runtime's routine, with the target in rax.
func (p *planner) dispatch(from uint32, kind Kind) {
	p.bytes(0x65, 0xc7, 0x04, 0x25)
	p.word(slotFrom)
	p.word(from | uint32(kind)<<kindShift)
	p.bytes(0xff, 0x25)
	p.toWord(wordDispatch)
}

// leave jumps to an address of the original that has no copy.
func (p *planner) leave(from uint32, to int64, kind Kind) error {
	p.saveRAX(slotSave)
	p.bytes(0x48, 0x8d, 0x05) // lea to(%rip), %rax
	if err := p.relative(to); err != nil {
		return err
	}
	p.dispatch(from, kind)
	return nil
}

// pushReturn pushes the return address of a call.
func (p *planner) pushReturn(in *instruction) {
	p.bytes(0xff, 0x35)
	p.toWord(len(p.Words))
	p.Words = append(p.Words, p.Lo+uint64(in.at)+uint64(in.Len))
}

func (p *planner) call(in *instruction) error {
	to := in.target()
	if !p.inside(to) {
		p.pushReturn(in)
		return p.leave(in.number, to, IndirectCall)
	}
	p.event(in.number, uint32(to), Call)
	p.pushReturn(in)
	p.bytes(0xe9)
	p.linkTo(uint32(to))
	return nil
}

// conditional skips the code of the branch if it is not taken.
func (p *planner) conditional(in *instruction) error {
	short := in.IsLoop() // it cannot be inverted
	if short {
		if in.Prefix&x86.PrefixAddress != 0 {
			p.bytes(0x67)
		}
		p.bytes(in.Opcode, 2, 0xeb, 0)
	} else {
		p.bytes(0x0f, 0x80|in.Opcode&15^1)
		p.word(0)
	}
	around := len(p.Code)
	if err := p.jump(in.number, in.target(), p.kind(in)); err != nil {
		return err
	}
	n := len(p.Code) - around
	if !short {
		put32(p.Code[around-4:], uint32(n))
		return nil
	}
	if n > math.MaxInt8 {
		return errFar
	}
	p.Code[around-1] = byte(n)
	return nil
}

// indirect loads the target, which the runtime looks up.
func (p *planner) indirect(in *instruction, kind Kind) error {
	p.saveRAX(slotSave)
	at := 0
prefixes:
	for ; ; at++ {
		switch b := in.bytes[at]; b {
		case 0x64, 0x65, 0x67:
			p.bytes(b)
		case 0x66, 0xf2, 0xf3, 0x26, 0x2e, 0x36, 0x3e: // hints
		default:
			break prefixes
		}
	}
	if in.Rex != 0 {
		at++
	}
	operand := in.bytes[at+1:] // after the opcode
	p.bytes(0x48|in.Rex&3, 0x8b)
	start := len(p.Code)
	p.bytes(operand...)
	p.Code[start] &^= 0x38 // rax
	if in.RIP {
		p.Code = p.Code[:len(p.Code)-4]
		if err := p.relative(int64(in.at) + int64(in.Len) + int64(in.Disp)); err != nil {
			return err
		}
	}
	if kind == IndirectCall {
		p.pushReturn(in)
	}
	p.dispatch(in.number, kind)
	return nil
}

// ret pops the return address, as a return does.
func (p *planner) ret(in *instruction) {
	pop := uint32(8)
	if in.Opcode == 0xc2 {
		pop += uint32(binary.LittleEndian.Uint16(in.bytes[in.ImmOff:]))
	}
	p.saveRAX(slotSave)
	p.bytes(0x48, 0x8b, 0x04, 0x24)
	p.bytes(0x48, 0x8d, 0xa4, 0x24)
	p.word(pop)
	p.dispatch(in.number, Return)
}
