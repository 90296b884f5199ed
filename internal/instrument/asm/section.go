package asm

import (
	"strconv"
	"strings"
)

// Section is a code section of the unit.
type Section struct {
	Name  string
	Group string // operands that name its group, as in "_Z1fv,comdat"; "" if none. In COFF, the symbol of its COMDAT
	Once  bool   // .linkonce made it a COMDAT; of COFF
	Any   bool   // the linker takes it from one object of those that have it; of COFF
	Code  bool
	// state while parsing
	Cur       *Fragment // the fragment that code in this section belongs to
	content   bool      // something has been placed in it
	alignment int       // offset of the alignment that awaits code, or -1
	preamble  int       // offset of the first directive that announces a symbol, or -1
}

// debug reports whether the section has debug information.
func (s *Section) debug() bool {
	return !s.Code && (strings.HasPrefix(s.Name, ".debug_") || strings.HasPrefix(s.Name, "__DWARF,"))
}

// SectionDirective handles a change of section and reports whether s was one.
func (p *Parser) SectionDirective(s Statement) bool {
	switch string(s.Word) {
	case ".text":
		p.Enter(".text", "", true)
	case ".data", ".bss":
		p.Enter(string(s.Word), "", false)
	case ".section":
		p.enterOperands(s.Rest)
	case ".pushsection":
		p.stack = append(p.stack, p.Sec)
		p.enterOperands(s.Rest)
	case ".popsection":
		if n := len(p.stack); n > 0 {
			p.Prev, p.Sec = p.Sec, p.stack[n-1]
			p.stack = p.stack[:n-1]
		}
	case ".previous":
		if p.Prev != nil {
			p.Prev, p.Sec = p.Sec, p.Prev
		}
	default:
		return false
	}
	return true
}

// enterOperands handles .section NAME[,"flags"[,@type[,...]]].
func (p *Parser) enterOperands(rest []byte) {
	ops := SplitOperands(rest)
	name := string(Unquote(ops[0]))
	flags, group := "", ""
	if len(ops) > 1 {
		flags = string(Unquote(ops[1]))
	}
	extra := ops[min(len(ops), 3):]
	if strings.Contains(flags, "M") && len(extra) > 0 {
		extra = extra[1:]
	}
	if strings.Contains(flags, "o") && len(extra) > 0 {
		extra = extra[1:]
	}
	if strings.Contains(flags, "G") && len(extra) > 0 {
		group = string(extra[0])
		extra = extra[1:]
		if len(extra) > 0 && string(extra[0]) == "comdat" {
			group += ",comdat"
			extra = extra[1:]
		}
	}
	if len(extra) == 2 && string(extra[0]) == "unique" {
		name += ",unique," + string(extra[1]) // a separate section under a shared name
	}
	code := strings.Contains(flags, "x") || flags == "" && strings.HasPrefix(name, ".text")
	p.Enter(name, group, code)
}

// Enter changes to a section, of a group or of none (""), that may hold code.
func (p *Parser) Enter(name, group string, code bool) {
	key := name
	if group != "" {
		key = name + "\x00" + group
	}
	s := p.ByKey[key]
	if s == nil {
		s = &Section{Name: name, Group: group, Code: code, alignment: -1, preamble: -1}
		p.ByKey[key] = s
		p.Unit.secs = append(p.Unit.secs, s)
	}
	p.Prev, p.Sec = p.Sec, s
}

// AlignmentSize returns the maximum size that an alignment directive inserts, or -1.
func AlignmentSize(word string, rest []byte) int {
	ops := SplitOperands(rest)
	n, err := strconv.Atoi(string(ops[0]))
	if err != nil || n < 0 || n > 1<<16 {
		return -1
	}
	if word != ".balign" {
		if n > 16 {
			return -1
		}
		n = 1 << n
	}
	if len(ops) > 2 {
		if most, err := strconv.Atoi(string(ops[2])); err == nil && most < n {
			return most
		}
	}
	return n
}

// DataSize returns the bytes of a line of data, or -1.
func DataSize(s Statement) int {
	switch string(s.Word) {
	case ".byte":
		return len(SplitOperands(s.Rest))
	case ".2byte", ".hword", ".short":
		return 2 * len(SplitOperands(s.Rest))
	case ".4byte", ".word", ".long", ".inst":
		return 4 * len(SplitOperands(s.Rest))
	case ".8byte", ".xword", ".quad":
		return 8 * len(SplitOperands(s.Rest))
	}
	return -1
}
