package split

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Problem: a lexical block is inside another, and debuggers take its ranges only if they are in those of the other. If each
// is cut to its own longest part, they are not.
//
// Choice: scopes, which are the ranges of functions, inlined functions and blocks, are nested by their place in the text. A
// scope with a list of ranges gets all its parts; another gets the longest of those that are in what is left of the
// scope around it.

// scope is a range of code that debug information names, in the text and in the new order.
type scope struct {
	plan       *splitPlan
	code       int // line of the code that comes before the range in a list, or -1
	before, at int // lines of its beginning and its end; before is -1 if the beginning is elsewhere, and stays
	begin, end string
	base       string // label that both are relative to; "" if they are addresses
	length     bool   // the end is given as the length
	listed     bool   // it is in a list, which can have more
	nests      bool   // it is that of a scope, not of a variable's location

	first, last int // instructions of the function in the text: last is behind the range
	parts       map[int]covered
	runs        []run
}

// run is a sequence of pieces in the new order: indexes into it.
type run struct{ first, last int }

// scopeAt returns the range whose end is on a line, or nil. before are the two lines before.
func (s *splitter) scopeAt(before [2]int, i int) *scope {
	to, from, ok := s.rangeOf(i)
	p := s.ordered(to)
	if !ok || p == nil {
		return nil
	}
	section := s.text.secs[s.text.lines[i].sec].name
	listed := section == ".debug_rnglists"                             // gcc refers to the lists of DWARF 4 by their offsets
	addresses := section == ".debug_ranges" || section == ".debug_loc" // lists of DWARF 4
	sc := &scope{plan: p, code: -1, before: before[1], at: i, end: to, listed: listed, nests: listed || section == ".debug_ranges" || section == ".debug_info"}
	if section == ".debug_rnglists" {
		sc.code = before[0]
	}
	begin, base, ok := s.rangeOf(before[1])
	paired := ok && s.ordered(begin) == p
	switch {
	case paired && base == "" && from == begin:
		sc.begin, sc.length = begin, true
	case paired && base == "" && from == "" && addresses, paired && base != "" && from == base && s.stays(base):
		sc.begin, sc.base = begin, base
	case paired && from == base && s.ordered(base) == p && !addresses:
		sc.begin, sc.base = begin, p.name("f") // as baseAt
	case from != "" && s.ordered(from) == p:
		sc.begin, sc.before, sc.length, sc.nests = from, -1, true, section == ".debug_info"
	default:
		return nil
	}
	return sc
}

// baseAt returns what a list is relative to in the place of a label inside an ordered function, or "". before is the line
// before that of the label.
func (s *splitter) baseAt(before, i int, label string) string {
	code := 0
	switch s.text.secs[s.text.lines[i].sec].name {
	case ".debug_rnglists":
		code = 5 // DW_RLE_base_address
	case ".debug_loclists":
		code = 6 // DW_LLE_base_address
	}
	if before < 0 || code == 0 || s.stays(label) {
		return ""
	}
	if n, ok := asm.CFINumber(s.operandOf(before, ".byte")); !ok || n != code {
		return ""
	}
	return s.ordered(label).name("f")
}

// surrounding is what is left of the scopes that end before an instruction.
type surrounding struct {
	last int
	runs []run
}

// nest decides which parts of the scopes of an ordered function are left.
func (p *splitPlan) nest(scopes []*scope) {
	if len(scopes) == 0 {
		return
	}
	before := p.countInsns()
	for _, sc := range scopes {
		sc.first, sc.last = before[p.lineOf(sc.begin)-p.first], before[p.lineOf(sc.end)-p.first]
	}
	sorted := slices.Clone(scopes)
	stablesort.Func(sorted, func(a, b *scope) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(b.last, a.last))
	})
	var around []surrounding
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n].first == sorted[0].first && sorted[n].last == sorted[0].last {
			n++
		}
		same := sorted[:n]
		sorted = sorted[n:]
		for len(around) > 0 && around[len(around)-1].last < same[0].last {
			around = around[:len(around)-1]
		}
		allowed := []run{{0, len(p.order) - 1}}
		if len(around) > 0 {
			allowed = around[len(around)-1].runs
		}
		around = append(around, surrounding{same[0].last, p.leave(same, allowed)})
	}
}

// countInsns returns for each line from the plan's first how many lines of code precede it.
func (p *splitPlan) countInsns() []int {
	before := make([]int, p.last-p.first+2)
	n := 0
	for i := p.first; i <= p.last; i++ {
		before[i-p.first] = n
		if p.own(i) {
			if _, ok := p.isCode(i); ok {
				n++
			}
		}
	}
	before[len(before)-1] = n
	return before
}

