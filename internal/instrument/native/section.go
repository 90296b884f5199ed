package native

import (
	"strconv"
	"strings"
)

// section is a code section of the unit.
type section struct {
	name  string
	group string // operands that name its group, as in "_Z1fv,comdat"; "" if none
	code  bool
	// state while parsing
	cur       *fragment // the fragment that code in this section belongs to
	content   bool      // something has been placed in it
	alignment int       // offset of the alignment that awaits code, or -1
	preamble  int       // offset of the first directive that announces a symbol, or -1
}

// sectionDirective handles a change of section and reports whether s was one.
func (p *parser) sectionDirective(s statement) bool {
	switch string(s.word) {
	case ".text":
		p.enter(".text", "", true)
	case ".data", ".bss":
		p.enter(string(s.word), "", false)
	case ".section":
		p.enterOperands(s.rest)
	case ".pushsection":
		p.stack = append(p.stack, p.sec)
		p.enterOperands(s.rest)
	case ".popsection":
		if n := len(p.stack); n > 0 {
			p.prev, p.sec = p.sec, p.stack[n-1]
			p.stack = p.stack[:n-1]
		}
	case ".previous":
		if p.prev != nil {
			p.prev, p.sec = p.sec, p.prev
		}
	default:
		return false
	}
	return true
}

// enterOperands handles .section NAME[,"flags"[,@type[,...]]].
func (p *parser) enterOperands(rest []byte) {
	ops := splitOperands(rest)
	name := string(unquote(ops[0]))
	flags, group := "", ""
	if len(ops) > 1 {
		flags = string(unquote(ops[1]))
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
	p.enter(name, group, code)
}

func (p *parser) enter(name, group string, code bool) {
	key := name
	if group != "" {
		key = name + "\x00" + group
	}
	s := p.byKey[key]
	if s == nil {
		s = &section{name: name, group: group, code: code, alignment: -1, preamble: -1}
		p.byKey[key] = s
		p.unit.secs = append(p.unit.secs, s)
	}
	p.prev, p.sec = p.sec, s
}

// alignmentSize returns the maximum size that an alignment directive inserts, or -1.
func alignmentSize(word string, rest []byte) int {
	ops := splitOperands(rest)
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

// dataSize returns the bytes of a line of data, or -1.
func dataSize(s statement) int {
	switch string(s.word) {
	case ".byte":
		return len(splitOperands(s.rest))
	case ".2byte", ".hword", ".short":
		return 2 * len(splitOperands(s.rest))
	case ".4byte", ".word", ".long", ".inst":
		return 4 * len(splitOperands(s.rest))
	case ".8byte", ".xword", ".quad":
		return 8 * len(splitOperands(s.rest))
	}
	return -1
}
