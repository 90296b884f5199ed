package split

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// part is one of the two parts of a split function: its pieces in order, the end of each, and its call sites.
type part struct {
	order []int
	cold  bool
	base  string // label of its start
	sites []siteRange
	stubs []stub
}

// siteRange is a range of code with one entry of the exception table.
type siteRange struct {
	from, to string // labels
	entry    int
}

// ending says how to write the last instruction of a piece.
type ending struct {
	line   int    // instruction to replace, or -1
	text   string // its replacement
	word   string // mnemonic of that, if it is a conditional jump,
	to     int    // and the piece that it goes to
	jump   string // label to jump to after the piece, or ""
	target int    // piece of that label
}

// neverReturn are functions that do not return, whose names the C and C++ standards reserve. Nothing needs to
// follow a call of them. Names that a program without a C library may give to functions that return are not
// included.
var neverReturn = map[string]bool{
	"__stack_chk_fail": true, "abort": true, "__assert_fail": true,
	"_Unwind_Resume": true, "__cxa_throw": true, "__cxa_rethrow": true, "_ZSt9terminatev": true,
	"__cxa_throw_bad_array_new_length": true, "__cxa_bad_cast": true, "__clang_call_terminate": true,
	"__chk_fail": true, "__fortify_fail": true,
}

// NeverReturns reports whether Split takes a function for one that does not return.
func NeverReturns(function string) bool { return neverReturn[function] }

// neverReturns is NeverReturns for a function that this one calls. The file may have one of its own called abort.
func (p *splitPlan) neverReturns(function string) bool {
	return neverReturn[function] && (strings.HasPrefix(function, "_") || !slices.Contains(p.text.symbols, function))
}

// name returns a label of the plan's own.
func (p *splitPlan) name(kind string) string {
	return ".Lcairn_" + kind + strconv.Itoa(p.id)
}

// labelOf returns the label of a piece, making one if there is none.
func (p *splitPlan) labelOf(k int) string {
	pc := &p.pieces[k]
	if pc.label == "" {
		pc.label, pc.own = p.name("p")+"_"+strconv.Itoa(k), true
	}
	return pc.label
}

// parts divides the pieces and decides how each ends.
func (p *splitPlan) parts() (hot, cold part, ends []ending) {
	cold.cold, hot.order = true, p.order
	for k := range p.pieces {
		if p.pieces[k].cold {
			cold.order = append(cold.order, k)
		}
	}
	ends = make([]ending, len(p.pieces))
	for _, order := range [][]int{hot.order, cold.order} {
		for i, k := range order {
			next := -1
			if i+1 < len(order) {
				next = order[i+1]
			}
			ends[k] = p.ending(k, next)
		}
	}
	p.reachOut(&hot, ends)
	p.reachOut(&cold, ends)
	return hot, cold, ends
}

// ending decides how piece k ends if piece next follows it in the part.
func (p *splitPlan) ending(k, next int) ending {
	e := ending{line: -1, target: -1}
	pc := &p.pieces[k]
	var s asm.Statement
	if pc.last >= 0 {
		s = p.text.statement(pc.last)
	}
	d := dialects[p.unit.Kind]
	switch pc.flow {
	case asm.FlowJump:
		switch {
		case next >= 0 && next != pc.behind && pc.target == next && pc.last+1 == pc.end && string(s.Word) == d.jump:
			e.line = pc.last // to the piece that follows anyway
		case pc.led:
			e.line, e.text = pc.last, "\t"+d.jump+"\t"+p.labelOf(pc.target)+"\n"
		}
		return e
	case asm.FlowNext:
	case asm.FlowBranch:
		if pc.led {
			p.branch(&e, k, string(s.Word), pc.target)
		}
	default:
		return e
	}
	if pc.behind < 0 || next == pc.behind {
		return e
	}
	if kind, target := p.classify(s); kind == asm.FlowCall && p.neverReturns(p.unit.Machine.Callee(target)) {
		return e
	}
	if over := pc.target >= 0 && pc.target != next && p.jumpOver(k); pc.flow == asm.FlowBranch && (over || next >= 0 && pc.target == next) {
		if not := d.opposite(string(s.Word)); not != "" {
			p.branch(&e, k, not, pc.behind)
			if over {
				e.jump, e.target = p.labelOf(pc.target), pc.target
			}
			return e
		}
	}
	e.jump, e.target = p.labelOf(pc.behind), pc.behind
	return e
}

