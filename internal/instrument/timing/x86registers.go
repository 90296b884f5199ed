package timing

import (
	"bytes"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/x86"
)

// Which registers an instruction reads and writes, of those that matter at a function's entry: rax, whose low
// byte gives variadic functions the number of vector registers that hold arguments, and r10, the static chain of
// nested functions. Functions in which r11 is live at the entry, those with many arguments that
// preserve no registers, are left alone. A register counts as read unless it is certain to be overwritten
// first: the cost is a longer sequence.

// regSet is a set of registers.
type regSet uint8

const (
	regRAX regSet = 1 << iota
	regR10
	regR11
	regX16 // x16 or x17, of AArch64
)

func (s regSet) has(r regSet) bool { return s&r != 0 }

// effect is the effect of an instruction on the registers.
type effect struct {
	use, kill regSet
	callee    string // a function that may read them first, "" if none is known
	tail      bool   // it jumps there and does not return
}

// registerNames are the names of the registers in question.
var registerNames = map[string]regSet{
	"rax": regRAX, "eax": regRAX, "ax": regRAX, "al": regRAX, "ah": regRAX,
	"r10": regR10, "r10d": regR10, "r10w": regR10, "r10b": regR10,
	"r11": regR11, "r11d": regR11, "r11w": regR11, "r11b": regR11,
}

// mentioned returns the registers that operands name.
func mentioned(text []byte) (out regSet) {
	x86.RegisterNames(text, func(name []byte) { out |= registerNames[string(name)] })
	return out
}

// thunkRegister returns the register that the name of a thunk ends in.
func thunkRegister(name string) regSet {
	if !strings.HasPrefix(name, "__x86_indirect_thunk_") && !strings.HasPrefix(name, "__llvm_retpoline_") {
		return 0
	}
	return registerNames[name[strings.LastIndexByte(name, '_')+1:]]
}

// readsRAX are instructions that read rax without naming it.
var readsRAX = map[string]bool{
	"mul": true, "imul": true, "div": true, "idiv": true, "cltq": true, "cwtl": true, "cltd": true, "cqto": true,
	"cwtd": true, "cbtw": true, "cmpxchg": true, "sahf": true, "xlat": true, "cpuid": true, "syscall": true,
	"stos": true, "scas": true, "xgetbv": true, "wrmsr": true, "cdq": true, "cqo": true, "cdqe": true,
	"monitor": true, "mwait": true, "cmpxchg8b": true, "cmpxchg16b": true, "mulx": true,
}

// effects returns the effect of an instruction other than a call or a jump.
func effects(word string, rest []byte) effect {
	ops := asm.SplitInsnOperands(rest)
	e := effect{use: mentioned(rest)}
	if strings.HasPrefix(word, "push") && len(ops) == 1 && ops[0][0] == '%' {
		e.use &^= regR11 // room on the stack: whatever it holds is pushed
	}
	if implicitRAX(word, rest) {
		e.use |= regRAX
	}
	if len(ops) == 0 {
		return e
	}
	last := ops[len(ops)-1]
	kill := regSet(0)
	if len(last) > 0 && last[0] == '%' {
		kill = registerNames[string(last[1:])]
	}
	switch {
	case kill == 0:
	case zeroes(word, ops):
		return effect{kill: kill}
	case overwrites(word), len(ops) == 3 && strings.HasPrefix(word, "imul"):
		return effect{use: mentioned(bytes.Join(ops[:len(ops)-1], []byte(","))), kill: kill}
	}
	return e
}

// implicitRAX reports whether an instruction reads rax without naming it. A size suffix, or a prefix as in rep
// stosq, makes no difference.
func implicitRAX(word string, rest []byte) bool {
	if strings.HasPrefix(word, "rep") || word == "lock" {
		next, tail, _ := bytes.Cut(bytes.TrimLeft(rest, " \t;"), []byte(" "))
		next, _, _ = bytes.Cut(next, []byte("\t"))
		return implicitRAX(string(next)+" ", tail)
	}
	word = strings.TrimSpace(word)
	if word == "imul" || strings.HasPrefix(word, "imul") && len(word) == 5 {
		return len(asm.SplitInsnOperands(rest)) < 2
	}
	if readsRAX[word] {
		return true
	}
	return len(word) > 1 && strings.IndexByte("bwlq", word[len(word)-1]) >= 0 && readsRAX[word[:len(word)-1]]
}

// zeroes reports whether an instruction sets a register independently of its value: to zero, or as sbb does
// from the carry flag.
func zeroes(word string, ops [][]byte) bool {
	switch word {
	case "xorl", "xorq", "subl", "subq", "xor", "sub", "sbbl", "sbbq", "sbb":
		return len(ops) == 2 && bytes.Equal(ops[0], ops[1])
	}
	return false
}

// overwrites reports whether an instruction writes its last operand without reading it. sete writes al and
// leaves the rest of rax, but only al matters.
func overwrites(word string) bool {
	if word == "leave" {
		return false
	}
	return slices.ContainsFunc(overwriting, func(begin string) bool { return strings.HasPrefix(word, begin) })
}

// overwriting are the beginnings of such instructions' names. Those with vector
// registers leave what they count or convert in a general one.
var overwriting = []string{
	"mov", "lea", "pop", "set", "lzcnt", "tzcnt", "andn", "bextr", "bzhi", "pdep", "pext", "rorx", "sarx", "shlx", "shrx",
	"cvt", "vcvt", "vmov", "vpmovmskb", "pmovmskb", "pextr", "vpextr",
}

// movesStack reports whether an instruction sets the stack pointer to an address not relative to the frame: the
// end of __builtin_eh_return.
func movesStack(in *bodyInsn) bool {
	ops := asm.SplitInsnOperands(in.rest)
	if in.app || len(ops) != 2 || string(ops[1]) != "%rsp" {
		return false
	}
	switch {
	case strings.HasPrefix(in.word, "mov"):
		return string(ops[0]) != "%rbp"
	case strings.HasPrefix(in.word, "lea"):
		return bytes.IndexByte(ops[0], ',') >= 0
	case strings.HasPrefix(in.word, "add"), strings.HasPrefix(in.word, "sub"):
		return ops[0][0] != '$'
	}
	return false
}

// belowStack reports whether an operand lies below the stack pointer, where a
// stub's call would overwrite it.
func belowStack(rest []byte) bool {
	return bytes.Contains(rest, []byte("(%rsp")) && bytes.HasPrefix(bytes.TrimLeft(rest, " \t*"), []byte("-"))
}

// hidesFlow reports whether an instruction that is not known to transfer control does so after a prefix or a
// separator.
func hidesFlow(word string, rest []byte) bool {
	if len(word) > 4 && !strings.HasPrefix(word, "rep") {
		return bytes.IndexByte(rest, ';') >= 0
	}
	for _, field := range bytes.FieldsFunc(rest, func(c rune) bool { return c == ' ' || c == '\t' || c == ';' }) {
		if s := string(field); s == "ret" || s == "retq" || s == "jmp" || s == "jmpq" {
			return true
		}
	}
	return false
}
