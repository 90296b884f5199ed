package asm

import "bytes"

// Machine is the assembly of one processor, as far as the structure of a text depends on it.
type Machine interface {
	// Classify returns the flow of an instruction and, for calls, branches and
	// jumps, its target operand.
	Classify(mnemonic, rest []byte) (Flow, []byte)
	// Callee returns the symbol that a call or jump operand names, or "" where
	// the target is computed. Calls through the GOT or the PLT are direct.
	Callee(op []byte) string
	// IsTrap reports whether an instruction ends the program, or at least this
	// path through it.
	IsTrap(mnemonic []byte) bool
	// Refuse returns why text with a directive is not supported, or "".
	Refuse(directive string, rest []byte) string
	// Reader returns what reads the parts of a text that no other machine has, nil if there are none.
	Reader() Reader
}

// Reader reads what only one machine's assembly has. Its methods report whether that is all about a part of the text.
type Reader interface {
	// Statement classifies a line.
	Statement(line []byte) Statement
	// Begin is called for the fragment of each function symbol.
	Begin(f *Fragment)
	Label(f *Fragment, name []byte, pos int) bool
	Directive(p *Parser, s Statement, pos, next int) bool
	// Instruction may change the flow of an instruction of the current fragment.
	Instruction(p *Parser, kind *Flow, s Statement, pos, next int) bool
	// Unconditional reports whether an instruction that is a call always calls.
	Unconditional(mnemonic []byte) bool
}

// Flow is the effect of an instruction on the flow of control.
type Flow uint8

const (
	FlowNext    Flow = iota // continues with the next instruction
	FlowCall                // usually returns
	FlowBranch              // may go elsewhere
	FlowJump                // goes elsewhere
	FlowEnd                 // return or trap
	FlowShort               // branch with a reach of 127 bytes
	FlowLanding             // a target of indirect branches: must stay the first of its block
	FlowSign                // signs the return address: a landing as well, if it leads a function
	FlowNop                 // room for patching, if it leads a function
)

// IsLocal reports whether a symbol is an assembler-local label inside of a function, or of data.
func IsLocal(name []byte) bool {
	return len(name) > 1 && name[0] == '.' && name[1] == 'L' && !IsAlias(name)
}

// IsAlias reports whether a symbol is another name of a function for references inside of the module, as
// clang's .Lf$local is for f.
func IsAlias(name []byte) bool {
	return bytes.HasPrefix(name, []byte(aliasHead)) && bytes.HasSuffix(name, []byte(aliasTail))
}

// CalleeName returns the symbol of a function that code refers to by a name, "" for an expression.
func CalleeName(name []byte) string {
	if WordEnd(name, 0) < len(name) {
		return ""
	}
	if IsAlias(name) {
		name = name[len(aliasHead) : len(name)-len(aliasTail)]
	}
	return string(name)
}

// The prefix and suffix around the name of a function in an alias of it.
const aliasHead, aliasTail = ".L", "$local"

// markers are the local labels of gcc and clang that mark places for debug and unwind tables and are never
// jumped to. gcc's .LBB12 is a lexical block, clang's .LBB0_1 a basic block. Clang's .Ltmp may be a landing pad
// or an address-taken block, but then there is a .LBB label beside it.
var markers = []string{
	"VL", "VU", "BI", "BE", "FB", "FE", "EHB", "EHE", "FSB", "COLD", "HOT",
	"text", "PFE", "PR", "PIC", "PC", "CPI", "LSDA", "func_begin", "func_end", "tmp", "cfi", "CFI", "patch", "xray_sled", "loh",
}

// IsLeader reports whether a label inside a function can begin a basic block. Labels of unknown families do: an
// unnecessary probe costs 7 bytes, a missing one loses a block.
func IsLeader(name []byte) bool {
	if IsAlias(name) {
		return false
	}
	if !IsLocal(name) {
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

// EmitsBytes reports whether a directive puts bytes into the section.
func EmitsBytes(directive []byte) bool {
	switch string(directive) {
	case ".byte", ".value", ".short", ".word", ".long", ".int", ".quad", ".octa", ".2byte", ".4byte", ".8byte",
		".zero", ".skip", ".space", ".fill", ".ascii", ".asciz", ".string", ".uleb128", ".sleb128",
		".incbin", ".nops", ".nop", ".reloc", ".hword", ".xword", ".dword", ".inst":
		return true
	}
	return false
}
