package detour

import (
	"encoding/binary"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// trampolineAlign is the alignment of trampoline entries.
const trampolineAlign = 16

// trampoline is the copy of a function's first instructions under construction.
type trampoline struct {
	blob    []byte
	fixups  []Fixup
	lo, hi  uint64 // addresses that must be in reach of it
	outside bool   // some address is out of reach
}

// around is how far outside its sections a module may refer to memory: to its
// headers, and to the end of its data.
const around = 1 << 16

// hook adds a site and its trampoline, or returns the reason why it cannot.
func (p *Plan) hook(s *scan, f *function) Reason {
	skip := int(f.at - f.Addr)
	t := trampoline{blob: p.Blob, fixups: p.Fixups, lo: p.Lo - min(p.Lo, around), hi: p.Hi + around}
	slot := uint32(0)
	if s.raises(f) {
		slot = slotSize
	}
	entry := t.begin(f.Addr, slot)
	site := Site{Name: f.Name, Func: f.Addr, At: f.at, Entry: entry, unwind: f.Unwind}
	taken, ended := 0, false
	for taken < patchSize && !ended && skip+taken < len(f.code) {
		i, err := x86.Decode(f.code[skip+taken:])
		if err != nil {
			return Unreadable
		}
		if taken > 0 {
			site.Inner[taken-1] = uint8(len(t.blob) - int(entry))
		}
		if called := i.Class.IsCall(); called && taken+int(i.Len) < patchSize {
			return Calls
		}
		if f.handled(skip+taken) && mayFault(i) {
			return Faults
		}
		if reason := t.move(f.at+uint64(taken), i, f.code[skip+taken:]); reason != "" {
			return reason
		}
		taken += int(i.Len)
		site.steps = append(site.steps, step{skip + taken, len(t.blob) - int(entry)})
		// A call that was moved returns to the function itself.
		ended = i.Class.Ends() || i.Class.IsCall()
	}
	if taken < patchSize && (!ended || !s.filled(f, f.at+uint64(taken), f.at+patchSize)) {
		return Short
	}
	if t.outside {
		return Outside
	}
	if !ended {
		t.jump(f.at + uint64(taken))
	}
	site.Size = uint32(len(t.blob)) - entry
	p.Blob, p.Fixups = t.blob, t.fixups
	copy(site.Original[:], s.module.codeAt(f.at, patchSize))
	p.Sites = append(p.Sites, site)
	return ""
}

// filled reports whether the bytes of [from, to), after f, only fill the space between two functions.
func (s *scan) filled(f *function, from, to uint64) bool {
	if f.Addr+f.Size > from || s.near(to-1) != f {
		return false
	}
	for from < to {
		i, err := s.decode(from)
		if err != nil || i.Class != controlflow.Nop && !(i.Class == controlflow.Trap && i.Opcode == 0xcc) {
			return false
		}
		from += uint64(i.Len)
	}
	return true
}

// decode reads the instruction at addr, in a function or not.
func (s *scan) decode(addr uint64) (x86.Inst, error) {
	for n := uint64(x86.MaxLen); n > 0; n-- {
		if code := s.module.codeAt(addr, n); code != nil {
			return x86.Decode(code)
		}
	}
	return x86.Inst{}, x86.ErrTruncated
}

// begin starts a trampoline, which calls what a slot has, and returns the offset of its entry.
func (t *trampoline) begin(site uint64, slot uint32) uint32 {
	for (len(t.blob)+8)%trampolineAlign != 0 {
		t.blob = append(t.blob, 0xcc)
	}
	t.fixup(Address, site)
	t.bytes(make([]byte, 8)...)
	entry := len(t.blob)
	t.bytes(0xff, 0x15)
	t.blob = binary.LittleEndian.AppendUint32(t.blob, slot-uint32(len(t.blob)+4))
	return uint32(entry)
}

func (t *trampoline) bytes(b ...byte) { t.blob = append(t.blob, b...) }

// fixup records that the next bytes depend on target.
func (t *trampoline) fixup(kind Kind, target uint64) {
	t.fixups = append(t.fixups, Fixup{uint32(len(t.blob)), kind, target})
}

// distance adds four bytes for the distance to target, with after more bytes of the instruction after them.
func (t *trampoline) distance(target uint64, behind int) {
	t.outside = t.outside || target < t.lo || target >= t.hi
	t.fixup(Distance, target-uint64(behind))
	t.bytes(0, 0, 0, 0)
}

func (t *trampoline) jump(target uint64) {
	t.bytes(0xe9)
	t.distance(target, 0)
}

// move adds the instruction at addr, at the start of code, so that it has the same effect at its new address.
func (t *trampoline) move(addr uint64, i x86.Inst, code []byte) Reason {
	code = code[:i.Len]
	switch i.Class {
	case controlflow.Call, controlflow.IndirectCall:
		return t.call(addr, i)
	case controlflow.Trap:
		return Traps
	case controlflow.Jump:
		t.jump(i.Target(addr))
		return ""
	case controlflow.Conditional:
		if i.Opcode == 0xc7 || i.IsLoop() {
			return ShortOnly
		}
		t.bytes(0x0f, 0x80|i.Opcode&0x0f)
		t.distance(i.Target(addr), 0)
		return ""
	}
	if !i.RIP {
		t.bytes(code...)
		return ""
	}
	if i.Prefix&x86.PrefixAddress != 0 {
		return Unreadable // the address is truncated to 32 bits in the instruction
	}
	t.bytes(code[:i.DispOff]...)
	behind := code[i.DispOff+i.DispSize:]
	t.distance(i.Memory(addr), len(behind))
	t.bytes(behind...)
	return ""
}

// call moves a call: it pushes the return address in the function, so that unwinders find the function and not
// the trampoline.
//
//	push 1f(%rip)
//	jmp  target, or jmp *target(%rip)
//	1: .quad address after the call
func (t *trampoline) call(addr uint64, i x86.Inst) Reason {
	jump := 5
	if i.Class == controlflow.IndirectCall {
		if !i.RIP || i.Reg() != 2 {
			return Calls // far, or with an operand that can be relative to the stack pointer, which the push changes
		}
		jump = 6
	}
	t.bytes(0xff, 0x35, byte(jump), 0, 0, 0)
	if i.RIP {
		t.bytes(0xff, 0x25)
		t.distance(i.Memory(addr), 0)
	} else {
		t.jump(i.Target(addr))
	}
	t.fixup(Address, addr+uint64(i.Len))
	t.bytes(make([]byte, 8)...)
	return ""
}
