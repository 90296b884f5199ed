// Package isa has the machines whose assembly is understood, each a package.
package isa

import (
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/aarch64"
	"github.com/cairnprof/cairn/internal/instrument/isa/arm"
	"github.com/cairnprof/cairn/internal/instrument/isa/x86"
)

// machines are the machines by their kinds.
var machines = map[machine.Kind]asm.Machine{
	machine.X86_64:  x86.Machine{},
	machine.AArch64: aarch64.Machine{},
	machine.Arm:     arm.Machine{},
}

// Parse reads a compiler's assembly output for a machine. It returns an *asm.SyntaxError for
// text in another syntax or for another mode of the processor.
func Parse(src []byte, kind machine.Kind) (*asm.Unit, error) {
	return ParseAs(asm.ParseOptions{}, src, kind)
}

// ParseAs is Parse for a text that was made in another way.
func ParseAs(how asm.ParseOptions, src []byte, kind machine.Kind) (*asm.Unit, error) {
	on := machines[kind]
	if on == nil {
		return nil, &asm.SyntaxError{Line: 0, Reason: "assembly for " + kind.String() + " is not supported"}
	}
	return how.Parse(src, kind, on)
}
