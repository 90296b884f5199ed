package split

import (
	"bytes"
	"sort"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// checkMentions refuses the plans of functions with references to their labels that a move could break. Whole
// addresses may be used anywhere; differences only from a place in the section of the directive, as in jump
// tables. Debug information is rewritten to use other labels.
func (s *splitter) checkMentions() {
	if len(s.plans) == 0 {
		return
	}
	sort.Slice(s.plans, func(i, j int) bool { return s.plans[i].first < s.plans[j].first })
	tables := map[int]bool{} // lines of exception tables that were understood
	for i, p := range s.plans {
		if i > 0 && s.plans[i-1].last >= p.first {
			p.refuse("it overlaps with another function")
		}
		if p.lsda != nil {
			for l := p.lsda.start; l < p.lsda.end; l++ {
				if tables[l] {
					p.refuse("an exception table shared by two functions")
				}
				tables[l] = true
			}
		}
	}
	t := s.text
	for i := range t.lines {
		l := &t.lines[i]
		if t.secs[l.sec].debug || l.kind == asm.LineBlank || tables[i] || !bytes.Contains(t.raw(i), []byte(".L")) {
			continue
		}
		s.checkLine(i)
	}
}

// owner returns the plan whose code has a label, and whether it moves.
func (s *splitter) owner(name string) (p *splitPlan, moves bool, def labelDef) {
	def, ok := s.text.defs[name]
	if !ok {
		return nil, false, def
	}
	line := int(def.line)
	i := sort.Search(len(s.plans), func(i int) bool { return s.plans[i].last >= line })
	if i == len(s.plans) || s.plans[i].first > line || !s.plans[i].own(line) {
		return nil, false, def
	}
	p = s.plans[i]
	k := p.pieceOf(line)
	return p, k >= 0 && p.pieces[k].cold, def
}

// checkLine examines the labels in one line.
func (s *splitter) checkLine(i int) {
	t, l := s.text, &s.text.lines[i]
	st := t.statement(i)
	switch {
	case l.app > 0:
		asm.LocalNames(t.raw(i), func(name []byte, _, _ int) {
			if p, _, def := s.owner(string(name)); p != nil && def.app != l.app {
				p.refuse("inline assembly elsewhere refers to a label of it")
			}
		})
	case l.kind == asm.LineInsn:
		s.checkOperands(st.Rest)
	case l.kind == asm.LineLabel:
		asm.LocalNames(st.Rest, func(name []byte, _, _ int) {
			if p, _, _ := s.owner(string(name)); p != nil {
				p.refuse("a statement after a label refers to a label of it")
			}
		})
	case l.kind == asm.LineDirective && asm.EmitsBytes(st.Word):
		if s.isTableEntry(st, t.secs[l.sec].name) {
			return
		}
		wide := false
		switch t.dialect.data(st.Word) {
		case ".long", ".quad", ".int", ".4byte", ".8byte":
			wide = true
		}
		for _, op := range asm.CFIOperands(st.Rest) {
			s.checkData(op, wide, l.sec)
		}
	case l.kind == asm.LineDirective:
		asm.LocalNames(st.Rest, func(name []byte, _, _ int) {
			p, moves, _ := s.owner(string(name))
			if p == nil || !moves && (string(st.Word) == ".size" || l.switches) {
				return
			}
			p.refuse("directive " + string(st.Word) + " names a label of it")
		})
	}
}

// checkOperands refuses differences in an instruction.
func (s *splitter) checkOperands(rest []byte) {
	rest = s.text.dialect.code(rest)
	asm.LocalNames(rest, func(name []byte, start, end int) {
		p, _, def := s.owner(string(name))
		if p == nil {
			return
		}
		if def.app > 0 {
			p.refuse("a label in inline assembly is referred to elsewhere")
		}
		before := byte(' ')
		if start > 0 && !(s.text.dialect.near && bytes.HasSuffix(rest[:start], []byte(":lo12:"))) {
			before = rest[start-1]
		}
		after := bytes.TrimLeft(rest[end:], " ")
		switch {
		case strings.IndexByte(" \t,*$(", before) < 0,
			len(after) > 0 && strings.IndexByte(",)(#\t\r\n", after[0]) < 0:
			p.refuse("an instruction computes with a label of it")
		}
	})
}

// checkData refuses an operand that is neither an address nor the distance of one from a label in the section
// itself.
func (s *splitter) checkData(op string, wide bool, sec int32) {
	first := true
	bad := false
	from, isDiff := "", false
	if a, b, ok := strings.Cut(op, "-"); ok {
		op, from, isDiff = a, b, true
	}
	if isDiff && from != "." {
		if p, _, _ := s.owner(from); p != nil {
			p.refuse("data holds a distance from a label of it")
		}
		def, ok := s.text.defs[from]
		bad = !ok || s.text.lines[def.line].sec != sec
	}
	asm.LocalNames([]byte(op), func(name []byte, _, end int) {
		p, _, def := s.owner(string(name))
		if p != nil && (bad || !wide || !first || end != len(op) || def.app > 0 || len(name) != len(op)) {
			p.refuse("data computes with a label of it")
		}
		first = false
	})
	if isDiff {
		asm.LocalNames([]byte(from), func(name []byte, _, _ int) {
			if p, _, _ := s.owner(string(name)); p != nil {
				p.refuse("data holds a distance from a label of it")
			}
		})
	}
}
