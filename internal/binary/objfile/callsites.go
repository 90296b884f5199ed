package objfile

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/aarch64"
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machine"
)

// Interpreter returns the path of the loader that a program requests, or "" if it is linked
// statically.
func (f *File) Interpreter() string {
	for _, p := range f.elf.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > maxPathLen {
			continue
		}
		path := make([]byte, p.Filesz)
		if _, err := p.ReadAt(path, 0); err == nil {
			return strings.TrimRight(string(path), "\x00")
		}
	}
	return ""
}

// CallSites counts the calls of functions that the module imports by name, such as the hooks
// that compilers insert. Such a call goes through a slot that the loader fills in, directly or
// by a linker-generated stub.
func (f *File) CallSites(names ...string) (map[string]int, error) {
	slots, code, err := f.imports(names)
	if err != nil || len(slots) == 0 {
		return nil, err
	}
	switch f.Machine() {
	case machine.X86_64:
		return callsX86(code, slots), nil
	case machine.AArch64:
		return callsAArch64(code, slots), nil
	}
	return nil, fmt.Errorf("%s: %w", f.path, f.Machine().Only("calls of what compilers insert are counted", machine.X86_64, machine.AArch64))
}

// Stubs returns the names of imported functions by the address of the stub through which the module calls them: an
// entry of its PLT. It is empty for machines other than x86-64 and AArch64.
func (f *File) Stubs() (map[uint64]string, error) {
	slots, code, err := f.imports(nil)
	if err != nil || len(slots) == 0 {
		return nil, err
	}
	switch f.Machine() {
	case machine.X86_64:
		return stubsX86(code, slots), nil
	case machine.AArch64:
		return stubsAArch64(code, slots), nil
	}
	return nil, nil
}

// imports returns the slots of imported functions with these names, or of all if names is nil, and the code that may
// call through them. The code is not read if there are no slots.
func (f *File) imports(names []string) (slots map[uint64]string, code *Code, err error) {
	if slots, err = f.importSlots(names); err != nil || len(slots) == 0 {
		return nil, nil, err
	}
	code, err = f.Code()
	return slots, code, err
}

func stubsX86(code *Code, slots map[uint64]string) map[uint64]string {
	stubs := map[uint64]string{}
	for _, s := range code.sections {
		for at := range indirect(s.data, s.addr, 0x25) {
			if name, ok := slots[at.slot]; ok {
				addStub(stubs, s, at.from, name)
			}
		}
	}
	return stubs
}

func callsX86(code *Code, slots map[uint64]string) map[string]int {
	stubs := stubsX86(code, slots)
	calls := map[string]int{}
	for _, s := range code.sections {
		for at := range indirect(s.data, s.addr, 0x15) {
			if name, ok := slots[at.slot]; ok {
				calls[name]++
			}
		}
		for i := 0; i+5 <= len(s.data); i++ {
			if s.data[i] == 0xe8 {
				if name, ok := stubs[relative(s.data[i+1:], s.addr+uint64(i)+5)]; ok {
					calls[name]++
				}
			}
		}
	}
	return calls
}

// stubsAArch64 finds stubs by the page of their slot: adrp to x16 or another register, a load
// from the page, and a branch to the loaded address.
func stubsAArch64(code *Code, slots map[uint64]string) map[uint64]string {
	stubs := map[uint64]string{}
	for _, s := range code.sections {
		for i := 0; i+aarch64.Size <= len(s.data); i += aarch64.Size {
			if name, call := slotBranch(s, i, slots); name != "" && !call {
				stubs[s.addr+uint64(i)] = name
				if i >= aarch64.Size && aarch64.Decode(s.data[i-aarch64.Size:]).Class() == controlflow.Landing {
					stubs[s.addr+uint64(i)-aarch64.Size] = name
				}
			}
		}
	}
	return stubs
}

