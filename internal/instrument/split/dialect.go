package split

import (
	"bytes"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/x86"
)

// dialect is the part of a machine's assembly that moving code depends on.
type dialect struct {
	comment  string                     // begins a comment
	jump     string                     // mnemonic of the jump with unlimited reach
	half     string                     // directive for two bytes
	align    string                     // before the symbol of a cold part
	none     string                     // relocation that keeps its target alive and has no other effect
	near     bool                       // only jumps and calls reach other sections; return addresses may be signed
	entry    asm.CFIState               // at the entry of a function
	opposite func(word string) string   // of a conditional jump, or ""
	operands func(rest []byte) [][]byte // of an instruction
	widths   map[string]string          // directives of data -> their names on x86
}

var x86Dialect = dialect{
	comment: "#", jump: "jmp", half: ".value", none: x86.RelocNone,
	entry:    asm.EntryCFI,
	opposite: func(word string) string { return x86.Inverse[word] },
	operands: func(rest []byte) [][]byte { return [][]byte{asm.Operand(rest)} },
}

// dialects are the machines whose functions are split.
var dialects = map[machine.Kind]*dialect{machine.X86_64: &x86Dialect, machine.AArch64: &aarch64Dialect}

// branch returns the conditional jump s with another target.
func (d *dialect) branch(word string, s asm.Statement, to string) string {
	var text strings.Builder
	text.WriteString("\t" + word + "\t")
	ops := d.operands(s.Rest)
	for _, op := range ops[:len(ops)-1] {
		text.Write(op)
		text.WriteString(", ")
	}
	return text.String() + to + "\n"
}

// data returns the name on x86 of a directive for data.
func (d *dialect) data(word []byte) string {
	if name, ok := d.widths[string(word)]; ok {
		return name
	}
	return string(word)
}

// code returns a line's text without its comment.
func (d *dialect) code(text []byte) []byte {
	code, _, _ := bytes.Cut(text, []byte(d.comment))
	return code
}

// isBlank reports whether text has nothing but a comment.
func (d *dialect) isBlank(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) == 0 || text[0] == '#' || bytes.HasPrefix(text, []byte(d.comment))
}
