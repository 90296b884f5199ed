package prove

import (
	"strings"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// probe judges the probe that begins with the instruction in at b and returns its length, 0 if it is none. ok
// is false if a probe is harmful. next is where the plain code continues.
//
// The forms are those of the record modes: a store of 1 to a byte, which changes nothing else; a count or a
// comparison, with a branch to the path of a first call; and the counters of blocks and branches.
func (w *walker) probe(in x86.Inst, next codePlace) (n int64, ok bool) {
	if n, ok := w.counter(in, next); n != 0 || !ok {
		return n, ok
	}
	if !in.RIP || in.Map != x86.MapOne || in.Prefix&^x86.PrefixLock != 0 || in.Rex != 0 || in.ImmSize != 1 {
		return 0, true
	}
	record, is := w.recordAt(in, w.b)
	if !is {
		return 0, true
	}
	imm := w.dataB[w.b+int64(in.ImmOff)]
	size, condition := uint64(1), uint8(0)
	switch reg := in.Reg(); {
	case in.Opcode == 0xc6 && reg == 0 && imm == 1 && in.Prefix == 0: // movb $1
	case in.Opcode == 0x83 && reg == 5 && imm == 1: // subl $1, then jc
		size, condition = 4, 2
	case in.Opcode == 0x80 && reg == 7 && imm == 0 && in.Prefix == 0: // cmpb $0, then je
		condition = 4
	default:
		w.differ(w.s, "the instruction at %#x changes a record, and is no probe", w.b)
		return 0, false
	}
	if !w.claim(record, size) {
		return 0, false
	}
	w.kind[w.b] = probed
	if condition == 0 {
		return int64(in.Len), true
	}
	return w.firstCall(in, condition)
}

// recordAt returns the offset in the raw section that the instruction in at an offset of b refers to.
func (w *walker) recordAt(in x86.Inst, at int64) (off uint64, ok bool) {
	r := w.prover.b.relocs[w.code.b][uint64(at)+uint64(in.DispOff)]
	if r == nil || !relative(r.Type) {
		return 0, false
	}
	t, ok := w.prover.b.target(r, int64(in.Len)-int64(in.DispOff))
	if !ok || t.name != "" || t.section >= len(w.prover.b.Sections) || w.prover.b.Sections[t.section].Name != "cairn_raw" {
		return 0, false
	}
	// Objects have several sections of that name: their numbers distinguish them.
	return uint64(t.section)<<32 | uint64(uint32(t.off)), true
}

// claim assigns the bytes of a record to one probe.
func (w *walker) claim(record, size uint64) bool {
	s := &w.prover.b.Sections[record>>32]
	if off := record & 0xffffffff; off >= s.Size || size > s.Size-off {
		w.differ(w.s, "the probe at %#x changes memory outside the records", w.b)
		return false
	}
	for i := range size {
		if w.records[record+i] {
			w.differ(w.s, "the probe at %#x changes the record of another one", w.b)
			return false
		}
		w.records[record+i] = true
	}
	return true
}

// firstCall judges a probe that branches to a first-call path.
func (w *walker) firstCall(in x86.Inst, condition uint8) (n int64, ok bool) {
	at := w.b + int64(in.Len)
	jump, err := x86.Decode(w.dataB[at:w.s.b.hi])
	if err != nil || jump.Class != controlflow.Conditional || jump.IsLoop() || jump.Opcode&0xf != condition || len(w.prover.b.within(w.code.b, at, jump.Len)) != 0 {
		w.differ(w.s, "the probe at %#x is not followed by its branch", w.b)
		return 0, false
	}
	w.kind[at] = probeRest
	end := at + int64(jump.Len)
	st := w.stubs[int64(jump.Target(uint64(at)))]
	if st == nil || st.back != end || st.at >= 0 {
		w.differ(w.s, "the probe at %#x leads to no first-call path of its own", w.b)
		return 0, false
	}
	st.at = w.a
	if live, known := w.flagsLive(codePlace{w.code, w.a}); live {
		w.differ(w.s, "the probe at %#x changes flags that are read later", w.b)
		return 0, false
	} else if !known {
		w.unknown(w.s, "the probe at %#x changes flags, and whether they are read later is unknown", w.b)
	}
	if !w.atEntry() {
		w.differ(w.s, "the probe at %#x may call, and is not at the start of the function", w.b)
		return 0, false
	}
	w.s.called = append(w.s.called, w.b)
	return end - w.b, true
}

// findStubs finds the first-call paths of a section: a call of the runtime and a jump to the end of a probe.
// They are after their function or before it.
func (p *prover) findStubs(c *code) {
	c.stubs = map[int64]*stub{}
	for i := range p.b.Sections[c.b].Relocs {
		r := &p.b.Sections[c.b].Relocs[i]
		if !relative(r.Type) || int64(r.Symbol) >= int64(len(p.b.Symbols)) || r.Addend != -4 ||
			!strings.HasPrefix(p.b.Symbols[r.Symbol].Name, "__cairn_first_") || r.Off == 0 || r.Off+4 > uint64(len(c.dataB)) {
			continue
		}
		lo, at := int64(r.Off)-1, int64(r.Off)+4
		call, err := x86.Decode(c.dataB[lo:])
		if err != nil || call.Class != controlflow.Call || call.Len != 5 {
			continue
		}
		jump, err := x86.Decode(c.dataB[at:])
		if err != nil || jump.Class != controlflow.Jump || len(p.b.within(c.b, at, jump.Len)) != 0 {
			continue
		}
		c.stubs[lo] = &stub{lo: lo, hi: at + int64(jump.Len), back: int64(jump.Target(uint64(at))), at: -1}
		c.kind[lo], c.kind[at] = stubPart, stubPart
	}
}

// atEntry reports whether there are only landing marks, padding and the calls that profilers put at entries
// (fentry) between the start of the function and a.
func (w *walker) atEntry() bool {
	for at := w.s.a.lo; at < w.a; {
		in, err := x86.Decode(w.dataA[at:w.a])
		if err != nil || in.Class != controlflow.Nop && in.Class != controlflow.Landing && !w.isFentry(in, at) {
			return false
		}
		at += int64(in.Len)
	}
	return true
}

func (w *walker) isFentry(in x86.Inst, at int64) bool {
	if in.Class != controlflow.Call && in.Class != controlflow.IndirectCall {
		return false
	}
	for _, r := range w.prover.a.within(w.code.a, at, in.Len) {
		if int64(r.Symbol) < int64(len(w.prover.a.Symbols)) && w.prover.a.Symbols[r.Symbol].Name == "__fentry__" {
			return true
		}
	}
	return false
}