// callsAArch64 finds calls through stubs, and those that load the address of a slot in the same way.
func callsAArch64(code *Code, slots map[uint64]string) map[string]int {
	stubs, calls := stubsAArch64(code, slots), map[string]int{}
	for _, s := range code.sections {
		for i := 0; i+aarch64.Size <= len(s.data); i += aarch64.Size {
			if name, call := slotBranch(s, i, slots); name != "" && call {
				calls[name]++
			}
		}
	}
	for _, s := range code.sections {
		for i := 0; i+aarch64.Size <= len(s.data); i += aarch64.Size {
			if in := aarch64.Decode(s.data[i:]); in.Class() == controlflow.Call {
				if name, ok := stubs[s.addr+uint64(i)+uint64(in.Distance())]; ok {
					calls[name]++
				}
			}
		}
	}
	return calls
}

// slotBranch returns the name of the slot whose page the instruction at an offset computes,
// and whether the address in the slot is then called or jumped to.
func slotBranch(s codeSection, off int, slots map[uint64]string) (name string, call bool) {
	const near = 16 // instructions
	first := aarch64.Decode(s.data[off:])
	page, is, ok := first.Address(s.addr + uint64(off))
	if !ok || !is {
		return "", false
	}
	loaded := uint8(aarch64.SP)
	for i := off + aarch64.Size; i+aarch64.Size <= len(s.data) && i <= off+near*aarch64.Size; i += aarch64.Size {
		in := aarch64.Decode(s.data[i:])
		n, load := in.Offset()
		switch class := in.Class(); {
		case name == "" && load && in.Rn() == first.Rd():
			if name, loaded = slots[page+n], in.Rd(); name == "" {
				return "", false
			}
		case class == controlflow.IndirectJump || class == controlflow.IndirectCall:
			if name == "" || in.Rn() != loaded {
				return "", false
			}
			return name, class == controlflow.IndirectCall
		case class != controlflow.Other:
			return "", false
		}
	}
	return "", false
}

// through is an instruction that branches to the address in a slot.
type through struct{ from, slot uint64 }

// indirect yields the jumps (modrm 0x25) or calls (0x15) through slots.
func indirect(data []byte, addr uint64, modrm byte) func(func(through) bool) {
	return func(yield func(through) bool) {
		for i := 0; i+6 <= len(data); i++ {
			at := addr + uint64(i)
			if data[i] == 0xff && data[i+1] == modrm && !yield(through{at, relative(data[i+2:], at+6)}) {
				return
			}
		}
	}
}

func relative(disp []byte, next uint64) uint64 {
	return next + uint64(int64(int32(binary.LittleEndian.Uint32(disp))))
}

// addStub adds a stub, given its jump, which may follow a prefix and a landing pad.
func addStub(stubs map[uint64]string, s codeSection, jump uint64, name string) {
	i := int(jump - s.addr)
	stubs[jump] = name
	if i >= 1 && s.data[i-1] == 0xf2 { // bnd
		i--
		stubs[s.addr+uint64(i)] = name
	}
	if i >= 4 && string(s.data[i-4:i]) == "\xf3\x0f\x1e\xfa" { // endbr64
		stubs[s.addr+uint64(i)-4] = name
	}
}

// importSlots returns the slots of imported functions with these names, or of all if names is nil.
func (f *File) importSlots(names []string) (map[uint64]string, error) {
	symbols, err := f.dynamicSymbols()
	if err != nil {
		return nil, err
	}
	wanted := map[uint32]string{}
	for i, s := range symbols {
		if names == nil && s.Name != "" && s.Section == elf.SHN_UNDEF {
			wanted[uint32(i)] = s.Name
		}
		for _, name := range names {
			if s.Name == name && s.Section == elf.SHN_UNDEF {
				wanted[uint32(i)] = name
			}
		}
	}
	slots := map[uint64]string{}
	for _, s := range f.elf.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 || len(wanted) == 0 {
			continue
		}
		data, err := f.read(s)
		if err != nil {
			return nil, err
		}
		const size = 24
		for ; len(data) >= size; data = data[size:] {
			info := binary.LittleEndian.Uint64(data[8:])
			if name, ok := wanted[uint32(info>>32)]; ok && f.relocation(uint32(info)) == relocSlot {
				slots[binary.LittleEndian.Uint64(data)] = name
			}
		}
	}
	return slots, nil
}
