package objfile

import (
	"debug/elf"

	"github.com/cairnprof/cairn/internal/binary/machine"
)

// machines maps the machine numbers of ELF.
var machines = map[elf.Machine]machine.Kind{
	elf.EM_X86_64: machine.X86_64, elf.EM_AARCH64: machine.AArch64, elf.EM_ARM: machine.Arm, elf.EM_386: machine.I386,
	elf.EM_RISCV: machine.RISCV, elf.EM_PPC64: machine.PPC64, elf.EM_S390: machine.S390, elf.EM_LOONGARCH: machine.LoongArch,
	elf.EM_MIPS: machine.MIPS,
}

func machineOf(m elf.Machine) machine.Kind {
	if k, ok := machines[m]; ok {
		return k
	}
	return machine.Unknown
}

// Machine returns the machine that the module is for.
func (f *File) Machine() machine.Kind { return machineOf(f.elf.Machine) }

// MachineName returns the machine's name in profiles; "" if it has none.
func (f *File) MachineName() string { return machineName(f.elf.Machine) }

func machineName(m elf.Machine) string {
	if machineOf(m) == machine.Unknown {
		return ""
	}
	return machineOf(m).String()
}

// dynamicKind is the operation of the loader for a relocation.
type dynamicKind uint8

const (
	relocOther    dynamicKind = iota
	relocRelative             // an address in the module, or the result of an ifunc resolver
	relocSymbol               // the address of a symbol
	relocSlot                 // the same, in a table of the linker's
)

// relocation returns the kind of a dynamic relocation by its number.
func (f *File) relocation(number uint32) dynamicKind {
	switch f.elf.Machine {
	case elf.EM_X86_64:
		switch elf.R_X86_64(number) {
		case elf.R_X86_64_RELATIVE, elf.R_X86_64_IRELATIVE:
			return relocRelative
		case elf.R_X86_64_64:
			return relocSymbol
		case elf.R_X86_64_GLOB_DAT, elf.R_X86_64_JMP_SLOT:
			return relocSlot
		}
	case elf.EM_AARCH64:
		switch elf.R_AARCH64(number) {
		case elf.R_AARCH64_RELATIVE, elf.R_AARCH64_IRELATIVE:
			return relocRelative
		case elf.R_AARCH64_ABS64:
			return relocSymbol
		case elf.R_AARCH64_GLOB_DAT, elf.R_AARCH64_JUMP_SLOT:
			return relocSlot
		}
	}
	return relocOther
}
