package prove

import (
	"slices"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// flagSet is a set of the status flags.
type flagSet uint8

const (
	carry flagSet = 1 << iota
	parity
	zero
	sign
	overflow
	adjust
	noFlags  flagSet = 0
	allFlags         = carry | parity | zero | sign | overflow | adjust
)

// flagsLive reports whether the plain code from at on may read a status flag before it writes that flag; known
// is false if that is unknown. Callers and callees pass nothing in the flags, by the System V ABI.
func (w *walker) flagsLive(at int64) (live, known bool) {
	type state struct {
		at   int64
		held flagSet // the flags that nothing has written since
	}
	seen := map[int64]flagSet{}
	work := []state{{at, allFlags}}
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		for s.held != 0 && s.held&^seen[s.at] != 0 {
			seen[s.at] |= s.held
			if s.at == w.s.a.hi {
				break // after a call that does not return
			}
			if s.at < w.s.a.lo || s.at > w.s.a.hi {
				return false, false
			}
			in, err := x86.Decode(w.dataA[s.at:w.s.a.hi])
			if err != nil {
				return false, false
			}
			reads, writes := flagsOf(in, w.dataA[s.at:])
			if in.Class == controlflow.IndirectJump { // also a tail call
				for _, to := range w.addressTaken() {
					work = append(work, state{to, s.held})
				}
			}
			if reads&s.held != 0 {
				return true, true
			}
			s.held &^= writes
			if in.Relative() {
				if len(w.prover.a.within(w.code.a, s.at, in.Len)) > 0 {
					if in.Class == controlflow.Jump {
						break // a tail call, to another section or object
					}
				} else if to := int64(in.Target(uint64(s.at))); to >= w.s.a.lo && to < w.s.a.hi {
					work = append(work, state{to, s.held})
				} // otherwise a tail call
			}
			if in.Class.Ends() {
				break
			}
			s.at += int64(in.Len)
		}
	}
	return false, true
}

// addressTaken returns the places in the segment, except its start, whose address data or code takes: an indirect jump
// leads to one of them, or out of the function.
func (w *walker) addressTaken() []int64 {
	if w.s.taken != nil {
		return w.s.taken
	}
	out := slices.Clone(w.addressed(w.code.a, w.s.a))
	for at := w.s.a.lo; at < w.s.a.hi; {
		in, err := x86.Decode(w.dataA[at:w.s.a.hi])
		if err != nil {
			at++ // data between code, or code that the walk rejects
			continue
		}
		if in.RIP && in.Class == controlflow.Other {
			to := int64(in.Memory(uint64(at)))
			for _, r := range w.prover.a.within(w.code.a, at, in.Len) {
				t, ok := w.prover.a.target(r, int64(in.Len)-(int64(r.Off)-at))
				if to = t.off; !ok || t.name != "" || t.section != w.code.a {
					to = -1
				}
			}
			if to > w.s.a.lo && to < w.s.a.hi {
				out = append(out, to)
			}
		}
		at += int64(in.Len)
	}
	slices.Sort(out)
	w.s.taken = append([]int64{}, slices.Compact(out)...)
	return w.s.taken
}

// flagsOf returns the status flags that an instruction may read and those that it certainly writes. An
// instruction that leaves the function writes all. code begins with the instruction.
func flagsOf(in x86.Inst, code []byte) (reads, writes flagSet) {
	switch in.Class {
	case controlflow.Return, controlflow.Call, controlflow.IndirectCall, controlflow.Trap, controlflow.Syscall:
		return noFlags, allFlags
	case controlflow.Conditional:
		if in.Map == x86.MapOne && in.Opcode == 0xc7 { // xbegin
			return noFlags, noFlags
		}
		if in.IsLoop() {
			return zero, noFlags
		}
		return condition(in.Opcode), noFlags
	case controlflow.IndirectJump:
		return noFlags, noFlags
	}
	if in.Prefix&x86.PrefixVector != 0 {
		return noFlags, noFlags // BMI and comparisons of vectors write, none reads
	}
	switch in.Map {
	case x86.MapOne:
		return flagsOne(in, code)
	case x86.Map0F:
		return flags0F(in)
	case x86.Map0F38:
		if in.Opcode == 0xf6 { // adcx, adox
			return carry | overflow, noFlags
		}
	}
	return noFlags, noFlags
}

