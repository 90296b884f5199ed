package prove

import (
	"bytes"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	kinds "github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// compare compares two instructions, and adds the pairs that follow.
func (l *laidOut) compare(s *segment, x, y stop) {
	next, tnext := place{x.section, x.off + int64(x.in.Len)}, place{y.section, y.off + int64(y.in.Len)}
	if x.in.Relative() || y.in.Relative() {
		l.compareBranch(s, x, y, next, tnext)
		return
	}
	if !l.sameInstruction(s, x, y) {
		return
	}
	if !x.in.Class.Ends() {
		l.follows(s, x, next, tnext)
	}
}

// follows adds what follows an instruction. Behind a call that does not return is anything.
func (l *laidOut) follows(s *segment, x stop, next, tnext place) {
	if x.in.Class.IsCall() && (l.finished[next] || l.follow(0, next).out) {
		return
	}
	l.push(s, "what follows the instruction", x.off, next, tnext)
}

// compareBranch compares direct branches and calls.
func (l *laidOut) compareBranch(s *segment, x, y stop, next, tnext place) {
	to, okA := l.a.branch(x.place, x.in)
	tto, okB := l.b.branch(y.place, y.in)
	inverted := x.in.inverts(y.in)
	switch {
	case okA && l.sameByAddress(x, y, to):
	case !okA || !okB:
		l.unknown(s, "the branch at %#x refers to something unknown", x.off)
		return
	case inverted && to.name == "" && tto.name == "":
		l.push(s, "the branch", x.off, to.place, tnext)
		l.push(s, "what follows the branch", x.off, next, tto.place)
		return
	case !x.in.branchesAs(y.in), to.name != tto.name:
		l.differ(s, "the branch at %#x is another one at %#x", x.off, y.off)
		return
	case to.name == "":
		l.push(s, "the branch", x.off, to.place, tto.place)
	case to.off != tto.off:
		l.differ(s, "the branch at %#x leads elsewhere", x.off)
		return
	}
	if x.in.Class == controlflow.Jump || x.in.Class == controlflow.Call && (!l.returns(to.name) || to.name == "" && l.endless[to.place]) {
		return
	}
	l.follows(s, x, next, tnext)
}

// sameInstruction compares two instructions that are not direct branches, and adds the places they refer to.
func (l *laidOut) sameInstruction(s *segment, x, y stop) bool {
	if l.a.Machine == kinds.AArch64 {
		return l.sameWord(s, x, y)
	}
	if x.in.Len != y.in.Len {
		l.differ(s, "the instruction at %#x is another one at %#x", x.off, y.off)
		return false
	}
	a := bytes.Clone(l.a.Sections[x.section].Data[x.off:][:x.in.Len])
	b := bytes.Clone(l.b.Sections[y.section].Data[y.off:][:y.in.Len])
	ra, rb := l.a.within(x.section, x.off, x.in.Len), l.b.within(y.section, y.off, y.in.Len)
	if x.in.RIP && (len(ra) == 0 || len(rb) == 0) {
		return l.sameCodeAddress(s, relocatedStop{x, a, ra}, relocatedStop{y, b, rb})
	}
	if len(ra) != len(rb) {
		l.differ(s, "the instruction at %#x refers to something else at %#x", x.off, y.off)
		return false
	}
	for i := range ra {
		off, size := int64(ra[i].Off)-x.off, fieldSize(ra[i].Type)
		if off != int64(rb[i].Off)-y.off || off+size > int64(x.in.Len) {
			l.differ(s, "the instruction at %#x refers to something else at %#x", x.off, y.off)
			return false
		}
		clear(a[off : off+size])
		clear(b[off : off+size])
		ta, okA := l.a.target(ra[i], int64(x.in.Len)-off)
		tb, okB := l.b.target(rb[i], int64(x.in.Len)-off)
		if !okA || !okB || !sameKind(ra[i].Type, rb[i].Type) || !l.sameTarget(s, x.off, ta, tb) {
			l.differ(s, "the instruction at %#x refers to something else at %#x", x.off, y.off)
			return false
		}
	}
	return l.sameBytes(s, relocatedStop{x, a, ra}, relocatedStop{y, b, rb})
}

func (l *laidOut) sameBytes(s *segment, x, y relocatedStop) bool {
	if !bytes.Equal(x.bytes, y.bytes) {
		l.differ(s, "the instruction at %#x is another one at %#x", x.off, y.off)
		return false
	}
	return true
}

// relocatedStop is an instruction, a copy of its bytes, and the relocations in it.
type relocatedStop struct {
	stop
	bytes  []byte
	relocs []*objfile.Reloc
}

// refers returns what an instruction refers to, by its relocation or in its own section.
func (p *relocatedStop) refers(o *object) (target, bool) {
	if len(p.relocs) == 0 {
		return target{place: place{p.section, int64(p.in.Memory(uint64(p.off)))}}, true
	}
	rel := p.relocs[0]
	t, ok := o.target(rel, p.off+int64(p.in.Len)-int64(rel.Off))
	return t, ok && len(p.relocs) == 1 && relative(rel.Type)
}

// sameCodeAddress compares instructions of which one refers to code in its own section: the assembler resolved that.
func (l *laidOut) sameCodeAddress(s *segment, x, y relocatedStop) bool {
	ta, okA := x.refers(l.a)
	tb, okB := y.refers(l.b)
	if !okA || !okB || x.in.DispOff != y.in.DispOff || !l.sameTarget(s, x.off, ta, tb) {
		l.differ(s, "the instruction at %#x refers to something else at %#x", x.off, y.off)
		return false
	}
	clear(x.bytes[x.in.DispOff:][:x.in.DispSize])
	clear(y.bytes[y.in.DispOff:][:y.in.DispSize])
	return l.sameBytes(s, x, y)
}

// sameTarget compares what two instructions refer to. Places in code are pairs.
func (l *laidOut) sameTarget(s *segment, at int64, a, b target) bool {
	if a.name != "" || b.name != "" {
		return a.name == b.name && a.off == b.off
	}
	if a.section >= len(l.a.Sections) || b.section >= len(l.b.Sections) {
		return false
	}
	if l.a.Sections[a.section].Code && l.b.Sections[b.section].Code {
		l.pushFar(s, "the address", at, a.place, b.place)
		return true
	}
	return l.a.pair[a.section] == b.section && a.off == b.off
}

// sameByAddress reports whether x calls or jumps to a function of another module by a stub of the linker's, and y by the address that
// the dynamic linker found.
func (l *laidOut) sameByAddress(x, y stop, to target) bool {
	rel := l.b.within(y.section, y.off, y.in.Len)
	if l.b.Machine != kinds.X86_64 || to.name == "" || len(rel) != 1 || rel[0].Off != uint64(y.off)+2 || !sameKind(rel[0].Type, relGOTPCREL) {
		return false
	}
	by, ok := l.b.target(rel[0], 0)
	if !ok || by != to || l.a.defines(to.name) || l.b.defines(to.name) {
		return false
	}
	code := l.b.Sections[y.section].Data[y.off:]
	switch x.in.Class {
	case controlflow.Call:
		return bytes.HasPrefix(code, []byte{0xff, 0x15}) // call *f@GOTPCREL(%rip)
	case controlflow.Jump:
		return bytes.HasPrefix(code, []byte{0xff, 0x25})
	}
	return false
}

// defines reports whether a symbol is in the object itself.
func (o *object) defines(name string) bool {
	return slices.ContainsFunc(o.Symbols, func(s objfile.ObjectSymbol) bool { return s.Name == name && s.Section != 0 })
}
