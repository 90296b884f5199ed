package split

import (
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// lsda is the exception table of a function, in the one form that gcc and clang write: LPStart omitted, call
// sites as .uleb128 differences of labels.
//
// Problem: a call-site table describes one contiguous piece of code, and its landing pads are offsets from one
// address.
//
// Choice: as with unwind directives, compute the entry of each instruction of the old text, and write new
// tables for both parts. The actions and types after the call sites are the same for both and are copied. All
// landing pads of a function stay in one part: in the cold one if none ever ran, else in the hot one. The other
// part refers to it with LPStart, which compilers omit.
type lsda struct {
	first int // line of the LPStart encoding
	sites int // lines of the call sites: [sites, sitesEnd)
	sitesEnd,
	end int // after actions and types
	start          int // line of its label
	base           string
	entries        []callSite
	begin, endMark string // labels of the call-site table
	moved          bool   // the landing pads are in the cold part
}

// callSite is an entry: its lines [from, to), the label of its landing pad or "", and the operand of its
// action.
type callSite struct {
	from, to int
	pad      string
	action   string
}

// lsdaReader reads the table line by line.
type lsdaReader struct {
	p    *splitPlan
	line int
	sec  int32
	bad  bool
}

// next returns the next line that is not blank.
func (r *lsdaReader) next() asm.Statement {
	t := r.p.text
	for ; r.line < len(t.lines); r.line++ {
		l := &t.lines[r.line]
		if l.switches || l.sec != r.sec || l.app > 0 {
			break
		}
		if l.kind != asm.LineBlank {
			r.line++
			return t.statement(r.line - 1)
		}
	}
	r.bad = true
	return asm.Statement{}
}

// number reads a directive with one number.
func (r *lsdaReader) number(words ...string) int {
	s := r.next()
	n, ok := asm.CFINumber(strings.Join(asm.CFIOperands(s.Rest), ","))
	for _, w := range words {
		if string(s.Word) == w && ok {
			return n
		}
	}
	r.bad = true
	return 0
}

// difference reads .uleb128 A-B.
func (r *lsdaReader) difference() (a, b string) {
	s := r.next()
	ops := asm.CFIOperands(s.Rest)
	if string(s.Word) != ".uleb128" || len(ops) != 1 {
		r.bad = true
		return "", ""
	}
	a, b, ok := strings.Cut(ops[0], "-")
	if !ok || !plainName(a) || !plainName(b) {
		r.bad = true
	}
	return a, b
}

func (r *lsdaReader) label(name string) {
	if s := r.next(); s.Kind != asm.LineLabel || string(s.Word) != name {
		r.bad = true
	}
}

// readLSDA reads the table that the unwind directives name, or refuses.
func (p *splitPlan) readLSDA() *lsda {
	enc, name, _ := strings.Cut(p.cfi.lsda, ", ")
	n, ok := asm.CFINumber(enc)
	def, defined := p.text.defs[name]
	sec := int32(0)
	if defined {
		sec = p.text.lines[def.line].sec
	}
	if !ok || n != 0x1b && n != 0x1c && n != 0x3 || !defined || !strings.HasPrefix(p.text.secs[sec].name, ".gcc_except_table") {
		p.refuse("its exception table was not found")
		return nil
	}
	l := &lsda{start: int(def.line)}
	r := &lsdaReader{p: p, line: l.start + 1, sec: sec}
	const absent, uleb128 = 0xff, 1
	omitted := r.number(".byte") == absent
	l.first = r.line - 1
	types := ""
	if r.number(".byte") != absent {
		_, types = r.difference()
		r.label(types)
	}
	omitted = omitted && r.number(".byte") == uleb128
	l.endMark, l.begin = r.difference()
	r.label(l.begin)
	l.sites = r.line
	if r.bad || !omitted {
		p.refuse("an exception table of an unknown form")
		return nil
	}
	p.readSites(l, r)
	p.readTypes(l, r)
	if r.bad {
		p.refuse("an exception table of an unknown form")
		return nil
	}
	return l
}

// readSites reads the call sites up to the label after them.
func (p *splitPlan) readSites(l *lsda, r *lsdaReader) {
	for !r.bad {
		l.sitesEnd = r.line
		s := r.next()
		if s.Kind == asm.LineLabel {
			r.bad = r.bad || string(s.Word) != l.endMark
			return
		}
		r.line--
		from, base := r.difference()
		to, from2 := r.difference()
		var e callSite
		s = r.next()
		if ops := asm.CFIOperands(s.Rest); len(ops) == 1 && strings.Contains(ops[0], "-") {
			r.line--
			var base2 string
			e.pad, base2 = r.difference()
			r.bad = r.bad || base2 != base
		} else if len(ops) != 1 || ops[0] != "0" || string(s.Word) != ".byte" && string(s.Word) != ".uleb128" {
			r.bad = true
		}
		e.action = fmt.Sprint(r.number(".byte", ".uleb128"))
		if r.bad || from != from2 || l.base != "" && base != l.base {
			r.bad = true
			return
		}
		l.base = base
		e.from, e.to = p.lineOf(from), p.lineOf(to)
		start := p.lineOf(base)
		if e.from < 0 || e.to < e.from || start < 0 || start > p.pieces[0].code || start > p.headCode() {
			r.bad = true
			return
		}
		if n := len(l.entries); n > 0 && l.entries[n-1].to > e.from {
			r.bad = true
			return
		}
		if e.pad != "" && !p.markPad(e.pad) {
			r.bad = true
			return
		}
		l.entries = append(l.entries, e)
	}
}

// headCode returns the first line with code, endbr64 and padding included.
func (p *splitPlan) headCode() int {
	i := p.first
	for i < p.last && !(p.own(i) && p.text.lines[i].kind == asm.LineInsn) {
		i++
	}
	return i
}

// lineOf returns the line of a label in the function's own code, or -1.
func (p *splitPlan) lineOf(label string) int {
	d, ok := p.text.defs[label]
	if !ok || d.app > 0 || int(d.line) < p.first || int(d.line) > p.last || !p.own(int(d.line)) {
		return -1
	}
	return int(d.line)
}

// markPad records that a piece begins with a landing pad.
func (p *splitPlan) markPad(label string) bool {
	line := p.lineOf(label)
	if line < 0 {
		return false
	}
	k := p.pieceOf(line)
	if k <= 0 || line >= p.pieces[k].code {
		return false
	}
	p.pieces[k].lands = true
	return true
}

// readTypes finds the end of actions and types.
func (p *splitPlan) readTypes(l *lsda, r *lsdaReader) {
	t := p.text
	l.end = r.line
	for i := r.line; i < len(t.lines); i++ {
		ln := &t.lines[i]
		if ln.switches || ln.sec != r.sec {
			return
		}
		s := t.statement(i)
		switch ln.kind {
		case asm.LineBlank:
			continue
		case asm.LineLabel:
			if !asm.IsLocal(s.Word) {
				r.bad = true
				return
			}
		case asm.LineDirective:
			switch t.dialect.data(s.Word) {
			case ".byte", ".uleb128", ".sleb128", ".long", ".quad", ".value", ".align", ".p2align", ".balign", ".4byte", ".8byte":
			default:
				return
			}
		default:
			r.bad = true
			return
		}
		l.end = i + 1
	}
}

// choose keeps all landing pads in one part.
func (l *lsda) choose(p *splitPlan) {
	pads, cold := 0, 0
	for _, pc := range p.pieces {
		if pc.lands {
			pads++
			if pc.cold {
				cold++
			}
		}
	}
	l.moved = pads > 0 && pads == cold
	for k := range p.pieces {
		if p.pieces[k].lands && !l.moved {
			p.pieces[k].cold = false
		}
	}
}

// hasPads reports whether any call site has a landing pad.
func (l *lsda) hasPads() bool {
	for _, e := range l.entries {
		if e.pad != "" {
			return true
		}
	}
	return false
}

// entryAt returns the entry for a line, or -1.
func (l *lsda) entryAt(line int) int {
	for i := range l.entries {
		if e := &l.entries[i]; line >= e.from && line < e.to {
			return i
		}
	}
	return -1
}

// same reports whether two entries have the same contents.
func (l *lsda) same(a, b int) bool {
	return a == b || a >= 0 && b >= 0 && l.entries[a].pad == l.entries[b].pad && l.entries[a].action == l.entries[b].action
}

// appendSites appends call sites, with landing pads as offsets from pads.
func (l *lsda) appendSites(out []byte, sites []siteRange, base, pads string) []byte {
	for _, s := range sites {
		e := &l.entries[s.entry]
		out = fmt.Appendf(out, "\t.uleb128 %s-%s\n\t.uleb128 %s-%s\n", s.from, base, s.to, s.from)
		if e.pad == "" {
			out = append(out, "\t.uleb128 0\n"...)
		} else {
			out = fmt.Appendf(out, "\t.uleb128 %s-%s\n", e.pad, pads)
		}
		out = fmt.Appendf(out, "\t.uleb128 %s\n", e.action)
	}
	return out
}

// appendCold appends the table of the cold part, a copy of the other with its
// labels renamed.
func (l *lsda) appendCold(out []byte, p *splitPlan, cold *part, pads string) []byte {
	t := p.text
	local := map[string]string{}
	for i := l.first; i < l.end; i++ {
		if t.lines[i].kind == asm.LineLabel {
			name := string(t.statement(i).Word)
			local[name] = p.name("t") + "_" + fmt.Sprint(len(local))
		}
	}
	out = append(out, "\t.p2align 2\n"+p.name("l")+":\n"...)
	if pads != cold.base {
		out = fmt.Appendf(out, "\t.byte 0x1b\n\t.long %s-.\n", pads)
	} else {
		out = append(out, "\t.byte 0xff\n"...)
	}
	copyLines := func(from, to int) {
		for i := from; i < to; i++ {
			out = substitute(out, t.raw(i), func(name string) string { return local[name] })
		}
	}
	copyLines(l.first+1, l.sites)
	out = l.appendSites(out, cold.sites, cold.base, pads)
	copyLines(l.sitesEnd, l.end)
	return out
}
