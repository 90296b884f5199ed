package split

import (
	"bytes"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// trackLocs finds the .loc in effect at each line of the plan, in whatever section the .loc is.
func (p *splitPlan) trackLocs() {
	t := p.text
	p.locs = make([]int32, p.last-p.first+1)
	cur := int32(-1)
	for i := p.first; i <= p.last; i++ {
		p.locs[i-p.first] = cur
		if l := &t.lines[i]; l.kind == asm.LineDirective && string(t.statement(i).Word) == ".loc" {
			cur = int32(i)
			if words := locWords(t.statement(i).Rest); len(words) < 2 || slices.Contains(words, "isa") {
				p.refuse("a line directive of an unknown form")
			}
		}
	}
}

// appendLoc appends the .loc of line i with an explicit is_stmt: the assembler keeps that from one directive to
// the next, in the order of the text. Views and prologue marks are written only at the directive's own place.
func (t *splitText) appendLoc(out []byte, i int, place bool) []byte {
	words := locWords(t.statement(i).Rest)
	var kept []string
	for n := 0; n < len(words); n++ {
		switch w := words[n]; w {
		case "is_stmt":
			n++
		case "view":
			if place {
				kept = append(kept, words[n:min(n+2, len(words))]...)
			}
			n++
		case "basic_block", "prologue_end", "epilogue_begin":
			if place {
				kept = append(kept, w)
			}
		default:
			kept = append(kept, w)
		}
	}
	stmt := " is_stmt 0"
	if t.lines[i].stmt {
		stmt = " is_stmt 1"
	}
	// Before a view, as gcc writes it.
	out = append(out, "\t.loc "...)
	at := slices.Index(kept, "view")
	if at < 0 {
		at = len(kept)
	}
	out = append(out, strings.Join(kept[:at], " ")+stmt...)
	if at < len(kept) {
		out = append(out, " "+strings.Join(kept[at:], " ")...)
	}
	return append(out, '\n')
}

// substitute appends a line with local labels replaced by what to returns,
// unless that is "".
func substitute(out, line []byte, to func(name string) string) []byte {
	done := 0
	asm.LocalNames(line, func(name []byte, start, end int) {
		if s := to(string(name)); s != "" {
			out = append(out, line[done:start]...)
			out = append(out, s...)
			done = end
		}
	})
	return appendLine(out, line[done:])
}

// movedLabels collects the labels of cold pieces, and gives those that debug information uses a twin in the hot
// part, at the place of the removed piece: debug information describes the hot part, the line table both.
func (s *splitter) movedLabels() {
	moved := map[string]bool{}
	for _, p := range s.plans {
		for k := range p.pieces {
			for i := p.pieces[k].first; p.pieces[k].cold && i < p.pieces[k].end; i++ {
				if p.own(i) && s.text.lines[i].kind == asm.LineLabel {
					moved[string(s.text.statement(i).Word)] = true
				}
			}
		}
	}
	for i := range s.text.lines {
		if !s.text.secs[s.text.lines[i].sec].debug {
			continue
		}
		asm.LocalNames(s.text.raw(i), func(name []byte, _, _ int) {
			if moved[string(name)] {
				s.twins[string(name)] = ".Lcairn_w" + string(name[2:])
			}
		})
	}
}

// verbatim appends a line with only the changes decided elsewhere.
func (s *splitter) verbatim(out []byte, i int) []byte {
	if text, ok := s.replaced[i]; ok {
		return append(out, text...)
	}
	t, l := s.text, &s.text.lines[i]
	switch {
	case l.switches && len(s.renamed) > 0:
		return s.renameSection(out, i)
	case l.kind == asm.LineDirective && string(t.statement(i).Word) == ".loc":
		// The text of a split function may have set another is_stmt.
		return t.appendLoc(out, i, true)
	case t.secs[l.sec].debug && len(s.twins) > 0:
		return substitute(out, t.raw(i), func(name string) string { return s.twins[name] })
	}
	return appendLine(out, t.raw(i))
}

// renameSection appends a section directive, with the new name of a section
// that is moved whole.
func (s *splitter) renameSection(out []byte, i int) []byte {
	raw := s.text.raw(i)
	st := s.text.statement(i)
	if word := string(st.Word); word == ".section" || word == ".pushsection" {
		name := string(asm.Unquote(asm.SplitOperands(st.Rest)[0]))
		if to := s.renamed[name]; to != "" {
			return appendLine(out, bytes.Replace(raw, []byte(name), []byte(to), 1))
		}
	}
	return appendLine(out, raw)
}

// render writes the new text.
func (s *splitter) render() []byte {
	stablesort.Func(s.plans, func(a, b *splitPlan) int { return a.first - b.first })
	s.prepared = map[*splitPlan]*prepared{}
	s.twins = map[string]string{}
	for _, p := range s.plans {
		s.prepare(p)
	}
	s.movedLabels()
	s.debugPairs()
	if len(s.split()) > 0 {
		s.debugRanges()
	}
	out := make([]byte, 0, len(s.text.src)+len(s.text.src)/8)
	next := 0
	for i := 0; i < len(s.text.lines); i++ {
		if next < len(s.plans) && s.plans[next].first == i {
			out = s.emit(out, s.plans[next])
			i = s.plans[next].last
			next++
			continue
		}
		out = s.verbatim(out, i)
	}
	return append(out, s.tail...)
}
