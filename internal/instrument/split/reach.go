package split

import (
	"slices"
	"strconv"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/aarch64"
)

// stub is a jump at the end of a part, for conditional jumps that do not reach the other part.
type stub struct {
	label  string
	target int // piece
}

// codeSize returns the maximum size of piece k, or false if it is unknown.
func (p *splitPlan) codeSize(k int) (size int, known bool) {
	known = true
	add := func(n int) {
		if n < 0 {
			known, n = false, 0
		}
		size += n
	}
	for i := p.pieces[k].first; i < p.pieces[k].end; i++ {
		if !p.own(i) {
			continue
		}
		switch l := &p.text.lines[i]; {
		case l.app > 0:
			add(-1)
		case l.kind == asm.LineInsn:
			add(4)
		case l.kind == asm.LineDirective:
			s := p.text.statement(i)
			switch word := string(s.Word); {
			case word == ".p2align" || word == ".align" || word == ".balign":
				add(asm.AlignmentSize(word, s.Rest))
			case asm.EmitsBytes(s.Word):
				add(asm.DataSize(s))
			}
		}
	}
	return size, known
}

// offsets returns the maximum distance from the beginning of a part to each of its pieces, and to its end.
// Conditional jumps in long are followed by another jump.
func (p *splitPlan) offsets(order []int, long map[int]bool) (at map[int]int, end int) {
	at = map[int]int{}
	for i, k := range order {
		if p.tops[k] {
			for _, i := range p.align {
				s := p.text.statement(i)
				end += max(0, asm.AlignmentSize(string(s.Word), s.Rest))
			}
		}
		at[k] = end
		size, _ := p.codeSize(k)
		end += size
		if long[k] {
			end += 4
		}
		if i+1 == len(order) || order[i+1] != p.pieces[k].behind {
			end += 4 // the jump that may be added
		}
	}
	return at, end
}

// maxOrdered bounds, in bytes, functions whose blocks get another order: adr reaches 1 MiB, and was in reach in the text.
const maxOrdered = 1 << 19

// checkReach refuses a function in which something might be out of reach after the split, and keeps the order of the text
// where that is so only because of another order.
func (p *splitPlan) checkReach() {
	why := p.outOfReach()
	if why != "" && p.ordered {
		p.inTextOrder()
		why = p.outOfReach()
	}
	if why != "" {
		p.refuse(why)
	}
}

// outOfReach returns what might be out of reach after the split, or "".
func (p *splitPlan) outOfReach() string {
	total, odd := 0, false
	var parts [2][]int
	parts[0] = p.order
	branches := map[int]bool{}
	for k := range p.pieces {
		size, known := p.codeSize(k)
		total, odd = total+size+8, odd || !known
		if p.pieces[k].cold {
			parts[1] = append(parts[1], k)
		}
		branches[k] = p.pieces[k].flow == asm.FlowBranch
	}
	if total < aarch64.ReachBit/2 {
		branches = nil // all of them reach the jumps at the end
	} else if odd {
		return "inline assembly in a function that branches might not reach across"
	} else if p.ordered && total > maxOrdered {
		return "a large function in another order"
	}
	entries := slices.DeleteFunc(p.tableEntries(), func(d codeDistance) bool { return d.limit == 0 })
	if len(entries) == 0 {
		return ""
	}
	if odd {
		return "inline assembly in a function with a compressed jump table"
	}
	hot, _ := p.offsets(parts[0], branches)
	cold, _ := p.offsets(parts[1], branches)
	for _, d := range entries {
		at := hot
		if p.pieces[p.labelled(d.base)].cold {
			at = cold
		}
		if n := at[p.labelled(d.target)] - at[p.labelled(d.base)]; max(n, -n) > d.limit || d.forward && n < 0 {
			return "a jump table that might not reach"
		}
	}
	return ""
}

// reachOut makes the conditional jumps of a part reach: those to the other part go to a stub at its end; if
// that or the target is too far, the opposite condition jumps over a jump.
func (p *splitPlan) reachOut(pt *part, ends []ending) {
	d := dialects[p.unit.Kind]
	if !d.near {
		return
	}
	long := map[int]bool{}
	stubs := p.stubsOf(pt, ends)
	for more := true; more; {
		more = false
		at, end := p.offsets(pt.order, long)
		for _, k := range pt.order {
			to, word := p.branchOf(k, &ends[k])
			if to < 0 || long[k] {
				continue
			}
			place, reach := at[to], aarch64.ReachFlags
			if p.pieces[to].cold != pt.cold {
				place = end + 4*len(stubs)
			}
			if word[0] == 't' {
				reach = aarch64.ReachBit
			}
			size, _ := p.codeSize(k)
			if n := place - at[k] - size; n > reach || at[k]+size-place > reach {
				long[k], more = true, true
			}
		}
	}
	for _, k := range pt.order {
		to, word := p.branchOf(k, &ends[k])
		if to < 0 || !long[k] && p.pieces[to].cold == pt.cold {
			continue
		}
		s := p.text.statement(p.pieces[k].last)
		switch not := d.opposite(word); {
		case not == "": // it always jumps
			ends[k].text = "\t" + d.jump + "\t" + p.labelOf(to) + "\n"
		case long[k]:
			over := p.name("o") + "_" + strconv.Itoa(k)
			ends[k].text = d.branch(not, s, over) + "\t" + d.jump + "\t" + p.labelOf(to) + "\n" + over + ":\n"
		default:
			ends[k].text = d.branch(word, s, pt.stubFor(p, to))
		}
		ends[k].line = p.pieces[k].last
	}
}

// branchOf returns the piece that piece k's conditional jump goes to when written, or -1, and its mnemonic.
func (p *splitPlan) branchOf(k int, e *ending) (to int, word string) {
	pc := &p.pieces[k]
	if pc.flow != asm.FlowBranch || pc.target < 0 || pc.last < 0 {
		return -1, ""
	}
	word = string(p.text.statement(pc.last).Word)
	if e.line == pc.last {
		return e.to, e.word
	}
	return pc.target, word
}

// stubsOf returns the pieces of the other part that conditional jumps go to.
func (p *splitPlan) stubsOf(pt *part, ends []ending) map[int]bool {
	stubs := map[int]bool{}
	for _, k := range pt.order {
		if to, _ := p.branchOf(k, &ends[k]); to >= 0 && p.pieces[to].cold != pt.cold {
			stubs[to] = true
		}
	}
	return stubs
}

// stubFor returns the label of the stub to a piece.
func (pt *part) stubFor(p *splitPlan, to int) string {
	for i := range pt.stubs {
		if pt.stubs[i].target == to {
			return pt.stubs[i].label
		}
	}
	kind := "h"
	if pt.cold {
		kind = "k"
	}
	p.labelOf(to)
	label := p.name(kind+"j") + "_" + strconv.Itoa(to)
	pt.stubs = append(pt.stubs, stub{label, to})
	return label
}

// stubs writes the stubs of a part after its pieces.
func (w *emitter) stubs() {
	for _, st := range w.part.stubs {
		w.state(w.p.pieces[st.target].code)
		w.label(st.label)
		w.out = append(w.out, "\t"+dialects[w.p.unit.Kind].jump+"\t"+w.p.labelOf(st.target)+"\n"...)
	}
}