// condition returns the flags that a condition tests, by the low four bits of the opcodes that have one.
func condition(opcode uint8) flagSet {
	switch opcode & 0xf >> 1 {
	case 0:
		return overflow
	case 1:
		return carry
	case 2:
		return zero
	case 3:
		return carry | zero
	case 4:
		return sign
	case 5:
		return parity
	case 6:
		return sign | overflow
	}
	return sign | overflow | zero
}

// flagsOne handles opcodes without escape.
func flagsOne(in x86.Inst, code []byte) (reads, writes flagSet) {
	op, reg := in.Opcode, in.Reg()&7
	switch {
	case op < 0x40 && op&7 < 6:
		return arithmetic(op >> 3 & 7)
	case op == 0x80, op == 0x81, op == 0x83:
		return arithmetic(reg)
	case op == 0x84, op == 0x85, op == 0xa8, op == 0xa9, op == 0x69, op == 0x6b: // test, imul
		return noFlags, allFlags
	case op == 0xf6, op == 0xf7:
		if reg == 2 { // not
			return noFlags, noFlags
		}
		return noFlags, allFlags
	case (op == 0xfe || op == 0xff) && reg < 2: // inc, dec
		return noFlags, allFlags &^ carry
	case op == 0xc0, op == 0xc1, op >= 0xd0 && op <= 0xd3:
		if reg == 2 || reg == 3 { // rcl, rcr
			return carry, noFlags
		}
		// A shift by 0 writes nothing, and a rotation never writes all.
		mask := uint8(0x1f)
		if in.Rex&8 != 0 {
			mask = 0x3f // of 64 bits
		}
		if reg >= 4 && (op == 0xd0 || op == 0xd1 || in.ImmSize == 1 && code[in.ImmOff]&mask != 0) {
			return noFlags, allFlags
		}
		return noFlags, noFlags
	case op == 0xf5: // cmc
		return carry, noFlags
	case op == 0xf8, op == 0xf9: // clc, stc
		return noFlags, carry
	case op == 0x9c, op == 0x9f: // pushf, lahf
		return allFlags, noFlags
	case (op == 0xda || op == 0xdb) && in.ModRM >= 0xc0 && in.ModRM < 0xe0: // fcmov
		return carry | zero | parity, noFlags
	case (op == 0xdb || op == 0xdf) && in.ModRM >= 0xe8 && in.ModRM < 0xf8: // fucomi, fcomi
		return noFlags, allFlags
	}
	return noFlags, noFlags
}

// arithmetic handles the eight operations whose number opcodes and ModRM share.
func arithmetic(number uint8) (reads, writes flagSet) {
	if number == 2 || number == 3 { // adc, sbb
		return carry, allFlags
	}
	return noFlags, allFlags
}

// flags0F handles opcodes after 0F.
func flags0F(in x86.Inst) (reads, writes flagSet) {
	switch op := in.Opcode; {
	case op >= 0x40 && op <= 0x4f, op >= 0x90 && op <= 0x9f: // cmov, setcc
		return condition(op), noFlags
	case op == 0x2e, op == 0x2f, op == 0xaf, op == 0xb0, op == 0xb1, op == 0xc0, op == 0xc1: // comis, imul, cmpxchg, xadd
		return noFlags, allFlags
	case op == 0xa3, op == 0xab, op == 0xb3, op == 0xbb, op == 0xba: // bt, bts, btr, btc
		return noFlags, carry
	}
	return noFlags, noFlags
}
