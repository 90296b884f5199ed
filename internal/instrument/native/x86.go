package native

import (
	"bytes"
	"strconv"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// x86 is the assembly of x86-64 in AT&T syntax.
type x86 struct{}

func (m x86) Classify(mnemonic, rest []byte) (asm.Flow, []byte) {
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
			return asm.FlowCall, asm.Operand(rest)
		}
	case 'e':
		if string(mnemonic) == "endbr64" {
			return asm.FlowLanding, nil
		}
	case 'h', 'i', 'r', 's', 'u':
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
func (x86) IsTrap(mnemonic []byte) bool {
	switch string(mnemonic) {
	case "ud2", "ud1", "ud1l", "ud1w", "ud1q", "hlt":
		return true
	}
	return false
}

func classifyJump(mnemonic, rest []byte) (asm.Flow, []byte) {
	switch string(mnemonic) {
	case "jmp", "jmpq":
		return asm.FlowJump, asm.Operand(rest)
	case "jrcxz", "jecxz":
		return asm.FlowShort, asm.Operand(rest)
	}
	return asm.FlowBranch, asm.Operand(rest)
}

func (x86) Callee(op []byte) string {
	if len(op) == 0 {
		return ""
	}
	if op[0] == '*' {
		// call *foo@GOTPCREL(%rip), as with -fno-plt.
		name, _, ok := bytes.Cut(op[1:], []byte("@GOTPCREL(%rip)"))
		if !ok {
			return ""
		}
		return string(asm.Unquote(name))
	}
	name, _, _ := bytes.Cut(op, []byte("@PLT"))
	return asm.CalleeName(asm.Unquote(name))
}

func (x86) Refuse(directive string, _ []byte) string {
	switch directive {
	case ".intel_syntax":
		return "Intel syntax is not supported; compile with -masm=att"
	case ".code32", ".code16", ".code16gcc":
		return "only 64-bit code is supported; " + directive + " found"
	}
	return ""
}

// Reader returns nil.
func (x86) Reader() asm.Reader { return nil }

func (x86) relocNone() string { return "R_X86_64_NONE" }

func (x86) entryRow() string { return "\t.cfi_def_cfa 7, 8\n" }

func (x86) entryProbe(o *Options, p *entryProbe) (probe, stub string) {
	first := firstCall(o.Mode)
	if first == "" {
		return "\tmovb\t$1, " + p.rec.String() + "(%rip)\n", ""
	}
	probe = "\tsubl\t$1, " + p.rec.String() + "(%rip)\n\tjc\t"
	if o.Mode.HasSlots() {
		probe = "\tcmpb\t$0, " + p.rec.String() + "(%rip)\n\tje\t"
	} else if o.Atomic {
		probe = "\tlock subl\t$1, " + p.rec.String() + "(%rip)\n\tjc\t"
	}
	num := strconv.Itoa(p.number)
	probe += ".Lcairn_s" + num + "\n.Lcairn_r" + num + ":\n"
	return probe, ".Lcairn_s" + num + ":\n\tcall\t" + first + "\n\tjmp\t.Lcairn_r" + num + "\n"
}

// blocks accepts all but functions with a branch of short reach, which probes might move
// out of reach.
func (x86) blocks(_ *rewriter, fn *asm.Function, implied [][]int) (blockProbes, bool) {
	for _, f := range fn.Frags {
		if f.Short {
			return nil, false
		}
	}
	return x86Blocks{}, true
}

type x86Blocks struct{}

func (x86Blocks) probe(_ int, rec position) string { return "\tmovb\t$1, " + rec.String() + "(%rip)\n" }
