package native

import (
	"bytes"
	"strconv"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// aarch64 is the assembly of AArch64, as gcc and clang write it.
//
// A probe is 12 bytes where it sets a byte and 20 where it counts:
//
//	cover, block        count, full            order, block+order
//	adrp x16, rec       adrp x16, rec          adrp x16, rec
//	mov  w17, 1         ldr  w17, [x16, lo12]  ldrb w17, [x16, lo12]
//	strb w17, [x16, lo12]  cbz w17, S          cbz  w17, S
//	                    sub  w17, w17, 1
//	                    str  w17, [x16, lo12]
//
// x16 and x17 belong to the linker's veneers: no compiler keeps a value in them across a call, so at an entry
// they are free, even with -fipa-ra. Inside a function they are ordinary registers (aarch64live.go). Probes do
// not change the flags.
//
// The stub of a first call saves the return address, which its own call overwrites:
//
//	S:  add  x16, x16, :lo12:rec
//	    stp  x16, x30, [sp, -16]!
//	    bl   __cairn_first_count
//	    ldp  x16, x30, [sp], 16
//	    b    back
type aarch64 struct{}

// aarch64Branches are the conditional branches on flags; clang writes b.eq, gcc beq.
var aarch64Branches = sync.OnceValue(func() map[string]bool {
	branches := map[string]bool{}
	for _, cond := range [...]string{"eq", "ne", "cs", "hs", "cc", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al"} {
		branches["b"+cond], branches["b."+cond], branches["bc."+cond] = true, true, true
	}
	return branches
})

func (m aarch64) Classify(mnemonic, rest []byte) (asm.Flow, []byte) {
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
			return hintFlow(string(aarch64Operand(rest))), nil
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

func (aarch64) classifyB(word string, rest []byte) (asm.Flow, []byte) {
	switch word {
	case "b":
		return asm.FlowJump, aarch64Operand(rest)
	case "br", "braa", "brab", "braaz", "brabz":
		return asm.FlowJump, nil
	case "bl":
		return asm.FlowCall, aarch64Operand(rest)
	case "blr", "blraa", "blrab", "blraaz", "blrabz":
		return asm.FlowCall, nil
	case "bti":
		return asm.FlowLanding, nil
	case "brk":
		switch string(aarch64Operand(rest)) {
		case "61440", "0xf000": // __builtin_debugtrap, which continues
			return asm.FlowNext, nil
		}
		return asm.FlowEnd, nil
	}
	if aarch64Branches()[word] {
		return asm.FlowBranch, aarch64Operand(rest)
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

// aarch64Operand returns the first operand of rest, without the # of a number.
func aarch64Operand(rest []byte) []byte {
	ops := aarch64Operands(rest)
	if len(ops) == 0 {
		return nil
	}
	return bytes.TrimPrefix(ops[0], []byte("#"))
}

func lastOperand(rest []byte) []byte {
	ops := aarch64Operands(rest)
	if len(ops) == 0 {
		return nil
	}
	return ops[len(ops)-1]
}

// aarch64Operands splits operands at commas outside of brackets, and drops a comment.
func aarch64Operands(rest []byte) [][]byte {
	if i := bytes.Index(rest, []byte("//")); i >= 0 {
		rest = rest[:i]
	}
	if i := bytes.IndexByte(rest, ';'); i >= 0 {
		rest = rest[:i]
	}
	return splitInsnOperands(rest)
}

// splitInsnOperands splits the operands of an instruction at commas outside of brackets.
func splitInsnOperands(rest []byte) [][]byte {
	var out [][]byte
	depth, start := 0, 0
	for i, c := range rest {
		switch c {
		case '[', '{', '(':
			depth++
		case ']', '}', ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, bytes.TrimSpace(rest[start:i]))
				start = i + 1
			}
		}
	}
	if tail := bytes.TrimSpace(rest[start:]); len(tail) > 0 {
		out = append(out, tail)
	}
	return out
}

func (aarch64) Callee(op []byte) string {
	return asm.CalleeName(asm.Unquote(op))
}

func (aarch64) IsTrap(mnemonic []byte) bool {
	switch string(mnemonic) {
	case "brk", "udf", "hlt":
		return true
	}
	return false
}

func (aarch64) Refuse(string, []byte) string { return "" }

// Reader returns nil.
func (aarch64) Reader() asm.Reader { return nil }

func (aarch64) relocNone() string { return "R_AARCH64_NONE" }

func (aarch64) entryRow() string { return "\t.cfi_def_cfa 31, 0\n" }

// setByte returns a probe that sets a byte with two registers.
func setByte(base, value int, rec position) string {
	b, v, r := strconv.Itoa(base), strconv.Itoa(value), rec.String()
	return "\tadrp\tx" + b + ", " + r + "\n\tmov\tw" + v + ", 1\n\tstrb\tw" + v + ", [x" + b + ", :lo12:" + r + "]\n"
}

func (m aarch64) entryProbe(o *Options, p *entryProbe) (probe, stub string) {
	rec, num := p.rec.String(), strconv.Itoa(p.number)
	first := firstCall(o.Mode)
	if first == "" {
		return setByte(16, 17, p.rec), ""
	}
	toStub, back := "\tcbz\tw17, .Lcairn_s"+num+"\n", ".Lcairn_r"+num+":\n"
	page := "\tadrp\tx16, " + rec + "\n"
	address := "\tadd\tx16, x16, :lo12:" + rec + "\n"
	switch {
	case o.Mode.HasSlots():
		probe = page + "\tldrb\tw17, [x16, :lo12:" + rec + "]\n" + toStub + back
	case o.Atomic && hasLSE(p.features):
		// The old value: 0 at the first call.
		probe = page + address + "\tmov\tw17, -1\n\tldadd\tw17, w17, [x16]\n" + toStub + back
		first, address = first+"_atomic", ""
	case o.Atomic:
		probe = page + address + exclusiveCount(num, p.unwind) + "\tcmn\tw17, 1\n\tb.eq\t.Lcairn_s" + num + "\n" + back
		first, address = first+"_atomic", ""
	default:
		probe = page + "\tldr\tw17, [x16, :lo12:" + rec + "]\n" + toStub +
			"\tsub\tw17, w17, 1\n\tstr\tw17, [x16, :lo12:" + rec + "]\n" + back
	}
	return probe, ".Lcairn_s" + num + ":\n" + address + "\tstp\tx16, x30, [sp, -16]!\n\tbl\t" + first +
		"\n\tldp\tx16, x30, [sp], 16\n\tb\t.Lcairn_r" + num + "\n"
}

// exclusiveCount counts at x16 with a pair of exclusive accesses, which needs a third register.
func exclusiveCount(num string, unwind bool) string {
	down, up := "", ""
	if unwind {
		down, up = "\t.cfi_adjust_cfa_offset 16\n", "\t.cfi_adjust_cfa_offset -16\n"
	}
	return "\tstr\tx15, [sp, -16]!\n" + down + ".Lcairn_l" + num + ":\n\tldxr\tw17, [x16]\n\tsub\tw17, w17, 1\n\tstxr\tw15, w17, [x16]\n" +
		"\tcbnz\tw15, .Lcairn_l" + num + "\n\tldr\tx15, [sp], 16\n" + up
}

// hasLSE reports whether the operand of .arch, such as armv8.2-a+crypto, has the atomic
// instructions of the Large System Extensions.
func hasLSE(arch string) bool {
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

// blocks accepts functions whose branches and tables can be extended over the probes.
func (aarch64) blocks(r *rewriter, fn *asm.Function, implied [][]int) (blockProbes, bool) {
	places := r.probePlaces(fn, implied)
	return places, r.reachBlocks(fn, implied, places)
}
