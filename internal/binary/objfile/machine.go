package objfile

import (
	"debug/elf"

	"github.com/cairnprof/cairn/internal/binary/machine"
)

// machines are what ELF and Mach-O files are for.
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

// Machine returns what the module is for.
func (f *File) Machine() machine.Kind { return machineOf(f.elf.Machine) }

// Machine returns what the file is for.
func (im *Image) Machine() machine.Kind { return machineOf(im.machine) }
