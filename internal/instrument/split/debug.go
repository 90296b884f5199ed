package split

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Problem: debug information has ranges of code, from one label to another: of a lexical block, of an inlined function,
// of the code in which a variable is in a register. In another order of the pieces the code of a range is in several
// places, and between its labels there is other code, or there is none.
//
// Choice: a range gets the labels of its longest part that is still in one piece. So debug information says nothing
// wrong, and of the rest of the range nothing, as it does of cold parts. The line table has all. Scopes are inside each
// other (scopes.go).

// mark returns the label of a kind for piece k.
func (p *splitPlan) mark(kind string, k int) string { return p.name(kind) + "_" + strconv.Itoa(k) }

// debugPairs rewrites the ranges of ordered functions.
func (s *splitter) debugPairs() {
	before := [2]int{-1, -1}
	scopes := map[*splitPlan][]*scope{}
	for i := range s.text.lines {
		l := &s.text.lines[i]
		if !s.text.secs[l.sec].debug || l.switches || l.kind == asm.LineBlank || l.app > 0 {
			continue
		}
		var sc *scope
		if bytes.Contains(s.text.raw(i), []byte(".L")) {
			if sc = s.scopeAt(before, i); sc != nil && sc.nests {
				scopes[sc.plan] = append(scopes[sc.plan], sc)
			} else {
				s.debugLine(sc, before[1], i)
			}
		}
		before = [2]int{before[1], i}
		if sc != nil && sc.before >= 0 {
			before[1] = -1 // its end is not the beginning of another
		}
	}
	for _, p := range s.plans {
		p.nest(scopes[p])
		for _, sc := range scopes[p] {
			s.writeScope(sc)
		}
	}
}

// rangeOf splits an operand, of the form to, or to-from. A range that begins or ends inside of the call before a label has
// to-1 there, which stays in the text.
func (s *splitter) rangeOf(i int) (to, from string, ok bool) {
	if i < 0 {
		return "", "", false
	}
	st := s.text.statement(i)
	if st.Kind != asm.LineDirective || !asm.EmitsBytes(st.Word) {
		return "", "", false
	}
	ops := asm.CFIOperands(st.Rest)
	if len(ops) != 1 {
		return "", "", false
	}
	to, from, _ = strings.Cut(ops[0], "-")
	if base, inside := strings.CutPrefix(from, "1"); inside {
		from = strings.TrimPrefix(base, "-")
	}
	return to, from, true
}

// ordered returns the plan of an ordered function that has a label, or nil.
func (s *splitter) ordered(label string) *splitPlan {
	if p, _, _ := s.owner(label); p != nil && p.ordered {
		return p
	}
	return nil
}

// debugLine rewrites the range that ends on a line, or the label that the line has. before is the line before.
func (s *splitter) debugLine(sc *scope, before, i int) {
	switch {
	case sc == nil:
		to, _, ok := s.rangeOf(i)
		p := s.ordered(to)
		if !ok || p == nil {
			return
		}
		other := s.baseAt(before, i, to)
		if other == "" {
			other = p.behindCall(to)
		}
		s.replaced[i] = s.rename(i, map[string]string{to: other})
	case sc.before < 0:
		s.setScope(sc, sc.begin, sc.plan.unbroken(sc.begin, sc.end))
	default:
		begin, end := sc.plan.longest(sc.begin, sc.end)
		s.setScope(sc, begin, end)
	}
}

// stays reports whether a label is where it was: outside of ordered functions, or at the beginning of one.
func (s *splitter) stays(label string) bool {
	p := s.ordered(label)
	return p == nil || p.lineOf(label) < p.pieces[0].code
}

// offset returns a line with the offset of a label from another, or with its address. A range that begins or ends inside
// of the call before the label that the line has does so still, unless it was cut. The base of a list of locations may be
// in the cold part: its twin is what the list begins with.
func (s *splitter) offset(i int, label, from string) []byte {
	word, inside := string(s.text.statement(i).Word), ""
	if from != "" {
		from = "-" + cmp.Or(s.twins[from], from)
	}
	if raw := bytes.TrimSpace(s.text.raw(i)); bytes.Contains(raw, []byte(label+"-1-")) || bytes.HasSuffix(raw, []byte(label+"-1")) {
		inside = "-1"
	}
	return []byte("\t" + word + "\t" + cmp.Or(s.twins[label], label) + inside + from + "\n")
}

