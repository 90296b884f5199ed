package native

import "bytes"

// flow is what an instruction does to the flow of control.
type flow uint8

const (
	flowNext    flow = iota // goes on with the next instruction
	flowCall                // comes back, as a rule
	flowBranch              // may go elsewhere
	flowJump                // goes elsewhere
	flowEnd                 // return or trap
	flowShort               // branch with an 8-bit displacement only
	flowLanding             // endbr64: must stay the first of its block
	flowNop                 // room for patching, if it leads a function
)

// classify returns the flow of an instruction and, for calls, branches and
// jumps, its target operand. AT&T syntax, x86-64.
func classify(mnemonic, rest []byte) (flow, []byte) {
	switch mnemonic[0] {
	case 'b', 'n':
		switch string(mnemonic) {
		case "notrack", "bnd":
			rest = bytes.TrimLeft(rest, " \t")
			if i := bytes.IndexAny(rest, " \t"); i > 0 {
				return classify(rest[:i], rest[i:])
			}
		case "nop", "nopw", "nopl":
			return flowNop, nil
		}
	case 'c':
		if s := string(mnemonic); s == "call" || s == "callq" {
			return flowCall, operand(rest)
		}
	case 'e':
		if string(mnemonic) == "endbr64" {
			return flowLanding, nil
		}
	case 'h', 'i', 'r', 's', 'u':
		if isTrap(mnemonic) {
			return flowEnd, nil
		}
		switch string(mnemonic) {
		case "ret", "retq", "iretq", "iret", "sysretq", "uiret":
			return flowEnd, nil
		case "rep", "repz":
			if op := operand(rest); bytes.HasPrefix(op, []byte("ret")) {
				return flowEnd, nil
			}
		}
	case 'j':
		return classifyJump(mnemonic, rest)
	case 'l':
		if bytes.HasPrefix(mnemonic, []byte("loop")) {
			return flowShort, operand(rest)
		}
	case 'x':
		if string(mnemonic) == "xbegin" {
			return flowBranch, operand(rest)
		}
	}
	return flowNext, nil
}

// isTrap reports whether an instruction ends the program, or at least this
// path through it. Clang's -fsanitize-trap writes ud1 with operands.
func isTrap(mnemonic []byte) bool {
	switch string(mnemonic) {
	case "ud2", "ud1", "ud1l", "ud1w", "ud1q", "hlt":
		return true
	}
	return false
}

func classifyJump(mnemonic, rest []byte) (flow, []byte) {
	switch string(mnemonic) {
	case "jmp", "jmpq":
		return flowJump, operand(rest)
	case "jrcxz", "jecxz":
		return flowShort, operand(rest)
	}
	return flowBranch, operand(rest)
}

// callee returns the symbol that a call or jump operand names, or "" where
// the target is computed. Calls through the GOT or the PLT are direct.
func callee(op []byte) string {
	if len(op) == 0 {
		return ""
	}
	if op[0] == '*' {
		// call *foo@GOTPCREL(%rip), as -fno-plt has it.
		name, _, ok := bytes.Cut(op[1:], []byte("@GOTPCREL(%rip)"))
		if !ok {
			return ""
		}
		return string(unquote(name))
	}
	name, _, _ := bytes.Cut(op, []byte("@PLT"))
	name = unquote(name)
	for _, c := range name {
		if !symbolByte[c] {
			return "" // an expression
		}
	}
	return string(name)
}

// isLocal reports whether a symbol is an assembler-local label.
func isLocal(name []byte) bool { return len(name) > 1 && name[0] == '.' && name[1] == 'L' }

// markers are the local labels of gcc and clang that mark places for debug
// and unwind tables and are never jumped to. gcc's .LBB12 is a lexical block,
// clang's .LBB0_1 a basic block. Clang's .Ltmp may be a landing pad or an
// address-taken block, but then stands beside a .LBB label.
var markers = []string{
	"VL", "VU", "BI", "BE", "FB", "FE", "EHB", "EHE", "FSB", "COLD", "HOT",
	"text", "PFE", "PR", "LSDA", "func_begin", "func_end", "tmp", "cfi", "patch", "xray_sled",
}

// isLeader reports whether a label inside a function can begin a basic block.
// Labels of unknown families do: one probe too many costs 7 bytes, one too few
// loses a block.
func isLeader(name []byte) bool {
	if !isLocal(name) {
		return name[0] < '0' || name[0] > '9' // 1: is mcount's
	}
	tail := name[2:]
	if len(tail) > 0 && tail[0] >= '0' && tail[0] <= '9' {
		return true
	}
	if bytes.HasPrefix(tail, []byte("BB")) {
		return bytes.IndexByte(tail, '_') >= 0
	}
	for _, m := range markers {
		if bytes.HasPrefix(tail, []byte(m)) {
			return false
		}
	}
	return true
}

// emitsBytes reports whether a directive puts bytes into the section.
func emitsBytes(directive []byte) bool {
	switch string(directive) {
	case ".byte", ".value", ".short", ".word", ".long", ".int", ".quad", ".octa", ".2byte", ".4byte", ".8byte",
		".zero", ".skip", ".space", ".fill", ".ascii", ".asciz", ".string", ".uleb128", ".sleb128",
		".incbin", ".nops", ".nop", ".reloc":
		return true
	}
	return false
}
