// Package asmtext prints instructions of x86-64 and AArch64 as the tools of LLVM do, those of
// x86-64 in the AT&T or the Intel syntax: the mnemonic, a tab, and the operands. Numbers are
// decimal, the targets of branches are hexadecimal addresses, and the lock prefix is an
// instruction of its own.
//
// golang.org/x/arch decodes operands, and its tables decide which instructions can be printed.
// Lengths on x86-64 come from internal/binary/x86, because x/arch reads a few instructions with a wrong
// one (endbr64, vzeroupper, adcx). What cannot be printed is shown as bytes, in a form that
// assemblers accept.
package asmtext

import (
	"fmt"
	"strings"
)

// Syntax is a dialect of the x86 assembly language.
type Syntax uint8

// The syntaxes.
const (
	ATT Syntax = iota
	Intel
)

// Text is an instruction in words.
type Text struct {
	Words string // begins with a tab, as LLVM prints it
	Size  int    // bytes of code, at least 1
	// Known is false if Words are only the bytes of the instruction.
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