// rename returns a line with other labels.
func (s *splitter) rename(i int, to map[string]string) []byte {
	return substitute(nil, s.text.raw(i), func(name string) string {
		other := cmp.Or(to[name], name)
		return cmp.Or(s.twins[other], other)
	})
}

// covered is the part of a piece that is in a range: it may begin inside the piece, or end inside.
type covered struct{ begins, ends bool }

// covers returns which pieces the range from a label to another has.
func (p *splitPlan) covers(begin, end string) map[int]covered {
	a, b := p.lineOf(begin), p.lineOf(end)
	parts := map[int]covered{}
	for k := range p.pieces {
		if pc := &p.pieces[k]; pc.insns > 0 && b > pc.code && a < pc.end {
			if c := (covered{a > pc.code, b < pc.end}); !pc.copied || c == (covered{}) { // labels in it are those of the other
				parts[k] = c
			}
		}
	}
	return parts
}

// longest returns the labels of the longest part of a range.
func (p *splitPlan) longest(begin, end string) (from, to string) {
	if p.pieceOf(p.lineOf(begin)) == 0 && p.lineOf(begin) < p.pieces[0].code && p.pieceOf(p.lineOf(end)) < 0 {
		return begin, end // the whole function
	}
	parts := p.covers(begin, end)
	var best, run []int
	most, insns := 0, 0
	for _, k := range p.order {
		c, ok := parts[k]
		if !ok && p.pieces[k].insns == 0 {
			continue
		}
		if !ok || c.begins || len(run) > 0 && parts[run[len(run)-1]].ends {
			run, insns = nil, 0
		}
		if ok {
			run, insns = append(run, k), insns+p.pieces[k].insns
		}
		if insns > most {
			best, most = slices.Clone(run), insns
		}
	}
	if len(best) == 0 {
		return begin, begin
	}
	first, last := best[0], best[len(best)-1]
	from, to = begin, end
	if !parts[first].begins {
		from = p.beginOf(first)
	}
	if !parts[last].ends {
		to = p.endOf(last)
	}
	return from, to
}

// unbroken returns the end of the part of a range that begins with its label.
func (p *splitPlan) unbroken(begin, end string) string {
	parts := p.covers(begin, end)
	k := p.pieceOf(p.lineOf(begin))
	at := slices.Index(p.order, k)
	if _, ok := parts[k]; !ok || at < 0 {
		return begin
	}
	for ; !parts[k].ends && at+1 < len(p.order); at++ {
		if c, ok := parts[p.order[at+1]]; !ok || c.begins {
			break
		}
		k = p.order[at+1]
	}
	if parts[k].ends || at+1 == len(p.order) && p.pieceOf(p.lineOf(end)) < 0 {
		return end
	}
	return p.endOf(k)
}

func (p *splitPlan) beginOf(k int) string { return p.marked(&p.begins, "s", k) }
func (p *splitPlan) endOf(k int) string   { return p.marked(&p.ends, "e", k) }

// marked returns the label of a kind for piece k, which is to be written.
func (p *splitPlan) marked(pieces *map[int]bool, kind string, k int) string {
	if *pieces == nil {
		*pieces = map[int]bool{}
	}
	(*pieces)[k] = true
	return p.mark(kind, k)
}

// behindCall returns the label for the address that a call returns to: the compiler's is at the beginning of the piece
// behind it. It returns "" if the label is another one.
func (p *splitPlan) behindCall(label string) string {
	line := p.lineOf(label)
	k := p.pieceOf(line)
	if line < 0 || k <= 0 || line >= p.pieces[k].code || p.pieces[k-1].last < 0 || p.pieces[k-1].cold {
		return ""
	}
	for i := p.pieces[k].first; i < line; i++ {
		if p.own(i) && p.text.lines[i].kind == asm.LineLabel && asm.IsLeader(p.text.statement(i).Word) {
			return "" // it is behind a label that is jumped to
		}
	}
	if kind, _ := p.classify(p.text.statement(p.pieces[k-1].last)); kind != asm.FlowCall {
		return ""
	}
	return p.marked(&p.returns, "r", k-1)
}
