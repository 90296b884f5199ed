package arm

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Machine is what the instructions of Armv7-A do, in both of its states, as gcc and clang write them.
type Machine struct{}

// RelocNone is the relocation that keeps its target alive and has no other effect.
const RelocNone = "R_ARM_NONE"

// Reader returns the reader of tables and literals in the code, and of the state that code is for.
func (Machine) Reader() asm.Reader { return &parser{} }

// Refuse is that of asm.Machine: code for processors without movw and movt, or without an operating system, is refused.
func (Machine) Refuse(directive string, rest []byte) string {
	switch directive {
	case ".arch", ".cpu":
		return refuseArch(string(bytes.TrimSpace(Code(rest))))
	case ".eabi_attribute":
		return refuseAttribute(Operands(rest))
	}
	return ""
}

// refuseArch returns why code for an architecture is not supported, or "". Directives that name a processor
// also name an architecture.
func refuseArch(name string) string {
	base, _, _ := strings.Cut(name, "+")
	switch {
	case !strings.HasPrefix(base, "armv"):
		return ""
	case strings.HasSuffix(base, "-m") || strings.Contains(base, "-m.") || base == "armv7e-m" || base == "armv6s-m":
		return "code for " + base + ", a processor without an operating system, is not supported: Armv7-A is"
	case strings.HasPrefix(base, "armv7"), strings.HasPrefix(base, "armv8"), strings.HasPrefix(base, "armv9"), base == "armv6t2":
		return ""
	}
	return "code for " + base + " is not supported, which has no movw and movt: compile with -march=armv7-a or later"
}

// refuseAttribute handles the attributes that clang writes instead of .arch.
func refuseAttribute(ops [][]byte) string {
	if len(ops) != 2 {
		return ""
	}
	switch value := string(ops[1]); string(ops[0]) {
	case "6": // Tag_CPU_arch
		switch n, err := strconv.Atoi(value); {
		case err == nil && n < 10 && n != 8:
			return "code for a processor before Armv7 is not supported, which has no movw and movt: compile with -march=armv7-a or later"
		case n >= 11 && n <= 13, n == 16, n == 17, n == 21:
			return refuseArch("armv7-m")
		}
	case "7": // Tag_CPU_arch_profile
		if value == "77" {
			return refuseArch("armv7-m")
		}
	}
	return ""
}
