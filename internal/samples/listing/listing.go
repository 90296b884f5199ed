// Package listing prints the machine code of a program as llvm-profgen --show-disassembly-only
// does: by section and symbol, with the pseudo probes and the source location of each
// instruction.
package listing

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/asmtext"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Options select what is printed.
type Options struct {
	Syntax    asmtext.Syntax
	Functions []string // only these symbols; all if there is none
	Canonical bool     // without the suffixes that compilers append
	Probes    *Probes  // nil: they are not printed
	Source    *Source  // nil: it is not printed
}

// Unprinted counts code that could not be printed as instructions.
type Unprinted struct {
	Instructions int
	Invalid      int // invalid bytes: data, or instructions of a newer processor
	AsBytes      int // instructions without a known name, which are printed as bytes
}

// Write prints the code of a program.
func Write(w io.Writer, p *objfile.Program, o Options) (Unprinted, error) {
	text, err := printer(p.Machine, o.Syntax)
	if err != nil {
		return Unprinted{}, fmt.Errorf("%s: %w", p.Path, err)
	}
	l := &lister{Options: o, program: p, out: bufio.NewWriterSize(w, 1<<16), text: text, only: map[string]bool{}}
	for _, name := range o.Functions {
		l.only[name] = true
	}
	if o.Probes != nil {
		o.Probes.writeDescriptions(l.out)
	}
	fmt.Fprintf(l.out, "\nDisassembly of %s:\n", p.Path)
	for _, s := range stablesort.Sorted(slices.Values(p.Code), func(a, b objfile.CodeSection) int { return cmp.Compare(a.Index, b.Index) }) {
		l.section(&s)
	}
	return l.count, l.out.Flush()
}

// printer returns the function that prints instructions of a machine.
func printer(m machine.Kind, syntax asmtext.Syntax) (func(code []byte, addr uint64) asmtext.Text, error) {
	switch m {
	case machine.X86_64:
		return func(code []byte, addr uint64) asmtext.Text { return asmtext.X86(code, addr, syntax) }, nil
	case machine.AArch64:
		return asmtext.AArch64, nil
	}
	return nil, m.Only("instructions are printed", machine.X86_64, machine.AArch64)
}

// lister prints one program. Write errors are kept by out until it is flushed.
type lister struct {
	Options
	program *objfile.Program
	out     *bufio.Writer
	text    func(code []byte, addr uint64) asmtext.Text
	only    map[string]bool
	count   Unprinted
}

// section prints a section, from symbol to symbol. Bytes before the first symbol may not be
// code.
func (l *lister) section(s *objfile.CodeSection) {
	end := s.Addr + uint64(len(s.Data))
	fmt.Fprintf(l.out, "\nDisassembly of section %s [%#x, %#x]:\n\n", s.Name, s.Addr, end)
	if s.Name == ".plt" { // stubs of the dynamic linker, which LLVM omits
		return
	}
	symbols := l.symbols(s)
	for i, sym := range symbols {
		next := end
		if i+1 < len(symbols) {
			next = min(end, symbols[i+1].Addr)
		}
		name := sym.Name
		if l.Canonical {
			name = machinecode.CanonicalName(name)
		}
		if len(l.only) > 0 && !l.only[name] {
			continue
		}
		fmt.Fprintf(l.out, "<%s>:\n", name)
		l.instructions(s, sym.Addr, next)
		l.out.WriteByte('\n')
	}
}

// symbols returns the symbols of a section by address and name. The section symbol has the
// section's name.
func (l *lister) symbols(s *objfile.CodeSection) []objfile.Symbol {
	var symbols []objfile.Symbol
	for i := range l.program.Symbols {
		sym := l.program.Symbols[i]
		if sym.Section != s.Index || sym.Addr < s.Addr {
			continue
		}
		if sym.Name == "" {
			sym.Name = s.Name
		}
		symbols = append(symbols, sym.Symbol)
	}
	stablesort.Func(symbols, func(a, b objfile.Symbol) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), strings.Compare(a.Name, b.Name))
	})
	return symbols
}

// instructions prints the code in [from, to).
func (l *lister) instructions(s *objfile.CodeSection, from, to uint64) {
	for addr := from; addr < to; {
		text := l.text(s.Data[addr-s.Addr:], addr)
		l.count.Instructions++
		switch {
		case !text.Known:
			l.count.AsBytes++
		case text.Words == asmtext.Unknown:
			l.count.Invalid++
		}
		if l.Probes != nil {
			l.Probes.write(l.out, addr)
		}
		fmt.Fprintf(l.out, "%8x:%s", addr, text.Words)
		if l.Source != nil {
			fmt.Fprintf(l.out, "%*s%s", max(0, sourceColumn-len(text.Words)), "", l.Source.at(addr, l.Canonical))
		}
		l.out.WriteByte('\n')
		addr += uint64(text.Size)
	}
}

// sourceColumn is the column of the source location, in bytes after the address.
const sourceColumn = 40
