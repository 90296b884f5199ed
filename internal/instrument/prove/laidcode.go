package prove

import (
	"errors"

	"github.com/cairnprof/cairn/internal/binary/aarch64"
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	kinds "github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// insn is an instruction of either machine.
type insn struct {
	x86.Inst              // of AArch64 only the length and the class
	word     aarch64.Inst // of x86-64 0
}

var errCut = errors.New("the section ends in an instruction")

// decode reads an instruction of the object's machine.
func (o *object) decode(code []byte) (insn, error) {
	if o.Machine != kinds.AArch64 {
		in, err := x86.Decode(code)
		return insn{Inst: in}, err
	}
	if len(code) < aarch64.Size {
		return insn{}, errCut
	}
	word := aarch64.Decode(code)
	return insn{x86.Inst{Len: aarch64.Size, Class: word.Class()}, word}, nil
}

// idle reports whether an instruction has no effect if control runs into it.
func (in insn) idle() bool {
	const bti = 0xd503241f // without what it accepts; others also sign the return address
	return in.Class == controlflow.Nop || in.Class == controlflow.Landing && (in.word == 0 || in.word&^0xc0 == bti)
}

// leads returns where a direct branch at an offset goes.
func (in insn) leads(off int64) int64 {
	if in.word != 0 {
		return off + in.word.Distance()
	}
	return int64(in.Target(uint64(off)))
}

// ownFunction returns where a jump to a global symbol goes if that is a function of the object itself. From code of its own section
// the assembler resolves it, and from a cold part it does not.
func (o *object) ownFunction(p stop) (place, bool) {
	if !p.known || p.in.Class != controlflow.Jump {
		return place{}, false
	}
	to, ok := o.branch(p.place, p.in)
	before := int64(0)
	if o.Machine != kinds.AArch64 {
		before = 4 // the field is before the end of the instruction
	}
	for i := range o.Symbols {
		if s := &o.Symbols[i]; ok && s.Name == to.name && to.off == -before && !s.Local && s.Func && o.inCode(s) {
			return place{s.Section, int64(s.Value)}, true
		}
	}
	return place{}, false
}

// inverts reports whether two conditional branches have opposite conditions.
func (in insn) inverts(other insn) bool {
	if in.word == 0 {
		return inverts(in.Inst, other.Inst)
	}
	x, y := uint32(in.word), uint32(other.word)
	far := in.word.FarBits()
	if in.Class != controlflow.Conditional || other.Class != controlflow.Conditional {
		return false
	}
	if x>>24 == 0x54 { // b.cond; the last two conditions are always true
		return x&15 < 14 && x&^far == y&^far^1
	}
	return x>>26&0x1f == 0b01101 && x&^far == y&^far^1<<24 // cbz, cbnz, tbz, tbnz
}

// branchesAs reports whether two direct branches are of the same kind, and have the same condition.
func (in insn) branchesAs(other insn) bool {
	switch {
	case in.Class != other.Class:
		return false
	case in.Class != controlflow.Conditional:
		return true
	case in.word != 0:
		far := in.word.FarBits()
		return uint32(in.word)&^far == uint32(other.word)&^far
	}
	return in.IsLoop() == other.IsLoop() && in.Opcode&0xf == other.Opcode&0xf
}

// sameWord compares two instructions of AArch64 that are not direct branches, and adds the places they refer to.
func (l *laidOut) sameWord(s *segment, x, y stop) bool {
	far := uint32(0)
	ta, refersA, okA := l.a.refersTo(x)
	tb, refersB, okB := l.b.refersTo(y)
	if refersA || refersB {
		far = x.in.word.FarBits()
	}
	if uint32(x.in.word)&^far != uint32(y.in.word)&^far {
		l.differ(s, "the instruction at %#x is another one at %#x", x.off, y.off)
		return false
	}
	if !refersA && !refersB {
		return true
	}
	if !okA || !okB || refersA != refersB || !l.sameKind(x, y) || !l.sameTarget(s, x.off, ta, tb) {
		l.differ(s, "the instruction at %#x refers to something else at %#x", x.off, y.off)
		return false
	}
	if _, page, made := x.in.word.Address(0); made && !page && ta.name == "" && l.a.Sections[ta.section].Code {
		return l.tables.follow(s, x.place, ta.place, tb.place)
	}
	return true
}

// sameKind reports whether two instructions that refer to the same place do so by equivalent relocations, or one by none.
func (l *laidOut) sameKind(x, y stop) bool {
	a, b := l.a.within(x.section, x.off, 1), l.b.within(y.section, y.off, 1)
	return len(a) == 0 || len(b) == 0 || sameKind(a[0].Type, b[0].Type)
}

// refersTo returns what an instruction of AArch64 refers to: by a relocation, or by its distance from it. refers is false if it
// refers to nothing, and ok if what it refers to is not known.
func (o *object) refersTo(p stop) (to target, refers, ok bool) {
	if rel := o.within(p.section, p.off, p.in.Len); len(rel) > 0 {
		to, ok = o.target(rel[0], 0)
		return to, true, ok && len(rel) == 1 && int64(rel[0].Off) == p.off
	}
	if at, page, ok := p.in.word.Address(uint64(p.off)); ok {
		return target{place: place{p.section, int64(at)}}, true, !page
	}
	if at, _, ok := p.in.word.Literal(uint64(p.off)); ok {
		return target{place: place{p.section, int64(at)}}, true, true
	}
	return to, p.in.word.FarBits() != 0 && !p.in.Class.IsDirect(), false
}