// branch has a conditional jump to a piece written in the place of that at the end of piece k.
func (p *splitPlan) branch(e *ending, k int, word string, to int) {
	e.line, e.word, e.to = p.pieces[k].last, word, to
	e.text = dialects[p.unit.Kind].branch(word, p.text.statement(e.line), p.labelOf(to))
}

// classify calls the machine's classify, for a statement that need not be an instruction.
func (p *splitPlan) classify(s asm.Statement) (asm.Flow, []byte) {
	if s.Kind != asm.LineInsn {
		return asm.FlowNext, nil
	}
	return p.unit.Machine.Classify(s.Word, s.Rest)
}

// isCode reports whether a line of the function is code, and where it ends.
func (p *splitPlan) isCode(i int) (end int, ok bool) {
	l := &p.text.lines[i]
	switch l.kind {
	case asm.LineInsn:
		return i + 1, l.app == 0
	case asm.LineApp:
		end = i + 1
		for end <= p.last && p.text.lines[end].app == l.app {
			end++
		}
		return end, true
	case asm.LineDirective:
		return i + 1, l.app == 0 && asm.EmitsBytes(p.text.statement(i).Word)
	}
	return i, false
}

// siteLabels finds the ranges of equal entries in a part, and the labels to
// write before and after lines.
func (p *splitPlan) siteLabels(pt *part, before, behind map[int]string) {
	open := -1
	last := -1
	closeRange := func() {
		if open >= 0 {
			behind[last] = pt.sites[len(pt.sites)-1].to
		}
	}
	for _, k := range pt.order {
		for i := p.pieces[k].first; i < p.pieces[k].end; i++ {
			if !p.own(i) {
				continue
			}
			end, ok := p.isCode(i)
			if !ok {
				continue
			}
			e := p.lsda.entryAt(i)
			if e < 0 || open < 0 || !p.lsda.same(e, open) {
				closeRange()
				open = e
				if e >= 0 {
					n := strconv.Itoa(len(pt.sites))
					kind := "h"
					if pt.cold {
						kind = "k"
					}
					s := siteRange{p.name(kind+"b") + "_" + n, p.name(kind+"e") + "_" + n, e}
					before[i] = s.from
					pt.sites = append(pt.sites, s)
				}
			}
			last = i
			i = end - 1
		}
	}
	closeRange()
}

// emitter writes one part of a function.
type emitter struct {
	s              *splitter
	p              *splitPlan
	part           *part
	ends           []ending
	before, behind map[int]string // labels of call sites
	cfi            int32          // current unwind state
	loc            int32          // .loc in effect
	out            []byte
}

// piece writes piece k.
func (w *emitter) piece(k int) {
	p := w.p
	pc := &p.pieces[k]
	if padding, fitted := p.fitted[k]; fitted {
		w.out = append(w.out, padding...)
	} else if p.tops[k] {
		for _, i := range p.align {
			w.out = appendLine(w.out, p.text.raw(i))
		}
	}
	if pc.own {
		w.out = append(w.out, pc.label+":\n"...)
	}
	if p.begins[k] {
		w.label(p.mark("s", k))
	}
	for i := pc.first; i < pc.end; {
		if pc.copied && (!p.own(i) || p.text.lines[i].kind != asm.LineInsn) {
			i++
			continue
		}
		if !p.own(i) {
			if !w.part.cold && !p.ordered {
				w.foreign(i)
			}
			i++
			continue
		}
		if end, ok := p.isCode(i); ok {
			w.code(i, end, &w.ends[k])
			i = end
			continue
		}
		w.other(i)
		i++
	}
	if p.returns[k] {
		w.label(p.mark("r", k))
	}
	if e := &w.ends[k]; e.jump != "" {
		// The jump needs the state of its target, not the state before the preceding instruction.
		w.state(p.pieces[e.target].code)
		w.out = append(w.out, "\t"+dialects[p.unit.Kind].jump+"\t"+e.jump+"\n"...)
	}
	if p.ends[k] {
		w.label(p.mark("e", k))
	}
}

