package native

import (
	"bytes"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// armParser is the parser's state for Arm alone: the state (Thumb or Arm) of the code, and data in the code.
type armParser struct {
	thumb   bool
	outside *asm.Section // section that handler data interrupts, or nil
	table   armTable
	cases   *caseTable // table whose entries follow, or nil
}

// armTable is the parser's position in a table of branches or addresses after an instruction that adds to, or
// loads, the program counter. Such a table is at a fixed distance from its instruction: it contains no blocks.
//
//	addls pc, pc, r0, asl #2
//	b     .L12
//	.L4:
//	b     .L11
//	b     .L10
//	.p2align 1
type armTable uint8

const (
	noTable    armTable = iota
	tableAhead          // its label follows
	inTable
)

// caseTable is the table of a tbb or tbh, whose entries are distances.
type caseTable struct {
	at, next int // the line of the instruction
	half     bool
	entries  []asm.CodeLine
	targets  []string
}

// armFragment is what is known of the code of a fragment.
type armFragment struct {
	thumb  bool // it is code of the Thumb state
	places []armLabel
	cases  []*caseTable
}

// armOf returns that of a fragment.
func armOf(f *asm.Fragment) *armFragment { return f.Machine.(*armFragment) }

// armLabel is a local label, of code or of data.
type armLabel struct {
	name string
	at   int
}

// armCode returns a line without its comment.
func armCode(line []byte) []byte {
	quoted := false
	for i, c := range line {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '@' && !quoted:
			return line[:i]
		}
	}
	return line
}

// Begin notes the state of a function's code.
func (a *armParser) Begin(f *asm.Fragment) { f.Machine = &armFragment{thumb: a.thumb} }

// Unconditional reports whether an instruction that is a call always calls.
func (a *armParser) Unconditional(mnemonic []byte) bool {
	return string(mnemonic) == "bl" || string(mnemonic) == "blx"
}

// Statement classifies a line. In Arm's assembly # precedes numbers, and @ precedes comments.
func (a *armParser) Statement(line []byte) asm.Statement {
	if text := bytes.TrimLeft(line, " \t"); len(text) > 0 && text[0] == '@' {
		return armComment(text[1:])
	}
	s := asm.ParseLine(armCode(line))
	if s.Kind == asm.LineDirective && string(s.Word) == ".syntax" && string(asm.Operand(s.Rest)) == "divided" {
		return asm.Statement{Kind: asm.LineApp}
	}
	return s
}

// armComment recognizes the comments around inline assembly: of clang, and of gcc, which precedes it by the
// source line, and follows it by line 0.
func armComment(line []byte) asm.Statement {
	f := bytes.Fields(line)
	if n := len(f); n >= 3 && len(f[1]) >= 2 && f[1][0] == '"' {
		switch {
		case string(f[0]) == "0" && string(f[1]) == `""` && string(f[2]) == "2":
			return asm.Statement{Kind: asm.LineNoApp}
		case string(f[n-1]) == "1" && f[0][0] >= '0' && f[0][0] <= '9':
			return asm.Statement{Kind: asm.LineApp}
		}
	}
	return asm.ParseComment(line)
}

// armAnchor reports whether a label marks an instruction that reads the program counter, or the beginning of
// one of its tables: nothing may be inserted after it.
func armAnchor(name []byte) bool {
	for _, p := range []string{".LPIC", ".LPC", ".LCPI"} {
		if bytes.HasPrefix(name, []byte(p)) {
			return true
		}
	}
	return false
}

// Label handles labels that are special on Arm and reports whether this was one.
func (a *armParser) Label(f *asm.Fragment, name []byte, pos int) bool {
	if asm.IsLocal(name) {
		near := armOf(f)
		near.places = append(near.places, armLabel{string(name), pos})
	}
	switch {
	case armAnchor(name):
		if f.Anchor == 0 {
			f.Anchor = pos + 1
		}
		return true
	case a.table == tableAhead && asm.IsLeader(name):
		a.table = inTable
		return true
	case asm.IsLeader(name):
		a.table, a.cases = noTable, a.cases.open()
	}
	return false
}

