package aarch64

import (
	"bytes"
	"math/bits"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Set is a set of x0 to x17: bit n is xn.
type Set uint32

const (
	VeneerRegs   Set = 1<<16 | 1<<17
	ArgumentRegs Set = 1<<9 - 1
	TrackedRegs  Set = 1<<18 - 1
)

// Highest returns the number of the last register of a set.
func Highest(set Set) int { return bits.Len32(uint32(set)) - 1 }

// Live returns what is live at the beginning of each block.
func Live(u *asm.Unit, fn *asm.Function) []Set {
	return asm.LivenessOf(u, fn, Effect, TrackedRegs&^VeneerRegs).In[asm.Nodes:]
}

// Mentioned returns the registers that a text names, as x or w registers.
func Mentioned(text []byte) (out Set) {
	for i := 0; i+1 < len(text); i++ {
		if c := text[i]; c != 'x' && c != 'w' && c != 'X' && c != 'W' || i > 0 && asm.SymbolByte[text[i-1]] {
			continue
		}
		n, k := 0, i+1
		for ; k < len(text) && k < i+3 && text[k] >= '0' && text[k] <= '9'; k++ {
			n = n*10 + int(text[k]-'0')
		}
		if k > i+1 && (k == len(text) || !asm.SymbolByte[text[k]]) && n < 18 {
			out |= 1 << n
		}
	}
	return out
}

// Effect returns the registers that a line reads, and those that it overwrites without reading them.
func Effect(line []byte, app bool) (use, kill Set) {
	s := asm.ParseLine(bytes.TrimRight(line, "\r\n"))
	if app || s.Kind != asm.LineInsn {
		return Mentioned(line), 0
	}
	word := string(s.Word)
	ops := asm.InsnOperands(s.Rest)
	switch word {
	case "bl":
		return ArgumentRegs, VeneerRegs
	case "blr", "blraa", "blrab", "blraaz", "blrabz":
		return ArgumentRegs | Mentioned(s.Rest), 0 // the call of a TLS descriptor preserves nearly all
	case "br", "braa", "brab", "braaz", "brabz", "b":
		return ArgumentRegs | Mentioned(s.Rest), 0
	case "ret", "retaa", "retab":
		return ArgumentRegs, 0
	case "ldp", "ldpsw", "ldnp", "ldxp", "ldaxp":
		if len(ops) >= 3 { // a fourth operand is added to the address after the load
			return Mentioned(ops[2]), generalRegister(ops[0]) | generalRegister(ops[1])
		}
	}
	if len(ops) < 2 || bytes.IndexByte(s.Rest, ';') >= 0 || !OverwritesFirst(word) {
		return Mentioned(s.Rest), 0
	}
	kill = generalRegister(ops[0])
	for _, op := range ops[1:] {
		use |= Mentioned(op)
	}
	return use, kill
}

// generalRegister returns the register that an operand consists of.
func generalRegister(op []byte) Set {
	if len(op) < 2 || len(op) > 3 {
		return 0
	}
	return Mentioned(op)
}

// OverwritesFirst reports whether an instruction writes its first operand without reading it.
func OverwritesFirst(word string) bool {
	switch word {
	case "adr", "adrp", "mov", "movz", "movn", "mvn", "fmov", "umov", "smov", "mrs",
		"add", "adds", "sub", "subs", "and", "ands", "orr", "orn", "eor", "eon", "bic", "bics", "adc", "sbc", "adcs", "sbcs",
		"neg", "negs", "ngc", "lsl", "lsr", "asr", "ror", "extr",
		"mul", "mneg", "madd", "msub", "smull", "umull", "smulh", "umulh", "smaddl", "umaddl", "smsubl", "umsubl", "sdiv", "udiv",
		"cset", "csetm", "csel", "csinc", "csinv", "csneg", "cinc", "cinv", "cneg",
		"ubfx", "sbfx", "ubfiz", "sbfiz", "ubfm", "sbfm", "sxtb", "sxth", "sxtw", "uxtb", "uxth", "uxtw",
		"rev", "rev16", "rev32", "rev64", "rbit", "clz", "cls":
		return true
	}
	return strings.HasPrefix(word, "ldr") || strings.HasPrefix(word, "ldur") || strings.HasPrefix(word, "fcvt") ||
		strings.HasPrefix(word, "ldar") || strings.HasPrefix(word, "ldxr") || strings.HasPrefix(word, "ldaxr") || strings.HasPrefix(word, "ldapr")
}
