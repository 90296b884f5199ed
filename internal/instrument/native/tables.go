package native

import "bytes"

// jumpTable is a table of distances between labels, in a data section.
type jumpTable struct {
	label   string
	base    string // what the distances are from
	width   int    // bytes of an entry
	entries []tableEntry
}

// tableEntry is a line of a jump table: a distance, divided by the size of an instruction.
type tableEntry struct {
	at, next int // offsets of the line
	target   string
}

// tableLine records a line of data that is an entry of a compressed jump table.
func (p *parser) tableLine(s statement, pos, next int) {
	width := 0
	switch string(s.word) {
	case ".byte":
		width = 1
	case ".2byte", ".hword":
		width = 2
	default:
		return
	}
	target, base, ok := dividedDistance(s.rest)
	if !ok || p.dataLabel == "" {
		return
	}
	tables := p.unit.tables
	if n := len(tables); n == 0 || tables[n-1].label != p.dataLabel {
		tables = append(tables, jumpTable{label: p.dataLabel, base: base, width: width})
	}
	t := &tables[len(tables)-1]
	t.entries = append(t.entries, tableEntry{pos, next, target})
	p.unit.tables = tables
}

// dividedDistance parses (.L1 - .L2) / 4, as gcc writes it, or (.L1-.L2)>>2, as clang does.
func dividedDistance(rest []byte) (target, base string, ok bool) {
	text, found := bytes.CutPrefix(bytes.ReplaceAll(bytes.TrimSpace(rest), []byte(" "), nil), []byte("("))
	inside, scale, closed := bytes.Cut(text, []byte(")"))
	a, b, minus := bytes.Cut(inside, []byte("-"))
	if !found || !closed || !minus || string(scale) != "/4" && string(scale) != ">>2" {
		return "", "", false
	}
	return string(a), string(b), isLocal(a) && isLocal(b)
}
