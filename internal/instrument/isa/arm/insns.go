package arm

import (
	"bytes"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// conds are the conditions that instructions of Arm end in.
var conds = map[string]string{
	"eq": "ne", "ne": "eq", "cs": "cc", "hs": "lo", "cc": "cs", "lo": "hs", "mi": "pl", "pl": "mi", "vs": "vc", "vc": "vs",
	"hi": "ls", "ls": "hi", "ge": "lt", "lt": "ge", "gt": "le", "le": "gt", "al": "",
}

// condOf returns a mnemonic without its width, and its condition, "" for always: base is one of names, which
// are sorted longest first.
func condOf(word string, names ...string) (base, cond string, ok bool) {
	word = strings.TrimSuffix(strings.TrimSuffix(word, ".w"), ".n")
	for _, name := range names {
		rest, found := strings.CutPrefix(word, name)
		if !found {
			continue
		}
		if rest == "" || rest == "al" {
			return name, "", true
		}
		if _, known := conds[rest]; known {
			return name, rest, true
		}
	}
	return "", "", false
}

// Condition splits the mnemonic of an instruction that may leave a function: popne is pop under the condition ne. It is ""
// where there is none. It is not ok for other instructions.
func Condition(word string) (base, cond string, ok bool) {
	return condOf(word, "pop", "ldmia", "ldmfd", "ldmib", "ldmed", "ldmda", "ldmfa", "ldmdb", "ldmea", "ldm", "ldr", "mov", "bx", "b")
}

// CallCondition splits the mnemonic of a call as Condition does.
func CallCondition(word string) (base, cond string) {
	base, cond, _ = condOf(word, "blx", "bl")
	return base, cond
}

// Classify is that of asm.Machine.
func (m Machine) Classify(mnemonic, rest []byte) (asm.Flow, []byte) {
	word := string(mnemonic)
	switch mnemonic[0] {
	case 'b':
		return m.classifyB(word, rest)
	case 'c':
		if word == "cbz" || word == "cbnz" {
			return asm.FlowBranch, last(rest)
		}
	case 't':
		switch strings.TrimSuffix(word, ".w") {
		case "tbb", "tbh":
			return asm.FlowJump, nil
		case "trap":
			return asm.FlowEnd, nil
		}
	case 'u', 'h':
		if strings.HasPrefix(word, "udf") || word == "hlt" {
			return asm.FlowEnd, nil
		}
	case 'n':
		if strings.HasPrefix(word, "nop") {
			return asm.FlowNop, nil
		}
	case 'e', 'r':
		if word == "eret" || strings.HasPrefix(word, "rfe") {
			return asm.FlowEnd, nil
		}
	}
	return writesPC(word, rest), nil
}

func (m Machine) classifyB(word string, rest []byte) (asm.Flow, []byte) {
	base, cond, ok := condOf(word, "blx", "bxj", "bx", "bl", "b")
	if !ok {
		return asm.FlowNext, nil
	}
	op := FirstOperand(rest)
	switch {
	case base == "bl" || base == "blx":
		if IsRegister(op) {
			return asm.FlowCall, nil
		}
		return asm.FlowCall, op
	case base == "b" && cond != "":
		return asm.FlowBranch, op
	case base == "b":
		return asm.FlowJump, op
	case cond != "":
		return asm.FlowBranch, nil
	case string(op) == "lr":
		return asm.FlowEnd, nil
	}
	return asm.FlowJump, nil
}

// writesPC returns the flow of an instruction that may have the program counter as its
// destination.
func writesPC(word string, rest []byte) asm.Flow {
	if !bytes.Contains(rest, []byte("pc")) {
		return asm.FlowNext
	}
	ops := Operands(rest)
	if len(ops) == 0 {
		return asm.FlowNext
	}
	if base, cond, ok := condOf(word, "pop", "ldmia", "ldmfd", "ldmib", "ldmed", "ldmda", "ldmfa", "ldmdb", "ldmea", "ldm"); ok {
		list := ops[len(ops)-1]
		if base != "pop" && len(ops) < 2 || Registers(list)&(1<<15) == 0 {
			return asm.FlowNext
		}
		return leaves(cond, asm.FlowEnd)
	}
	if string(ops[0]) != "pc" {
		return asm.FlowNext
	}
	if _, cond, ok := condOf(word, "ldr"); ok {
		if len(ops) > 1 && bytes.HasPrefix(ops[1], []byte("[sp]")) {
			return leaves(cond, asm.FlowEnd) // its own return address
		}
		return leaves(cond, asm.FlowJump)
	}
	if _, cond, ok := condOf(word, "movs", "mov"); ok {
		if len(ops) == 2 && string(ops[1]) == "lr" {
			return leaves(cond, asm.FlowEnd)
		}
		return leaves(cond, asm.FlowJump)
	}
	if _, cond, ok := condOf(word, "adds", "add", "subs", "sub", "orr", "eor", "and", "bic"); ok {
		return leaves(cond, asm.FlowJump)
	}
	return asm.FlowNext
}

// leaves returns the flow of an instruction that jumps under a condition.
func leaves(cond string, always asm.Flow) asm.Flow {
	if cond != "" {
		return asm.FlowBranch
	}
	return always
}

// Callee is that of asm.Machine. It accepts calls through the procedure linkage table.
func (Machine) Callee(op []byte) string {
	name, _, _ := bytes.Cut(asm.Unquote(op), []byte("(PLT)"))
	return asm.CalleeName(name)
}

// IsTrap is that of asm.Machine.
func (Machine) IsTrap(mnemonic []byte) bool {
	return bytes.HasPrefix(mnemonic, []byte("udf")) || string(mnemonic) == "trap" || string(mnemonic) == "hlt"
}

// Operands splits operands at commas outside of brackets, and drops a comment.
func Operands(rest []byte) [][]byte {
	return asm.InsnOperands(Code(rest))
}

// FirstOperand returns the first operand, nil if there is none.
func FirstOperand(rest []byte) []byte {
	if ops := Operands(rest); len(ops) > 0 {
		return ops[0]
	}
	return nil
}

func last(rest []byte) []byte {
	if ops := Operands(rest); len(ops) > 0 {
		return ops[len(ops)-1]
	}
	return nil
}