// foreign writes a line of another section that is within the function's text.
func (w *emitter) foreign(i int) {
	w.out = w.s.verbatim(w.out, i)
	l := &w.p.text.lines[i]
	if l.kind == asm.LineDirective && string(w.p.text.statement(i).Word) == ".loc" {
		w.loc = int32(i)
	}
}

// code writes the lines [i, end) of code, with the directives that must precede it.
func (w *emitter) code(i, end int, e *ending) {
	p := w.p
	if e.line == i && e.text == "" {
		// The jump is dropped; a range of the exception table may begin or
		// end with it.
		w.label(w.before[i])
		w.label(w.behind[i])
		return
	}
	if need := p.locs[i-p.first]; need >= 0 && need != w.loc {
		w.out = p.text.appendLoc(w.out, int(need), false)
		w.loc = need
	}
	w.state(i)
	w.label(w.before[i])
	if e.line == i {
		w.out = append(w.out, e.text...)
	} else {
		for n := i; n < end; n++ {
			if l := &p.text.lines[n]; l.kind == asm.LineDirective && string(p.text.statement(n).Word) == ".loc" {
				w.out = p.text.appendLoc(w.out, n, true)
				w.loc = int32(n)
				continue
			}
			if direct, ok := w.s.replaced[n]; ok {
				w.out = append(w.out, direct...)
				continue
			}
			w.out = appendLine(w.out, p.text.raw(n))
		}
	}
	w.label(w.behind[i])
}

// state writes the change to the unwind state of line i.
func (w *emitter) state(i int) {
	p := w.p
	if need := p.cfi.at[i-p.first]; p.cfi.used && need != w.cfi {
		w.out = asm.AppendChange(w.out, &p.cfi.states[w.cfi], &p.cfi.states[need])
		w.cfi = need
	}
}

func (w *emitter) label(name string) {
	if name != "" {
		w.out = append(w.out, name+":\n"...)
	}
}

// other writes a line that is not code.
func (w *emitter) other(i int) {
	l := &w.p.text.lines[i]
	if l.kind != asm.LineDirective {
		w.out = appendLine(w.out, w.p.text.raw(i))
		return
	}
	s := w.p.text.statement(i)
	switch word := string(s.Word); word {
	case ".loc":
		w.out = w.p.text.appendLoc(w.out, i, true)
		w.loc = int32(i)
		return
	case ".p2align", ".align", ".balign", ".file":
		text, changed := w.p.realigned[i]
		w.out = append(w.out, text...)
		if w.part.cold || w.p.ordered || changed {
			return
		}
	case ".cfi_startproc", ".cfi_endproc", ".cfi_personality", ".cfi_lsda", ".cfi_b_key_frame", ".cfi_mte_tagged_frame":
	default:
		if bytes.HasPrefix(s.Word, []byte(".cfi_")) {
			return
		}
	}
	w.out = appendLine(w.out, w.p.text.raw(i))
}

// isFile reports whether a line is a .file, which must precede its uses.
func (p *splitPlan) isFile(i int) bool {
	l := &p.text.lines[i]
	return l.kind == asm.LineDirective && l.app == 0 && string(p.text.statement(i).Word) == ".file"
}

// emit appends the function's text after its label, hot part and cold.
func (s *splitter) emit(out []byte, p *splitPlan) []byte {
	e := s.prepared[p]
	hot := &emitter{s: s, p: p, part: &e.hot, ends: e.ends, before: e.before, behind: e.behind, loc: -1, out: out}
	hot.label(p.name("f"))
	if p.ordered {
		hot.inOrder()
	} else {
		for k := range p.pieces {
			if p.pieces[k].cold {
				hot.removed(k)
			} else {
				hot.piece(k)
			}
		}
	}
	hot.stubs()
	for i := p.tail; i <= p.last; i++ {
		if p.own(i) {
			hot.other(i)
		} else {
			hot.foreign(i)
		}
	}
	if p.moved == 0 {
		return hot.out
	}
	return s.emitCold(hot.out, p, e)
}

