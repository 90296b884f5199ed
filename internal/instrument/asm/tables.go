package asm

import "bytes"

// JumpTable is a table of distances between labels, in a data section.
type JumpTable struct {
	label   string
	Base    string // what the distances are from
	Width   int    // bytes of an entry
	Entries []tableEntry
}

// tableEntry is a line of a jump table: a distance, divided by the size of an instruction.
type tableEntry struct {
	At, Next int // offsets of the line
	Target   string
}

// tableLine records a line of data that is an entry of a compressed jump table.
func (p *Parser) tableLine(s Statement, pos, next int) {
	width := 0
	switch string(s.Word) {
	case ".byte":
		width = 1
	case ".2byte", ".hword":
		width = 2
	default:
		return
	}
	target, base, ok := DividedDistance(s.Rest)
	if !ok || p.dataLabel == "" {
		return
	}
	tables := p.Unit.Tables
	if n := len(tables); n == 0 || tables[n-1].label != p.dataLabel {
		tables = append(tables, JumpTable{label: p.dataLabel, Base: base, Width: width})
	}
	t := &tables[len(tables)-1]
	t.Entries = append(t.Entries, tableEntry{pos, next, target})
	p.Unit.Tables = tables
}

// DividedDistance parses (.L1 - .L2) / 4, as gcc writes it, or (.L1-.L2)>>2, as clang does.
func DividedDistance(rest []byte) (target, base string, ok bool) {
	text, found := bytes.CutPrefix(bytes.ReplaceAll(bytes.TrimSpace(rest), []byte(" "), nil), []byte("("))
	inside, scale, closed := bytes.Cut(text, []byte(")"))
	a, b, minus := bytes.Cut(inside, []byte("-"))
	if !found || !closed || !minus || string(scale) != "/4" && string(scale) != ">>2" {
		return "", "", false
	}
	return string(a), string(b), IsLocal(a) && IsLocal(b)
}