// open returns the table if entries are to come.
func (c *caseTable) open() *caseTable {
	if c != nil && len(c.entries) == 0 {
		return c
	}
	return nil
}

// Directive handles directives that are special on Arm and reports whether this was one.
func (a *armParser) Directive(p *asm.Parser, s asm.Statement, pos, next int) bool {
	switch string(s.Word) {
	case ".thumb", ".thumb_func":
		a.thumb = true
		p.Announce(pos)
	case ".arm":
		a.thumb = false
		p.Announce(pos)
	case ".code":
		a.thumb = string(asm.Operand(s.Rest)) == "16"
		p.Announce(pos)
	case ".handlerdata":
		a.outside = p.Sec
		p.Enter(".handlerdata", "", false)
	case ".fnend":
		if a.outside != nil {
			p.Prev, p.Sec, a.outside = p.Sec, a.outside, nil
		}
	case ".ltorg", ".pool":
		if f := p.Sec.Cur; f != nil {
			f.Pads = append(f.Pads, asm.Pad{At: pos, Size: -1})
			f.End = next
		}
	case ".p2align", ".align", ".balign":
		if a.table == inTable {
			a.table = noTable
		}
		a.cases = a.cases.open()
		return false
	default:
		return asm.EmitsBytes(s.Word) && p.Sec.Code && p.Sec.Cur != nil && a.data(p, s, pos, next)
	}
	return true
}

// data handles bytes in the code: literals and tables. Labels before them begin no blocks. An instruction given
// as a number is code; in compiler output it is a trap.
func (a *armParser) data(p *asm.Parser, s asm.Statement, pos, next int) bool {
	f := p.Sec.Cur
	if string(s.Word) == ".inst" {
		f.Code(pos, next)
		f.Note(pos, next, false)
		f.Insns++
		f.Transfer(asm.FlowEnd, nil, "", true)
		p.Placed()
		return true
	}
	if n := len(f.Blocks); f.State == asm.StartBlock {
		for k := len(f.Labels); k > 0 && f.Labels[k-1].Block == n; k-- {
			f.Labels = f.Labels[:k-1]
		}
	}
	if c := a.cases; c != nil {
		c.entries = append(c.entries, asm.CodeLine{At: int32(pos), Next: int32(next)})
		c.targets = append(c.targets, caseTarget(s.Rest))
	}
	f.Anchor = 0
	f.Enter(pos)
	f.Pads = append(f.Pads, asm.Pad{At: pos, Size: asm.DataSize(s)})
	f.State, f.End, a.table = asm.Unreached, next, noTable
	p.Placed()
	return true
}

// caseTarget returns the label in an entry such as (.L3-.L4)/2, "" if it is another kind.
func caseTarget(rest []byte) string {
	text, ok := bytes.CutPrefix(bytes.TrimSpace(rest), []byte("("))
	if i := bytes.IndexByte(text, '-'); ok && i > 0 && bytes.HasSuffix(text, []byte(")/2")) {
		return string(text[:i])
	}
	return ""
}

// Instruction handles instructions that are special on Arm and reports whether this was one.
func (a *armParser) Instruction(p *asm.Parser, f *asm.Fragment, kind *asm.Flow, s asm.Statement, pos, next int) bool {
	a.cases = nil
	if a.table != noTable {
		if *kind == asm.FlowJump && f.State == asm.Unreached {
			p.Mention(s.Rest)
			f.Compiled = true
			return true
		}
		a.table = noTable
	}
	switch word := strings.TrimSuffix(string(s.Word), ".w"); {
	case word == "tbb" || word == "tbh":
		a.cases = &caseTable{at: pos, next: next, half: word == "tbh"}
		near := armOf(f)
		near.cases = append(near.cases, a.cases)
	case *kind == asm.FlowBranch || *kind == asm.FlowJump:
		if ops := armOperands(s.Rest); len(ops) > 1 && string(ops[0]) == "pc" && bytes.HasPrefix(bytes.TrimPrefix(ops[1], []byte("[")), []byte("pc")) {
			a.table, *kind = tableAhead, asm.FlowJump
		}
	}
	return false
}
