package x86

import (
	"bytes"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Set is a set of general registers, and of the arithmetic flags as one more.
type Set uint32

// The registers, by their numbers in instructions.
const (
	rax Set = 1 << iota
	rcx
	rdx
	rbx
	rsp
	rbp
	rsi
	rdi
	r8
	r9
	r10
	r11

	// Flags are the arithmetic flags.
	Flags Set = 1 << 16
	// All are the registers and the flags.
	All Set = 1<<17 - 1

	// arguments are the registers in which a call may pass something: r10 and r11 as well, to functions of split
	// stacks and thunks of indirect jumps, and by the convention preserve_none of clang.
	arguments = rdi | rsi | rdx | rcx | r8 | r9 | rax | r10 | r11
)

// names64 are the registers' names of 64 bits.
var names64 = [...]string{
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
}

// register is what a name stands for: the register, and whether a write to it sets all of it.
type register struct {
	set   Set
	whole bool
}

var registers = sync.OnceValue(func() map[string]register {
	m := map[string]register{}
	for n, name := range names64 {
		set := Set(1) << n
		m[name] = register{set, true}
		if n >= 8 {
			m[name+"d"], m[name+"w"], m[name+"b"] = register{set, true}, register{set, false}, register{set, false}
			continue
		}
		base := name[1:]
		m["e"+base], m[base] = register{set, true}, register{set, false}
		if strings.HasSuffix(base, "x") {
			m[base[:1]+"l"], m[base[:1]+"h"] = register{set, false}, register{set, false}
		} else {
			m[base+"l"] = register{set, false}
		}
	}
	return m
})

// Name returns the 64-bit name of the lowest register of a set, "" if it has none.
func Name(set Set) string {
	for n, name := range names64 {
		if set&(1<<n) != 0 {
			return name
		}
	}
	return ""
}

// Mentioned returns the registers that a text names.
func Mentioned(text []byte) (out Set) {
	RegisterNames(text, func(name []byte) { out |= registers()[string(name)].set })
	return out
}

// RegisterNames calls found with the name of each register in a text, without the percent sign.
func RegisterNames(text []byte, found func(name []byte)) {
	for {
		i := bytes.IndexByte(text, '%')
		if i < 0 {
			return
		}
		text = text[i+1:]
		n := 0
		for n < len(text) && (text[n] >= 'a' && text[n] <= 'z' || text[n] >= '0' && text[n] <= '9') {
			n++
		}
		found(text[:n])
	}
}

// Written returns the registers that instructions of a function certainly change, so that no caller keeps a value in
// them over a call, whatever it knows of the function (-fipa-ra): those that the function overwrites and that no call
// preserves.
func Written(u *asm.Unit, fn *asm.Function) (out Set) {
	const scratch = rax | rcx | rdx | rsi | rdi | r8 | r9 | r10 | r11
	for _, f := range fn.Frags {
		for i := range f.Lines {
			if l := &f.Lines[i]; !l.App {
				_, kill := Effect(u.View(u.Src[l.At:l.Next]), false)
				out |= kill & scratch
			}
		}
	}
	return out
}

// Live returns what is live at the beginning of each block of fn.
func Live(u *asm.Unit, fn *asm.Function) []Set {
	return asm.LivenessOf(u, fn, Effect, All&^Flags).In[asm.Nodes:]
}

// Effect returns the registers that a line reads, and those that it overwrites without reading them. What it does not
// know reads all and overwrites nothing.
func Effect(line []byte, app bool) (use, kill Set) {
	s := asm.ParseLine(bytes.TrimRight(line, "\r\n"))
	if app || s.Kind != asm.LineInsn || bytes.IndexByte(s.Rest, ';') >= 0 {
		return All, 0
	}
	word := string(s.Word)
	rest, _, _ := bytes.Cut(s.Rest, []byte("#")) // a comment follows
	switch word {
	case "call", "callq":
		return arguments | rsp | Mentioned(rest), Flags // a callee, too, may be known to preserve others
	case "jmp", "jmpq":
		return arguments | rsp | Mentioned(rest), 0 // in a function, the flags may be tested where it leads
	case "ret", "retq":
		return All &^ Flags, Flags
	}
	ops := asm.InsnOperands(rest)
	if len(ops) == 0 {
		return implicit(word)
	}
	switch _, conditional := Inverse[word]; {
	case conditional:
		return Flags, 0
	case actions[word].flags != setsFlags && readsOnly(word, rest): // comparisons set the flags
		return Mentioned(rest), 0
	}
	do, ok := actionOf(word, len(ops))
	if !ok {
		return All, 0
	}
	use = Mentioned(rest) | do.reads
	kill = do.writes
	if last := ops[len(ops)-1]; last[0] == '%' {
		to := registers()[string(last[1:])]
		sources := Mentioned(bytes.Join(ops[:len(ops)-1], []byte(",")))
		switch {
		case do.sets && to.whole && to.set&rsp == 0:
			use, kill = sources|do.reads, kill|to.set
		case zeroing(word) && to.whole && len(ops) == 2 && bytes.Equal(ops[0], last):
			use, kill = do.reads, kill|to.set
		}
	}
	if do.flags == setsFlags && !byRegister(word, ops) {
		kill |= Flags
	}
	if do.flags == readsFlags {
		use |= Flags
	}
	return use, kill
}

// implicit is Effect for instructions without operands.
func implicit(word string) (use, kill Set) {
	switch word {
	case "cltq", "cwtl", "cbtw", "cwtd", "nop", "endbr64":
		return rax, 0
	case "cltd", "cqto":
		return rax, rdx
	case "leave", "leaveq":
		return rbp | rsp, 0
	}
	return All, 0
}

// action is what an instruction does besides reading what its operands name.
type action struct {
	sets   bool // it overwrites its last operand without reading it
	flags  flagUse
	reads  Set // that no operand names
	writes Set
}

type flagUse uint8

const (
	leavesFlags flagUse = iota
	setsFlags           // all that a program can test afterwards, or leaves none that it would
	readsFlags
)

// actions are the instructions by their names without a suffix for the size.
var actions = map[string]action{
	"mov": {sets: true}, "movabs": {sets: true}, "lea": {sets: true}, "pop": {sets: true, reads: rsp}, "push": {reads: rsp},
	"movzb": {sets: true}, "movzw": {sets: true}, "movsb": {sets: true}, "movsw": {sets: true}, "movsl": {sets: true}, "movslq": {sets: true},
	"movzbl": {sets: true}, "movzbq": {sets: true}, "movzbw": {sets: true}, "movzwl": {sets: true}, "movzwq": {sets: true},
	"movsbl": {sets: true}, "movsbq": {sets: true}, "movsbw": {sets: true}, "movswl": {sets: true}, "movswq": {sets: true},
	"add": {flags: setsFlags}, "sub": {flags: setsFlags}, "cmp": {flags: setsFlags}, "test": {flags: setsFlags},
	"and": {flags: setsFlags}, "or": {flags: setsFlags}, "xor": {flags: setsFlags}, "neg": {flags: setsFlags}, "not": {},
	"inc": {}, "dec": {}, // not the carry flag
	"sal": {flags: setsFlags}, "shl": {flags: setsFlags}, "shr": {flags: setsFlags}, "sar": {flags: setsFlags},
	"rol": {}, "ror": {}, "bswap": {},
	"adc": {flags: readsFlags}, "sbb": {flags: readsFlags},
	"bt": {}, "bts": {}, "btr": {}, "btc": {}, "xchg": {},
	"popcnt": {sets: true, flags: setsFlags}, "lzcnt": {sets: true, flags: setsFlags}, "tzcnt": {sets: true, flags: setsFlags},
	"movd": {sets: true}, "movq": {sets: true},
	"comiss": {flags: setsFlags}, "comisd": {flags: setsFlags}, "ucomiss": {flags: setsFlags}, "ucomisd": {flags: setsFlags},
	"vcomiss": {flags: setsFlags}, "vcomisd": {flags: setsFlags}, "vucomiss": {flags: setsFlags}, "vucomisd": {flags: setsFlags},
}

// readsOnly reports whether an instruction leaves the flags alone, and general registers too but for those that it
// overwrites, which its text names: most of those on vectors and of the x87.
func readsOnly(word string, rest []byte) bool {
	switch {
	case strings.HasPrefix(word, "fcmov"), strings.Contains(word, "pcmpestr"), strings.Contains(word, "pcmpistr"), strings.Contains(word, "maskmov"):
		return false
	case word[0] == 'f':
		return true
	}
	return bytes.Contains(rest, []byte("%xmm")) || bytes.Contains(rest, []byte("%ymm")) || bytes.Contains(rest, []byte("%zmm"))
}

// actionOf returns what an instruction with so many operands does, and whether it is known.
func actionOf(word string, operands int) (action, bool) {
	switch {
	case strings.HasPrefix(word, "cmov"):
		return action{flags: readsFlags}, true
	case strings.HasPrefix(word, "set"):
		return action{flags: readsFlags}, true // of a register it writes the low byte
	case strings.HasPrefix(word, "imul") && operands > 1:
		return action{sets: operands == 3, flags: setsFlags}, true
	case word == "imull", word == "imulq", word == "mull", word == "mulq":
		return action{reads: rax, writes: rdx, flags: setsFlags}, true
	case word == "imulb", word == "imulw", word == "mulb", word == "mulw": // of rdx they write a part, or nothing
		return action{reads: rax, flags: setsFlags}, true
	case strings.HasPrefix(word, "div") && len(word) == 4 && word[3] != 's', strings.HasPrefix(word, "idiv"):
		return action{reads: rax | rdx, flags: setsFlags}, true
	case strings.HasPrefix(word, "nop"):
		return action{}, true
	}
	if a, ok := actions[word]; ok {
		return a, true
	}
	if n := len(word) - 1; n > 0 && strings.IndexByte("bwlq", word[n]) >= 0 {
		if a, ok := actions[word[:n]]; ok {
			return a, true
		}
	}
	return action{}, false
}

// zeroing reports whether an instruction with twice the same register sets it to zero.
func zeroing(word string) bool {
	switch word {
	case "xorl", "xorq", "xor", "subl", "subq", "sub":
		return true
	}
	return false
}

// byRegister reports whether an instruction shifts by a register, by 0 perhaps, which leaves the flags as they are.
func byRegister(word string, ops [][]byte) bool {
	shift := strings.HasPrefix(word, "sa") || strings.HasPrefix(word, "sh")
	return shift && len(ops) > 1 && ops[0][0] != '$'
}
