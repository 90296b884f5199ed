package asm

import (
	"bytes"
	"strings"
)

// Problem: the assembly for Windows has ELF's syntax and other directives. A function is announced by .def NAME with
// .type 32, which external functions and aliases have as well, and has no .size. It ends at .seh_endproc, which functions
// of clang without a frame lack. A section has no group: a function that the linker may take from another object is in a
// section of its own, marked by .linkonce (GNU as) or by operands of .section (clang).
//
// Choice: functions are the labels that .def announced, and end at .seh_endproc or at the next function.

// coffFunction is the type of a function in .type, a derived type of the symbol table (PE format, section 5.4.3).
const coffFunction = "32"

// coffFeatures begins what clang writes before .file.
const coffFeatures = "\t.def\t@feat.00;"

// IsCOFF reports whether src is a compiler's output for COFF.
func IsCOFF(src []byte) bool {
	if bytes.HasPrefix(src, []byte(coffFeatures)) {
		if i := bytes.Index(src, []byte("\n\t.file\t")); i >= 0 {
			src = src[i+1:]
		}
	}
	return IsCompilerOutput(src)
}

// parseCOFF classifies a line. gcc marks inline assembly with a slash, which begins a comment there, and clang assigns
// values to symbols.
func parseCOFF(line []byte) Statement {
	if rest, ok := bytes.CutPrefix(line, []byte("/")); ok {
		return ParseComment(rest)
	}
	s := ParseLine(line)
	if rest, ok := bytes.CutPrefix(bytes.TrimLeft(s.Rest, " \t"), []byte("=")); ok && s.Kind == LineInsn {
		return Statement{LineDirective, []byte(".set"), rest} // @feat.00 = 0
	}
	return s
}

// coffDirective handles directives that only COFF has, or has with other operands, and reports whether s was one.
func (p *Parser) coffDirective(s Statement, pos, next int) bool {
	switch string(s.Word) {
	case ".section":
		p.coffSection(s.Rest)
	case ".linkonce":
		if _, name, ok := strings.Cut(p.Sec.Name, "$"); ok {
			p.Sec.Group, p.Sec.Once, p.Sec.Any = name, true, true
		}
	case ".seh_handlerdata":
		p.Enter(".xdata", "", false)
	case ".def":
		p.coffDefinition(s.Rest)
		p.Announce(pos)
	case ".type":
		if string(Operand(s.Rest)) == coffFunction {
			p.isFunc[p.defined] = true
		}
	case ".scl", ".endef":
	case ".seh_proc":
		p.isFunc[string(Unquote(Operand(s.Rest)))] = true
		p.Announce(pos)
	case ".seh_endproc":
		if f := p.Sec.Cur; f != nil {
			f.Behind, p.Sec.Cur = next, nil
		}
	default:
		return false
	}
	return true
}

// coffDefinition handles .def, which gcc writes with the directives up to .endef in the same line.
func (p *Parser) coffDefinition(rest []byte) {
	parts := bytes.Split(rest, []byte(";"))
	p.defined = string(Unquote(bytes.TrimSpace(parts[0])))
	for _, part := range parts[1:] {
		if f := bytes.Fields(part); len(f) == 2 && string(f[0]) == ".type" && string(f[1]) == coffFunction {
			p.isFunc[p.defined] = true
		}
	}
}

// coffSection handles .section NAME[,"flags"[,SELECTION,SYMBOL[,unique,N]]].
func (p *Parser) coffSection(rest []byte) {
	ops := SplitOperands(rest)
	name, flags, group := string(Unquote(ops[0])), "", ""
	if len(ops) > 1 {
		flags = string(Unquote(ops[1]))
	}
	if len(ops) > 3 {
		group = string(Unquote(ops[3]))
	}
	if len(ops) > 5 && string(ops[4]) == "unique" {
		name += ",unique," + string(ops[5])
	}
	p.Enter(name, group, strings.Contains(flags, "x") || flags == "" && strings.HasPrefix(name, ".text"))
	p.Sec.Any = p.Sec.Once || group != "" && string(ops[2]) == "discard"
}
