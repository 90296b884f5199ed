package prove

import (
	"bytes"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// The counters of blocks and branches add 1 to eight bytes of a record. They do it in one instruction, which changes the
// flags; or in a register; or with the flags on the stack, below the 128 bytes that the function may use there.

const countBytes = 8

// What surrounds a counter that keeps the flags, and how much lower the stack pointer is after each instruction.
var (
	savesFlags = []byte{
		0x48, 0x8d, 0x64, 0x24, 0x80, // leaq -128(%rsp), %rsp
		0x9c, // pushfq
	}
	restoresFlags = []byte{
		0x9d,                                           // popfq
		0x48, 0x8d, 0xa4, 0x24, 0x80, 0x00, 0x00, 0x00, // leaq 128(%rsp), %rsp
	}
)

const (
	belowStack = 128
	withFlags  = belowStack + 8
)

// counter judges the counter that begins with the instruction in at b, as probe does.
func (w *walker) counter(in x86.Inst, next codePlace) (n int64, ok bool) {
	switch {
	case w.increments(in, w.b):
		return w.countAlone(in, next)
	case isWide(in) && in.Opcode == 0x8b && in.RIP:
		if record, is := w.recordAt(in, w.b); is {
			return w.countInRegister(in, record, next)
		}
	case bytes.HasPrefix(w.dataB[w.b:w.s.b.hi], savesFlags):
		return w.countSavingFlags()
	}
	return 0, true
}

// counts reports whether an instruction is incq, or incl, which counts what runs at most once in each call.
func counts(in x86.Inst) bool {
	return in.Map == x86.MapOne && in.Prefix&^x86.PrefixLock == 0 && in.HasModRM && (in.Rex == 0x48 || in.Rex == 0) && in.Opcode == 0xff && in.Reg() == 0 && in.RIP
}

// isWide reports whether an instruction without escape has operands of 64 bits, and no prefix.
func isWide(in x86.Inst) bool {
	return in.Map == x86.MapOne && in.Prefix == 0 && in.Wide() && in.HasModRM
}

// increments reports whether the instruction in at an offset of b counts in a record, locked or not.
func (w *walker) increments(in x86.Inst, at int64) bool {
	if !counts(in) {
		return false
	}
	_, is := w.recordAt(in, at)
	return is
}

// countAlone judges an increment where the flags have to be dead.
func (w *walker) countAlone(in x86.Inst, next codePlace) (n int64, ok bool) {
	record, _ := w.recordAt(in, w.b)
	if !w.claim(record, countBytes) {
		return 0, false
	}
	w.kind[w.b] = probed
	if live, known := w.flagsLive(next); live {
		w.differ(w.s, "the probe at %#x changes flags that are read later", w.b)
		return 0, false
	} else if !known {
		w.unknown(w.s, "the probe at %#x changes flags, and whether they are read later is unknown", w.b)
	}
	return int64(in.Len), true
}

// countInRegister judges a load of a record, its increment by lea, and the store, which overwrite a register.
func (w *walker) countInRegister(load x86.Inst, record uint64, next codePlace) (n int64, ok bool) {
	reg := load.Reg()
	add := w.b + int64(load.Len)
	sum := []byte{0x48 | reg>>3<<2 | reg>>3, 0x8d, 0x40 | reg&7<<3 | reg&7, 1} // leaq 1(%reg), %reg
	store := add + int64(len(sum))
	fits := store < w.s.b.hi && bytes.Equal(w.dataB[add:store], sum) && len(w.prover.b.within(w.code.b, add, uint8(len(sum)))) == 0
	var end x86.Inst
	if fits {
		var err error
		end, err = x86.Decode(w.dataB[store:w.s.b.hi])
		to, is := w.recordAt(end, store)
		fits = err == nil && isWide(end) && end.Opcode == 0x89 && end.RIP && end.Reg() == reg && is && to == record
	}
	if !fits || scratchRegisters&(1<<reg) == 0 {
		w.differ(w.s, "the instruction at %#x reads a record, and is no probe", w.b)
		return 0, false
	}
	if !w.claim(record, countBytes) {
		return 0, false
	}
	w.kind[w.b], w.kind[add], w.kind[store] = probed, probeRest, probeRest
	if live, known := w.registerLive(next, reg); live {
		w.differ(w.s, "the probe at %#x overwrites a register that is read later", w.b)
		return 0, false
	} else if !known {
		w.unknown(w.s, "the probe at %#x overwrites a register, and whether it is read later is unknown", w.b)
	}
	return store + int64(end.Len) - w.b, true
}

// countSavingFlags judges a counter between the instructions that save and restore the flags, if one follows.
func (w *walker) countSavingFlags() (n int64, ok bool) {
	push := w.b + int64(len(savesFlags)) - 1
	at := push + 1
	in, err := x86.Decode(w.dataB[at:w.s.b.hi])
	if err != nil || !w.increments(in, at) {
		return 0, true // the function's own
	}
	pop := at + int64(in.Len)
	end := pop + int64(len(restoresFlags))
	if end > w.s.b.hi || !bytes.Equal(w.dataB[pop:end], restoresFlags) {
		w.differ(w.s, "the probe at %#x does not restore the flags and the stack pointer", w.b)
		return 0, false
	}
	record, _ := w.recordAt(in, at)
	if !w.claim(record, countBytes) {
		return 0, false
	}
	w.kind[w.b] = probed
	for _, part := range []struct{ at, low int64 }{{push, belowStack}, {at, withFlags}, {pop, withFlags}, {pop + 1, belowStack}} {
		w.kind[part.at], w.sunk[part.at] = probeRest, part.low
	}
	return end - w.b, true
}

// edge is the block of an edge, between an inverted branch and where that leads.
type edge struct {
	at     int64 // the branch of a
	lo, hi int64 // in b
}

// inverts reports whether tin is the conditional branch in with the opposite condition.
func inverts(in, tin x86.Inst) bool {
	return in.Class == controlflow.Conditional && tin.Class == controlflow.Conditional && in.Prefix == 0 && tin.Prefix == 0 &&
		byFlags(in) && byFlags(tin) && in.Opcode&0xf == tin.Opcode&0xf^1
}

// byFlags reports whether a conditional branch has its condition in its opcode.
func byFlags(in x86.Inst) bool {
	return in.Map == x86.MapOne && in.Opcode&0xf0 == 0x70 || in.Map == x86.Map0F && in.Opcode&0xf0 == 0x80
}

// edge judges the branch tin at b, which inverts that at a, with the block of an edge behind it: a nop, a probe, and a
// jump to where the branch at a leads: by its relocations, if that is in another section.
func (w *walker) edge(in, tin x86.Inst, relocs []*objfile.Reloc) bool {
	branch, lo := w.b, w.b+int64(tin.Len)
	over := int64(tin.Target(uint64(w.b)))
	to, off := w.prover.destination(w.code, w.a, in)
	if to == nil || lo >= w.s.b.hi || over > w.s.b.hi || w.dataB[lo] != 0x90 {
		w.differ(w.s, "the branch at %#x is another one at %#x", w.a, w.b)
		return false
	}
	n, ok := int64(0), true
	// The probe is judged as one at b, before where the edge leads.
	w.b = lo + 1
	first, err := x86.Decode(w.dataB[w.b:w.s.b.hi])
	if err == nil {
		n, ok = w.probe(first, codePlace{to, off})
	}
	jumpAt := w.b + n
	w.b = branch
	if !ok {
		return false
	}
	jump, err := x86.Decode(w.dataB[jumpAt:w.s.b.hi])
	leads := w.prover.b.within(w.code.b, jumpAt, jump.Len)
	if n == 0 || err != nil || jump.Class != controlflow.Jump || len(leads) != len(relocs) || jumpAt+int64(jump.Len) != over {
		w.differ(w.s, "the branch at %#x is inverted at %#x, and no block of an edge follows", w.a, w.b)
		return false
	}
	w.kind[lo], w.kind[lo+1], w.kind[jumpAt] = probeRest, probeRest, probeRest // only the branch leads here
	w.probes++
	w.edges = append(w.edges, edge{w.a, lo, over})
	w.edged = over - lo
	if len(relocs) > 0 {
		const behind = 4 // bytes from the field of a branch to its end
		return w.sameReference(relocs[0], leads[0], behind)
	}
	w.refer("the branch at %#x", w.a, off, int64(jump.Target(uint64(jumpAt))))
	w.branch(int64(jump.Target(uint64(jumpAt))))
	return true
}
