package arm

import (
	"bytes"
	"strconv"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Problem: the probe of a block needs one or two registers, and inside a function any may be live.
//
// Choice: as for AArch64 (package aarch64), liveness of the registers that a function may change, over the flow
// graph: r0 to r3, ip and lr. A register counts as read unless it is known to be overwritten first, and so do
// all that a conditional instruction may overwrite. A call is assumed to read r0 to r3, and to overwrite only
// ip and lr; ip is the static chain of a nested function, whose name has a dot. The flags need no analysis: a
// probe of a block does not change them. Where too few registers are free, one or two are saved on the stack.

// Set is a set of registers: bit n is rn.
type Set uint16

const (
	IP      Set = 1 << 12
	LR      Set = 1 << 14
	Args    Set = 1<<4 - 1
	Tracked     = Args | IP | LR
)

// Order is the order in which probes use registers: low ones give short instructions.
var Order = [...]int{3, 2, 1, 0, 12, 14}

var names = map[string]int{
	"ip": 12, "sp": 13, "lr": 14, "pc": 15, "fp": 11, "sl": 10, "sb": 9,
	"a1": 0, "a2": 1, "a3": 2, "a4": 3, "v1": 4, "v2": 5, "v3": 6, "v4": 7, "v5": 8, "v6": 9, "v7": 10, "v8": 11,
}

// Name returns the name of a register.
func Name(n int) string {
	switch n {
	case 12:
		return "ip"
	case 14:
		return "lr"
	}
	return "r" + strconv.Itoa(n)
}

// register returns the number of a register.
func register(name []byte) (int, bool) {
	if n, ok := names[string(name)]; ok {
		return n, true
	}
	if len(name) < 2 || len(name) > 3 || name[0] != 'r' {
		return 0, false
	}
	n, err := strconv.Atoi(string(name[1:]))
	return n, err == nil && n >= 0 && n < 16
}

// IsRegister reports whether an operand is the name of a register.
func IsRegister(name []byte) bool {
	_, ok := register(name)
	return ok
}

// Registers returns the registers that a text names, those of ranges such as r4-r7 included.
func Registers(text []byte) (out Set) {
	from := -1 // of a range
	for i := 0; i < len(text); {
		if !asm.SymbolByte[text[i]] {
			if c := text[i]; c != '-' && c != ' ' && c != '\t' {
				from = -1
			}
			i++
			continue
		}
		n := asm.WordEnd(text, i)
		reg, ok := register(bytes.ToLower(text[i:n]))
		switch {
		case !ok:
			from = -1
		case from >= 0 && bytes.IndexByte(text[:i], '-') >= 0:
			for r := from; r <= reg; r++ {
				out |= 1 << r
			}
			from = -1
		default:
			out |= 1 << reg
			from = reg
		}
		i = n
	}
	return out
}

// One returns the register that an operand consists of.
func One(op []byte) Set {
	if n, ok := register(op); ok {
		return 1 << n
	}
	return 0
}

// Live returns what is live at the nodes of a function's flow graph.
func Live(u *asm.Unit, fn *asm.Function) *asm.Liveness[Set] {
	return asm.LivenessOf(u, fn, Effect, Args)
}

// Effect returns the registers that a line reads, and those that it overwrites without reading them. Inline
// assembly need not name its inputs, and neither does a system call.
func Effect(line []byte, app bool) (use, kill Set) {
	line = Code(bytes.TrimRight(line, "\r\n"))
	s := asm.ParseLine(line)
	if app || s.Kind != asm.LineInsn || system(s.Word) {
		return Tracked, 0
	}
	use, kill = Insn(strings.TrimSuffix(strings.TrimSuffix(string(s.Word), ".w"), ".n"), s.Rest)
	return use & Tracked, kill & Tracked
}

// system reports whether an instruction calls the system, or a higher exception level.
func system(word []byte) bool {
	for _, name := range []string{"svc", "swi", "hvc", "smc"} {
		if bytes.HasPrefix(word, []byte(name)) {
			return true
		}
	}
	return false
}

// Insn returns the registers that an instruction without width reads, and those that it overwrites without reading them.
func Insn(word string, rest []byte) (use, kill Set) {
	ops := Operands(rest)
	all := Registers(Code(rest))
	if base, cond, ok := condOf(word, "blx", "bx", "bl", "b"); ok {
		return transfer(base, cond, ops, all)
	}
	if bytes.IndexByte(rest, ';') >= 0 || len(ops) == 0 {
		return all, 0
	}
	all |= paired(word, ops)
	first := One(ops[0])
	rest3 := Registers(bytes.Join(ops[1:], []byte(",")))
	plain := word
	if !strings.HasPrefix(word, "ldr") { // ldrhs is ldr in the condition hs
		plain = strings.TrimSuffix(word, "s")
	}
	switch {
	case word == "pop":
		list := Registers(ops[0])
		return returned(list) &^ list, list
	case len(ops) == 2 && (word == "ldm" || word == "ldmia" || word == "ldmfd" || word == "ldmdb" || word == "ldmib"):
		list := Registers(ops[1])
		return Registers(ops[0]) | returned(list)&^list, list
	case len(ops) >= 3 && One(ops[1]) != 0 && (word == "ldrd" || word == "ldrexd"):
		return Registers(bytes.Join(ops[2:], []byte(","))), first | One(ops[1])
	case len(ops) == 4 && (plain == "umull" || plain == "smull"):
		return Registers(ops[2]) | Registers(ops[3]), first | One(ops[1])
	case word == "vmov" && len(ops) == 3 && first != 0 && One(ops[1]) != 0:
		return 0, first | One(ops[1])
	case pure()[word], pure()[plain] && len(ops) == 2, three()[plain] && len(ops) >= 3, three()[word] && len(ops) >= 3:
		if first&(1<<15) != 0 {
			return Tracked, 0 // a jump to anywhere
		}
		return rest3, first
	}
	return all, 0
}

// paired returns the second register of a paired store or load that names only the first: gcc writes strd
// r2, [sp] for r2 and r3.
func paired(word string, ops [][]byte) Set {
	first := -1
	switch {
	case strings.HasPrefix(word, "strexd"):
		first = 1
	case strings.HasPrefix(word, "strd"), strings.HasPrefix(word, "ldrd"), strings.HasPrefix(word, "ldrexd"):
		first = 0
	}
	if first < 0 || len(ops) <= first+1 || One(ops[first+1]) != 0 {
		return 0
	}
	return One(ops[first]) << 1
}

// transfer is insn for calls and jumps.
func transfer(base, cond string, ops [][]byte, all Set) (use, kill Set) {
	named := len(ops) > 0 && !IsRegister(ops[0])
	switch {
	case base == "bl" || base == "blx":
		use = Args | all
		if !named || bytes.IndexByte(ops[0], '.') >= 0 {
			use |= IP
		}
		if cond == "" {
			kill = IP | LR
		}
		return use, kill
	case named && asm.IsLocal(ops[0]):
		return 0, 0
	case named: // a tail call
		use = Args | LR
		if bytes.IndexByte(ops[0], '.') >= 0 {
			use |= IP
		}
		return use, 0
	case len(ops) == 1 && string(ops[0]) == "lr":
		return Args | LR, 0
	}
	return Tracked, 0
}

// returned returns the registers that are read after a load of these registers: if it loads the program
// counter, the return values.
func returned(loaded Set) Set {
	if loaded&(1<<15) != 0 {
		return Args
	}
	return 0
}

// pure write their first operand without reading it. Those that end in s set flags as well.
var pure = words("mov mvn movw neg cpy adr mrs clz rbit rev rev16 revsh uxtb uxth sxtb sxth uxtb16 sxtb16 ldr ldrb ldrh ldrsb ldrsh ldrex ldrexb ldrexh ldrt ldrbt lda ldab ldah vmov")

// three have this property with three operands; with two, they also read the first.
var three = words("add addw sub subw rsb and orr orn eor bic adc sbc rsc lsl lsr asr ror mul mla mls udiv sdiv ubfx sbfx" +
	" uxtab uxtah sxtab sxtah smmul smmla smulbb smulbt smultb smultt smlabb pkhbt pkhtb sel usat ssat qadd qsub uadd8 usub8 uadd16 usub16")

func words(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		words := map[string]bool{}
		for word := range strings.FieldsSeq(list) {
			words[word] = true
		}
		return words
	})
}
