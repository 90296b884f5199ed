package split

import (
	"bytes"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/aarch64"
)

// Problem: code that moves to another section can be at any distance. Only adrp, b and bl reach it; the linker
// extends no other instruction, and where it extends b and bl it uses x16 and x17.
//
// Choice: conditional branches go to a jump at the end of their part (reach.go). Pieces that must be close
// to each other stay in one part: a compressed jump table, the code that uses it and its targets; an adr and
// its label; a jump over which x16 or x17 is live.

var aarch64Dialect = dialect{
	comment: "//", jump: "b", half: ".2byte", align: "\t.p2align\t2\n", near: true, none: aarch64.RelocNone,
	entry: asm.CFIState{Reg: 31},
	opposite: func(word string) string {
		if op := aarch64.Opposite(word); op != "b." {
			return op
		}
		return ""
	},
	operands: asm.InsnOperands,
	widths:   map[string]string{".4byte": ".long", ".word": ".long", ".8byte": ".quad", ".xword": ".quad", ".2byte": ".value", ".hword": ".short"},
}

// codeDistance is an entry of a jump table: a distance between two labels.
type codeDistance struct {
	target, base string
	divided      bool // divided by the size of an instruction
	limit        int  // maximum in bytes
	forward      bool // the target is not in front of the base
}

// distanceOf parses an entry of a jump table: divided, or .word .LBB0_1-.Ltmp1 as of clang -O0.
func distanceOf(s asm.Statement) (d codeDistance, ok bool) {
	d.target, d.base, d.divided = asm.DividedDistance(s.Rest)
	word := aarch64Dialect.data(s.Word)
	switch {
	case !d.divided:
		a, b, minus := bytes.Cut(bytes.TrimSpace(asm.PlainOperands(s.Rest)), []byte("-"))
		d.target, d.base = string(a), string(b)
		return d, word == ".long" && minus && asm.IsLocal(a) && asm.IsLocal(b) && plainName(d.target) && plainName(d.base)
	case word == ".byte":
		d.limit = 4 * 127
	case word == ".value" || word == ".short":
		d.limit = 4 * 32767
	default:
		return d, true
	}
	if bytes.Contains(s.Rest, []byte(">>")) {
		d.limit, d.forward = 2*d.limit+4, true // clang's are unsigned
	}
	return d, true
}

// holdsTables reports whether compilers put jump tables into a section.
func holdsTables(section string) bool {
	return section == ".rodata" || strings.HasPrefix(section, ".rodata.")
}

// tableEntries returns the entries of jump tables that are distances from a label of the function, and refuses
// those with targets outside it.
func (p *splitPlan) tableEntries() (out []codeDistance) {
	for _, d := range p.text.distances {
		base, target := p.lineOf(d.base), p.lineOf(d.target)
		switch {
		case base >= 0 && target >= 0:
			out = append(out, d)
		case base >= 0 || target >= 0 && d.divided:
			p.refuse("a jump table that leads elsewhere")
		}
	}
	return out
}

// together returns the pairs of pieces that must stay in one part. Piece 0 is in the hot one.
func (p *splitPlan) together() (pairs [][2]int) {
	if !dialects[p.unit.Kind].near {
		return nil
	}
	for _, d := range p.tableEntries() {
		pairs = append(pairs, [2]int{p.labelled(d.base), p.labelled(d.target)})
	}
	for k := range p.pieces {
		pc := &p.pieces[k]
		if pc.flow == asm.FlowBranch && pc.target < 0 {
			pairs = append(pairs, [2]int{0, k}) // to another function
		}
		for i := pc.first; i < pc.end; i++ {
			if l := &p.text.lines[i]; !p.own(i) || l.kind != asm.LineInsn || l.app > 0 {
				continue
			}
			if to, short := p.shortAddress(p.text.statement(i)); short {
				pairs = append(pairs, [2]int{k, to})
			}
		}
	}
	return append(pairs, p.overVeneers()...)
}

// labelled returns the piece of a label of the function; 0 for its tail, which is hot as well.
func (p *splitPlan) labelled(name string) int { return max(p.pieceOf(p.lineOf(name)), 0) }

// shortAddress reports whether an instruction names an address that must be within 1 MiB, and the piece of that
// address; 0 if it is in none.
func (p *splitPlan) shortAddress(s asm.Statement) (to int, short bool) {
	ops := asm.InsnOperands(s.Rest)
	if len(ops) < 2 {
		return 0, false
	}
	switch string(s.Word) {
	case "ldr", "ldrsw", "prfm":
		if c := ops[1][0]; c == '[' || c == '=' {
			return 0, false
		}
	case "adr":
	default:
		return 0, false
	}
	if name := string(ops[1]); p.lineOf(name) >= 0 {
		to = p.labelled(name)
	}
	return to, true
}

// overVeneers returns the pieces with their predecessors that leave something in x16 or x17.
func (p *splitPlan) overVeneers() (pairs [][2]int) {
	used := false
	for _, f := range p.fn.Frags {
		used = used || aarch64.Mentioned(p.text.src[f.Label:f.End])&aarch64.VeneerRegs != 0
	}
	if !used {
		return nil
	}
	live := aarch64.Live(p.unit, p.fn)
	for k := range p.pieces {
		if pc := &p.pieces[k]; pc.target >= 0 && live[pc.target]&aarch64.VeneerRegs != 0 {
			pairs = append(pairs, [2]int{k, pc.target})
		}
		falls := p.pieces[k].flow == asm.FlowNext || p.pieces[k].flow == asm.FlowBranch
		if falls && k+1 < len(p.pieces) && live[k+1]&aarch64.VeneerRegs != 0 {
			pairs = append(pairs, [2]int{k, k + 1})
		}
	}
	return pairs
}

// keepTogether makes pieces hot whose companions are hot.
func (p *splitPlan) keepTogether(pairs [][2]int) {
	for changed := true; changed; {
		changed = false
		for _, pair := range pairs {
			a, b := &p.pieces[pair[0]], &p.pieces[pair[1]]
			if a.cold == b.cold {
				continue
			}
			a.cold, b.cold, changed = false, false, true
			if p.lsda != nil {
				p.lsda.choose(p) // all landing pads are in one part
			}
		}
	}
}

// isTableEntry reports whether a directive is an entry of a jump table with a distance in instructions, which
// must not lead to the other part.
func (s *splitter) isTableEntry(st asm.Statement, section string) bool {
	if !s.text.dialect.near || !holdsTables(section) {
		return false
	}
	d, ok := distanceOf(st)
	if !ok {
		return false
	}
	p, moves, def := s.owner(d.base)
	if p == nil && !d.divided {
		return false
	}
	q, other, to := s.owner(d.target)
	if p == q && moves == other && def.app == 0 && to.app == 0 {
		return true
	}
	for _, plan := range []*splitPlan{p, q} {
		if plan != nil {
			plan.refuse("a jump table from one part to the other")
		}
	}
	return true
}