// leave decides about scopes of the same code, of which any may be inside another: all get the same parts, which it
// returns.
func (p *splitPlan) leave(same []*scope, allowed []run) []run {
	for _, sc := range same {
		if p.isWhole(sc.begin, sc.end) {
			continue
		}
		sc.parts = p.covers(sc.begin, sc.end)
		if sc.runs = p.runsOf(sc.parts, allowed); len(sc.runs) > 0 && !sc.listed {
			allowed = []run{p.longestOf(sc.runs)}
			if sc.before < 0 {
				allowed = p.from(sc)
			}
		}
	}
	for _, sc := range same {
		if sc.parts != nil {
			sc.runs = p.runsOf(sc.parts, allowed)
		}
	}
	return allowed
}

// isWhole reports whether a range is the whole function.
func (p *splitPlan) isWhole(begin, end string) bool {
	return p.pieceOf(p.lineOf(begin)) == 0 && p.lineOf(begin) < p.pieces[0].code && p.pieceOf(p.lineOf(end)) < 0
}

// runsOf returns the parts of a range that are each in one piece, within those that are allowed.
func (p *splitPlan) runsOf(parts map[int]covered, allowed []run) (runs []run) {
	for _, in := range allowed {
		open := false
		for at := in.first; at <= in.last; at++ {
			k := p.order[at]
			c, ok := parts[k]
			switch {
			case !ok && p.pieces[k].insns == 0:
			case !ok:
				open = false
			case !open || c.begins:
				runs, open = append(runs, run{at, at}), !c.ends
			default:
				runs[len(runs)-1].last, open = at, !c.ends
			}
		}
	}
	return runs
}

// longestOf returns the run with the most instructions.
func (p *splitPlan) longestOf(runs []run) (longest run) {
	most := -1
	for _, r := range runs {
		insns := 0
		for _, k := range p.order[r.first : r.last+1] {
			insns += p.pieces[k].insns
		}
		if insns > most {
			longest, most = r, insns
		}
	}
	return longest
}

// from returns the part of a scope that begins with its label, or none: the table of addresses that has the label may
// have it for the address that a call returns to.
func (p *splitPlan) from(sc *scope) []run {
	k := p.pieceOf(p.lineOf(sc.begin))
	at := slices.Index(p.order, k)
	if at < 0 || p.behindCall(sc.begin) != "" && (p.tops[k] || at == 0 || p.order[at-1] != k-1) {
		return nil
	}
	for _, r := range sc.runs {
		if r.first <= at && at <= r.last {
			return []run{{at, r.last}}
		}
	}
	return nil
}

// bounds returns the labels of a part of a scope.
func (p *splitPlan) bounds(sc *scope, r run) (begin, end string) {
	begin, end = sc.begin, sc.end
	if first := p.order[r.first]; !sc.parts[first].begins && sc.before >= 0 {
		begin = p.beginOf(first)
	}
	if last := p.order[r.last]; !sc.parts[last].ends {
		end = p.endOf(last)
	}
	return begin, end
}

// writeScope rewrites the lines of a scope.
func (s *splitter) writeScope(sc *scope) {
	p := sc.plan
	switch {
	case sc.parts == nil:
		return
	case len(sc.runs) == 0:
		s.setScope(sc, sc.begin, sc.begin)
		return
	}
	begin, end := p.bounds(sc, sc.runs[0])
	s.setScope(sc, begin, end)
	if !sc.listed {
		return
	}
	for _, r := range sc.runs[1:] {
		text := s.replaced[sc.at]
		if sc.code >= 0 {
			text = appendLine(text, s.text.raw(sc.code))
		}
		begin, end := p.bounds(sc, r)
		first, second := s.scopeLines(sc, begin, end)
		s.replaced[sc.at] = append(append(text, first...), second...)
	}
}

// setScope replaces the lines of a scope by those of one of its parts.
func (s *splitter) setScope(sc *scope, begin, end string) {
	first, second := s.scopeLines(sc, begin, end)
	if sc.before >= 0 {
		s.replaced[sc.before] = first
	}
	s.replaced[sc.at] = second
}

// scopeLines returns the lines of a part of a scope.
func (s *splitter) scopeLines(sc *scope, begin, end string) (first, second []byte) {
	if !sc.length {
		return s.offset(sc.before, begin, sc.base), s.offset(sc.at, end, sc.base)
	}
	if sc.before >= 0 {
		first = s.rename(sc.before, map[string]string{sc.begin: begin})
	}
	return first, s.rename(sc.at, map[string]string{sc.begin: begin, sc.end: end})
}
