package x86

import (
	"bytes"
	"slices"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Machine is what the instructions of x86-64 do, in AT&T syntax.
type Machine struct{}

// RelocNone is the relocation that keeps its target alive and has no other effect.
const RelocNone = "R_X86_64_NONE"

// Classify is that of asm.Machine.
func (m Machine) Classify(mnemonic, rest []byte) (asm.Flow, []byte) {
	switch mnemonic[0] {
	case 'b', 'n':
		switch string(mnemonic) {
		case "notrack", "bnd":
			rest = bytes.TrimLeft(rest, " \t")
			if i := bytes.IndexAny(rest, " \t"); i > 0 {
				return m.Classify(rest[:i], rest[i:])
			}
		case "nop", "nopw", "nopl":
			return asm.FlowNop, nil
		}
	case 'c':
		if s := string(mnemonic); s == "call" || s == "callq" {
			return asm.FlowCall, bare(asm.Operand(rest))
		}
	case 'e':
		if string(mnemonic) == "endbr64" {
			return asm.FlowLanding, nil
		}
	case 'h', 'i', 'r', 's', 'u':
		if bytes.HasPrefix(mnemonic, []byte("rex")) { // rex.W or rex64: an indirect tail call for Windows
			rest = bytes.TrimLeft(rest, " \t")
			if i := bytes.IndexAny(rest, " \t"); i > 0 {
				return m.Classify(rest[:i], rest[i:])
			}
		}
		if m.IsTrap(mnemonic) {
			return asm.FlowEnd, nil
		}
		switch string(mnemonic) {
		case "ret", "retq", "iretq", "iret", "sysretq", "uiret":
			return asm.FlowEnd, nil
		case "rep", "repz":
			if op := asm.Operand(rest); bytes.HasPrefix(op, []byte("ret")) {
				return asm.FlowEnd, nil
			}
		}
	case 'j':
		return classifyJump(mnemonic, rest)
	case 'l':
		if bytes.HasPrefix(mnemonic, []byte("loop")) {
			return asm.FlowShort, asm.Operand(rest)
		}
	case 'x':
		if string(mnemonic) == "xbegin" {
			return asm.FlowBranch, asm.Operand(rest)
		}
	}
	return asm.FlowNext, nil
}

// isTrap also accepts ud1 with operands, which clang's -fsanitize-trap writes.
func (Machine) IsTrap(mnemonic []byte) bool {
	switch string(mnemonic) {
	case "ud2", "ud1", "ud1l", "ud1w", "ud1q", "hlt":
		return true
	}
	return false
}

func classifyJump(mnemonic, rest []byte) (asm.Flow, []byte) {
	switch string(mnemonic) {
	case "jmp", "jmpq":
		return asm.FlowJump, bare(asm.Operand(rest))
	case "jrcxz", "jecxz":
		return asm.FlowShort, asm.Operand(rest)
	}
	return asm.FlowBranch, bare(asm.Operand(rest))
}

// bare returns an operand without the parentheses around a name that begins with $, as all names of Swift do: LLVM writes
// them, as such a name alone is a number.
func bare(op []byte) []byte {
	at := bytes.IndexByte(op, '(')
	if at < 0 || at > 1 || at+1 == len(op) || op[at+1] != '$' {
		return op
	}
	name, rest, ok := bytes.Cut(op[at+1:], []byte(")"))
	if !ok {
		return op
	}
	return slices.Concat(op[:at], name, rest)
}

// Callee is that of asm.Machine.
func (Machine) Callee(op []byte) string {
	if len(op) == 0 {
		return ""
	}
	if op[0] == '*' {
		// call *foo@GOTPCREL(%rip), as with -fno-plt.
		name, _, ok := bytes.Cut(op[1:], []byte("@GOTPCREL(%rip)"))
		if !ok {
			// call *__imp_foo(%rip): foo of a DLL.
			if name, ok = bytes.CutPrefix(op[1:], []byte("__imp_")); !ok {
				return ""
			}
			name, _, _ = bytes.Cut(name, []byte("("))
		}
		return string(asm.Unquote(name))
	}
	name, _, _ := bytes.Cut(op, []byte("@PLT"))
	return asm.CalleeName(asm.Unquote(name))
}

// Refuse is that of asm.Machine.
func (Machine) Refuse(directive string, _ []byte) string {
	switch directive {
	case ".intel_syntax":
		return "Intel syntax is not supported; compile with -masm=att"
	case ".code32", ".code16", ".code16gcc":
		return "only 64-bit code is supported; " + directive + " found"
	}
	return ""
}

// Reader returns nil.
func (Machine) Reader() asm.Reader { return nil }

// Inverse maps conditional jumps of x86 to their opposites.
var Inverse = func() map[string]string {
	m := map[string]string{}
	for _, pair := range [][2]string{
		{"je", "jne"},
		{"jz", "jnz"},
		{"ja", "jbe"},
		{"jae", "jb"},
		{"jc", "jnc"},
		{"jg", "jle"},
		{"jge", "jl"},
		{"jo", "jno"},
		{"jp", "jnp"},
		{"js", "jns"},
		{"jnae", "jnb"},
		{"jna", "jnbe"},
		{"jng", "jnle"},
		{"jnge", "jnl"},
		{"jpe", "jpo"},
	} {
		m[pair[0]], m[pair[1]] = pair[1], pair[0]
	}
	return m
}()
