package arm

import (
	"bytes"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// parser is the parser's state for Arm alone: the state (Thumb or Arm) of the code, and data in the code.
type parser struct {
	thumb   bool
	outside *asm.Section // section that handler data interrupts, or nil
	table   table
	cases   *CaseTable // table whose entries follow, or nil
}

// table is the parser's position in a table of branches or addresses after an instruction that adds to, or
// loads, the program counter. Such a table is at a fixed distance from its instruction: it contains no blocks.
//
//	addls pc, pc, r0, asl #2
//	b     .L12
//	.L4:
//	b     .L11
//	b     .L10
//	.p2align 1
type table uint8

const (
	noTable    table = iota
	tableAhead       // its label follows
	inTable
)

// CaseTable is the table of a tbb or tbh, whose entries are distances.
type CaseTable struct {
	At, Next int // the line of the instruction
	Half     bool
	Entries  []asm.CodeLine
	Targets  []string
}

// Fragment is what is known of the code of a fragment.
type Fragment struct {
	Thumb  bool // it is code of the Thumb state
	Places []Label
	Cases  []*CaseTable
}

// Of returns that of a fragment.
func Of(f *asm.Fragment) *Fragment { return f.Machine.(*Fragment) }

// Label is a local label, of code or of data.
type Label struct {
	Name string
	At   int
}

// Code returns a line without its comment.
func Code(line []byte) []byte {
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
func (a *parser) Begin(f *asm.Fragment) { f.Machine = &Fragment{Thumb: a.thumb} }

// Unconditional reports whether an instruction that is a call always calls.
func (a *parser) Unconditional(mnemonic []byte) bool {
	return string(mnemonic) == "bl" || string(mnemonic) == "blx"
}

// Statement classifies a line. In Arm's assembly # precedes numbers, and @ precedes comments.
func (a *parser) Statement(line []byte) asm.Statement {
	if text := bytes.TrimLeft(line, " \t"); len(text) > 0 && text[0] == '@' {
		return comment(text[1:])
	}
	s := asm.ParseLine(Code(line))
	if s.Kind == asm.LineDirective && string(s.Word) == ".syntax" && string(asm.Operand(s.Rest)) == "divided" {
		return asm.Statement{Kind: asm.LineApp}
	}
	return s
}

// comment recognizes the comments around inline assembly: of clang, and of gcc, which precedes it by the
// source line, and follows it by line 0.
func comment(line []byte) asm.Statement {
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

// anchor reports whether a label marks an instruction that reads the program counter, or the beginning of
// one of its tables: nothing may be inserted after it.
func anchor(name []byte) bool {
	for _, p := range []string{".LPIC", ".LPC", ".LCPI"} {
		if bytes.HasPrefix(name, []byte(p)) {
			return true
		}
	}
	return false
}

// Label handles labels that are special on Arm and reports whether this was one.
func (a *parser) Label(f *asm.Fragment, name []byte, pos int) bool {
	if asm.IsLocal(name) {
		near := Of(f)
		near.Places = append(near.Places, Label{string(name), pos})
	}
	switch {
	case anchor(name):
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
func (c *CaseTable) open() *CaseTable {
	if c != nil && len(c.Entries) == 0 {
		return c
	}
	return nil
}

// Directive handles directives that are special on Arm and reports whether this was one.
func (a *parser) Directive(p *asm.Parser, s asm.Statement, pos, next int) bool {
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
func (a *parser) data(p *asm.Parser, s asm.Statement, pos, next int) bool {
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
		c.Entries = append(c.Entries, asm.CodeLine{At: int32(pos), Next: int32(next)})
		c.Targets = append(c.Targets, caseTarget(s.Rest))
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
func (a *parser) Instruction(p *asm.Parser, kind *asm.Flow, s asm.Statement, pos, next int) bool {
	a.cases = nil
	f := p.Sec.Cur
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
		a.cases = &CaseTable{At: pos, Next: next, Half: word == "tbh"}
		near := Of(f)
		near.Cases = append(near.Cases, a.cases)
	case *kind == asm.FlowBranch || *kind == asm.FlowJump:
		if ops := Operands(s.Rest); len(ops) > 1 && string(ops[0]) == "pc" && bytes.HasPrefix(bytes.TrimPrefix(ops[1], []byte("[")), []byte("pc")) {
			a.table, *kind = tableAhead, asm.FlowJump
		}
	}
	return false
}