// emitCold appends the cold part.
func (s *splitter) emitCold(out []byte, p *splitPlan, e *prepared) []byte {
	group, flags := "", "ax"
	if g := p.frag.Sec.Group; g != "" {
		group, flags = ","+g, "axG"
	}
	// Cold parts with equal bytes can have different frames. The relocation has no other effect than that
	// linkers fold them only if their functions are the same.
	out = fmt.Appendf(out, "\t.pushsection\t%s%s,\"%s\",@progbits%s\n%s\t.type\t%s, @function\n%s:\n%s:\n"+
		"\t.reloc\t%s, %s, %s\n",
		ColdSection, p.fn.Name, flags, group, dialects[p.unit.Kind].align, p.cold, p.cold, e.cold.base, e.cold.base, dialects[p.unit.Kind].none, p.name("f"))
	cold := &emitter{s: s, p: p, part: &e.cold, ends: e.ends, before: e.before, behind: e.behind, loc: -1, out: out}
	if p.cfi.used {
		cold.out = append(cold.out, "\t.cfi_startproc\n"...)
		for _, word := range p.cfi.frame {
			cold.out = append(cold.out, "\t"+word+"\n"...)
		}
		if p.cfi.personality != "" {
			cold.out = append(cold.out, "\t.cfi_personality "+p.cfi.personality+"\n"...)
		}
		if p.lsda != nil {
			enc, _, _ := bytes.Cut([]byte(p.cfi.lsda), []byte(","))
			cold.out = append(cold.out, "\t.cfi_lsda "+string(enc)+", "+p.name("l")+"\n"...)
		}
	}
	if p.pieces[e.cold.order[0]].lands {
		cold.out = append(cold.out, "\tnop\n"...) // a landing pad at offset 0 would mean none
	}
	for _, k := range e.cold.order {
		cold.piece(k)
	}
	cold.stubs()
	if p.cfi.used {
		cold.out = append(cold.out, "\t.cfi_endproc\n"...)
	}
	return fmt.Appendf(cold.out, "%s:\n\t.size\t%s, .-%s\n\t.popsection\n", p.name("z"), p.cold, p.cold)
}

// prepared holds the decisions about a plan before anything is written.
type prepared struct {
	hot, cold      part
	ends           []ending
	before, behind map[int]string
}

// prepare decides labels, endings and exception tables of a plan.
func (s *splitter) prepare(p *splitPlan) {
	s.labels++
	p.id = s.labels
	p.cold = s.coldName(p.fn.Name)
	e := &prepared{before: map[int]string{}, behind: map[int]string{}}
	e.hot, e.cold, e.ends = p.parts()
	e.cold.base = p.name("c")
	s.prepared[p] = e
	if p.moved > 0 {
		s.result.Split = append(s.result.Split, Func{p.fn.Name, p.cold, p.written, p.moved})
	}
	if p.ordered {
		s.result.Ordered = append(s.result.Ordered, p.fn.Name)
		s.result.Copied += len(p.pieces) - p.written
	}
	l := p.lsda
	if l == nil {
		return
	}
	p.siteLabels(&e.hot, e.before, e.behind)
	p.siteLabels(&e.cold, e.before, e.behind)
	base := l.base
	if base == "" { // a table without entries
		base = e.cold.base
	}
	coldPads := base
	var head []byte
	if l.moved {
		coldPads = e.cold.base
		head = fmt.Appendf(nil, "\t.byte 0x1b\n\t.long %s-.\n", e.cold.base)
	}
	if !l.hasPads() {
		coldPads = e.cold.base
	}
	if head != nil {
		s.replaced[l.first] = head
	}
	hotPads := base
	if l.moved {
		hotPads = e.cold.base
	}
	for i := l.sites; i < l.sitesEnd; i++ {
		s.replaced[i] = []byte{}
	}
	sites := l.appendSites(nil, e.hot.sites, base, hotPads)
	s.replaced[l.sitesEnd] = append(sites, p.text.raw(l.sitesEnd)...)
	if p.moved == 0 {
		return
	}
	last := l.end - 1
	text, ok := s.replaced[last]
	if !ok {
		text = appendLine(nil, p.text.raw(last))
	}
	s.replaced[last] = l.appendCold(slices.Clone(text), p, &e.cold, coldPads)
}

// appendLine appends a line and its newline if it lacks one.
func appendLine(out, line []byte) []byte {
	out = append(out, line...)
	if n := len(line); n == 0 || line[n-1] != '\n' {
		out = append(out, '\n')
	}
	return out
}
