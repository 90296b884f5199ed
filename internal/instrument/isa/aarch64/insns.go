package aarch64

import (
	"bytes"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Machine is what the instructions of AArch64 do, as gcc and clang write them.
type Machine struct{}

// RelocNone is the relocation that keeps its target alive and has no other effect.
const RelocNone = "R_AARCH64_NONE"

// branches are the conditional branches on flags; clang writes b.eq, gcc beq.
var branches = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, cond := range [...]string{"eq", "ne", "cs", "hs", "cc", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al"} {
		out["b"+cond], out["b."+cond], out["bc."+cond] = true, true, true
	}
	return out
})

// Classify is that of asm.Machine.
func (m Machine) Classify(mnemonic, rest []byte) (asm.Flow, []byte) {
	switch word := string(mnemonic); mnemonic[0] {
	case 'b':
		return m.classifyB(word, rest)
	case 'c', 't':
		switch word {
		case "cbz", "cbnz", "tbz", "tbnz":
			return asm.FlowBranch, lastOperand(rest)
		}
	case 'r', 'e', 'd':
		switch word {
		case "ret", "retaa", "retab", "eret", "eretaa", "eretab", "drps":
			return asm.FlowEnd, nil
		}
	case 'u', 'h':
		switch word {
		case "udf", "hlt":
			return asm.FlowEnd, nil
		case "hint":
			return hintFlow(string(Operand(rest))), nil
		}
	case 'p':
		switch word {
		case "paciasp", "pacibsp":
			return asm.FlowSign, nil
		}
	case 'n':
		if word == "nop" {
			return asm.FlowNop, nil
		}
	}
	return asm.FlowNext, nil
}

func (Machine) classifyB(word string, rest []byte) (asm.Flow, []byte) {
	switch word {
	case "b":
		return asm.FlowJump, Operand(rest)
	case "br", "braa", "brab", "braaz", "brabz":
		return asm.FlowJump, nil
	case "bl":
		return asm.FlowCall, Operand(rest)
	case "blr", "blraa", "blrab", "blraaz", "blrabz":
		return asm.FlowCall, nil
	case "bti":
		return asm.FlowLanding, nil
	case "brk":
		switch string(Operand(rest)) {
		case "61440", "0xf000": // __builtin_debugtrap, which continues
			return asm.FlowNext, nil
		}
		return asm.FlowEnd, nil
	}
	if branches()[word] {
		return asm.FlowBranch, Operand(rest)
	}
	return asm.FlowNext, nil
}

// hintFlow returns the flow of the hints that older assemblers have no names for.
func hintFlow(number string) asm.Flow {
	switch number {
	case "25", "27", "0x19", "0x1b":
		return asm.FlowSign
	case "32", "34", "36", "38", "0x20", "0x22", "0x24", "0x26":
		return asm.FlowLanding
	case "0":
		return asm.FlowNop
	}
	return asm.FlowNext
}

// Operand returns the first operand of rest, without the # of a number.
func Operand(rest []byte) []byte {
	ops := asm.InsnOperands(rest)
	if len(ops) == 0 {
		return nil
	}
	return bytes.TrimPrefix(ops[0], []byte("#"))
}

func lastOperand(rest []byte) []byte {
	ops := asm.InsnOperands(rest)
	if len(ops) == 0 {
		return nil
	}
	return ops[len(ops)-1]
}

// Callee is that of asm.Machine.
func (Machine) Callee(op []byte) string {
	return asm.CalleeName(asm.Unquote(op))
}

// IsTrap is that of asm.Machine.
func (Machine) IsTrap(mnemonic []byte) bool {
	switch string(mnemonic) {
	case "brk", "udf", "hlt":
		return true
	}
	return false
}

// Refuse refuses nothing.
func (Machine) Refuse(string, []byte) string { return "" }

// Reader returns nil.
func (Machine) Reader() asm.Reader { return nil }

// HasLSE reports whether the operand of .arch, such as armv8.2-a+crypto, has the atomic
// instructions of the Large System Extensions.
func HasLSE(arch string) bool {
	base, rest, _ := strings.Cut(arch, "+")
	for ext := range strings.SplitSeq(rest, "+") {
		switch ext {
		case "lse", "lse2", "lse128":
			return true
		case "nolse":
			return false
		}
	}
	return strings.HasPrefix(base, "armv8.") || strings.HasPrefix(base, "armv9")
}

// Opposite returns the opposite of a conditional branch.
func Opposite(word string) string {
	switch word {
	case "cbz":
		return "cbnz"
	case "cbnz":
		return "cbz"
	case "tbz":
		return "tbnz"
	case "tbnz":
		return "tbz"
	}
	return "b." + map[string]string{
		"eq": "ne", "ne": "eq", "cs": "cc", "hs": "lo", "cc": "cs", "lo": "hs", "mi": "pl", "pl": "mi", "vs": "vc", "vc": "vs",
		"hi": "ls", "ls": "hi", "ge": "lt", "lt": "ge", "gt": "le", "le": "gt",
	}[word[len(word)-2:]]
}

// Reaches in bytes, less a margin.
const (
	reachMargin = 256
	ReachBit    = 1<<15 - reachMargin // tbz, tbnz
	ReachFlags  = 1<<20 - reachMargin // cbz, cbnz, b.eq, adr
)
