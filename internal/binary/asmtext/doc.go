// Package asmtext prints instructions of x86-64 and AArch64 as the tools of LLVM do, those of
// x86-64 in the AT&T or the Intel syntax: the mnemonic, a tab, and the operands. Numbers are
// decimal, the targets of branches are hexadecimal addresses, and the lock prefix is a
// separate instruction.
//
// golang.org/x/arch decodes operands; only instructions in its tables can be printed. Lengths
// on x86-64 come from internal/binary/x86, because x/arch returns a wrong length for a few
// instructions (endbr64, vzeroupper, adcx). Instructions that cannot be printed are shown as
// bytes, in a form that assemblers accept.
package asmtext

import (
	"fmt"
	"strings"
)

// Syntax is a syntax of the x86 assembly language.
type Syntax uint8

// The syntaxes.
const (
	ATT Syntax = iota
	Intel
)

// Text is the text of an instruction.
type Text struct {
	Words string // begins with a tab, as LLVM prints it
	Size  int    // bytes of code, at least 1
	// Known is false if Words has only the bytes of the instruction.
	Known bool
}

// Unknown is what LLVM prints for bytes that are not an instruction.
const Unknown = "\t<unknown>"

// asBytes returns the bytes of an instruction that cannot be printed.
func asBytes(code []byte) Text {
	var b strings.Builder
	b.WriteString("\t.byte\t")
	for i, x := range code {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%#02x", x)
	}
	return Text{Words: b.String(), Size: len(code)}
}
