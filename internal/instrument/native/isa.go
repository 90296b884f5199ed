package native

import (
	"bytes"

	"github.com/cairnprof/cairn/internal/binary/machine"
)

// isa is the assembly of one machine: the effect of its instructions on the flow of control, and the form of
// probes. Everything else in a compiler's output is the same for all machines.
type isa interface {
	// classify returns the flow of an instruction and, for calls, branches and
	// jumps, its target operand.
	classify(mnemonic, rest []byte) (flow, []byte)
	// callee returns the symbol that a call or jump operand names, or "" where
	// the target is computed. Calls through the GOT or the PLT are direct.
	callee(op []byte) string
	// isTrap reports whether an instruction ends the program, or at least this
	// path through it.
	isTrap(mnemonic []byte) bool
	// refuse returns why text with a directive is not supported, or "".
	refuse(directive string, rest []byte) string
	// syntax returns the syntax of directives.
	syntax() *syntax
	// relocNone is the relocation that keeps its target alive and has no other effect.
	relocNone() string
	// dialect returns what moving code requires.
	dialect() *dialect
	// entryRow is the directive for the CFA at the entry of a function.
	entryRow() string
	// entryProbe returns the probe at the entry of a function and its first-call stub, or
	// "" if the mode has none. It may move the probe, within the first block.
	entryProbe(o *Options, p *entryProbe) (probe, stub string)
	// blocks returns the probes of the blocks of a function that are not implied by others,
	// or false if the function can have none but that of its entry.
	blocks(r *rewriter, fn *function, implied [][]int) (blockProbes, bool)
}

// entryProbe describes the probe at an entry.
type entryProbe struct {
	number   int // of the function, in the names of labels
	at       int // offset of the probe
	rec      position
	unwind   bool   // the function has unwind directives
	features string // operand of the last directive that chose an architecture
	r        *rewriter
	f        *fragment
}

// syntax is how the directives of a machine's assembly are written.
type syntax struct {
	mark    string // before the type of a section
	address string // directive for an address of eight bytes
	upper   string // after that address: what fills the eight bytes, or ""
}

var syntax64 = syntax{mark: "@", address: ".quad"}

func (x86) syntax() *syntax { return &syntax64 }

func (aarch64) syntax() *syntax { return &syntax64 }

// quad returns the directive for an address of eight bytes.
func (s *syntax) quad(at string) string { return "\t" + s.address + "\t" + at + s.upper + "\n" }

// blockProbes are the probes of one function's blocks.
type blockProbes interface {
	// probe returns the probe of a block, which counts through all fragments.
	probe(block int, rec position) string
}

// isas are the machines whose assembly is understood.
var isas = map[machine.Kind]isa{machine.X86_64: x86{}, machine.AArch64: aarch64{}, machine.Arm: arm{}}

// flow is the effect of an instruction on the flow of control.
type flow uint8

const (
	flowNext    flow = iota // continues with the next instruction
	flowCall                // usually returns
	flowBranch              // may go elsewhere
	flowJump                // goes elsewhere
	flowEnd                 // return or trap
	flowShort               // branch with a reach of 127 bytes
	flowLanding             // a target of indirect branches: must stay the first of its block
	flowSign                // signs the return address: a landing as well, if it leads a function
	flowNop                 // room for patching, if it leads a function
)

// isLocal reports whether a symbol is an assembler-local label inside of a function, or of data.
func isLocal(name []byte) bool {
	return len(name) > 1 && name[0] == '.' && name[1] == 'L' && !isAlias(name)
}

// isAlias reports whether a symbol is another name of a function for references inside of the module, as
// clang's .Lf$local is for f.
func isAlias(name []byte) bool {
	return bytes.HasPrefix(name, []byte(aliasHead)) && bytes.HasSuffix(name, []byte(aliasTail))
}

// calleeName returns the symbol of a function that code refers to by a name, "" for an expression.
func calleeName(name []byte) string {
	if wordEnd(name, 0) < len(name) {
		return ""
	}
	if isAlias(name) {
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
	"text", "PFE", "PR", "PIC", "PC", "CPI", "LSDA", "func_begin", "func_end", "tmp", "cfi", "patch", "xray_sled", "loh",
}

// isLeader reports whether a label inside a function can begin a basic block. Labels of unknown families do: an
// unnecessary probe costs 7 bytes, a missing one loses a block.
func isLeader(name []byte) bool {
	if isAlias(name) {
		return false
	}
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
		".incbin", ".nops", ".nop", ".reloc", ".hword", ".xword", ".dword", ".inst":
		return true
	}
	return false
}
