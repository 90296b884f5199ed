// Package machine names the machines that programs are for.
package machine

import "fmt"

// Kind is a machine: an instruction set with one size of addresses.
type Kind uint8

// The machines. The zero value is X86_64. Unknown has no name.
const (
	X86_64 Kind = iota
	AArch64
	Arm
	I386
	RISCV
	PPC64
	S390
	LoongArch
	MIPS
	Unknown
)

var names = [...]string{
	"x86-64", "AArch64", "Arm", "i386", "RISC-V", "PowerPC64", "S390", "LoongArch", "MIPS", "a machine that cairn does not know",
}

func (k Kind) String() string { return names[min(k, Unknown)] }

// Only returns an error if k is none of the machines in of. what describes the operation, as
// in "profiles of samples are made".
func (k Kind) Only(what string, of ...Kind) error {
	list := ""
	for i, m := range of {
		if m == k {
			return nil
		}
		switch {
		case i > 0 && i == len(of)-1:
			list += " and "
		case i > 0:
			list += ", "
		}
		list += m.String()
	}
	return fmt.Errorf("its code is for %v, and %s only for %s", k, what, list)
}
