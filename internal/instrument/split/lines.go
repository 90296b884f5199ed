package split

import (
	"fmt"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/x86"
)

// Problem: caches of processors for x86-64 keep code in lines of 64 bytes. Compilers align loops to 16 bytes, so that a
// loop of 40 bytes is in two lines half of the time, by chance, and each round takes both.
//
// Choice: a loop that ran often is padded if it is in more lines than it needs, which a directive with a limit says: pad to the
// next line unless that is further than what is left of the loop behind its last whole line. The length of the
// loop is estimated, as the assembler alone knows that of its instructions.
//
// Cost: the section of the function is aligned to a line, so that only loops are fitted that ran often in the whole program, and
// whose padding is executed seldom beside them. In functions that keep the order of the text, loops that the compiler did not align
// stay as they are, and so do all loops of functions that it did not align, as by -Os, or was told not to (-fno-align-loops).

const (
	cacheLine = 64
	maxFitted = 4 * cacheLine // of longer loops one line more is little
	minRounds = 16            // the padding runs each time that the loop is entered
)

// fitLoops finds the padding of hot loops: back is how often control went back to each piece, at where the pieces are in the order.
func (p *splitPlan) fitLoops(at []int, back []uint64, executed uint64) {
	if p.unit.Kind != machine.X86_64 || executed == 0 || p.packed {
		return
	}
	p.fitted = map[int]string{}
	for k := range p.tops {
		if back[k] < executed/copiedShare || back[k]/minRounds < p.flow.times[k]-min(back[k], p.flow.times[k]) {
			continue
		}
		last := at[k]
		for e, times := range p.flow.edges {
			const seldom = 4 // of the rounds
			if e[1] == k && times >= back[k]/seldom {
				last = max(last, at[e[0]])
			}
		}
		size := 0
		for _, x := range p.order[at[k] : last+1] {
			size += p.estimate(x)
		}
		if size > maxFitted || size == 0 {
			continue
		}
		p.fitted[k] = ""
		if most := (size - 1) % cacheLine; most > 0 {
			p.fitted[k] = fmt.Sprintf("\t.p2align\t6,,%d\n", most)
		}
	}
}

// isAligned reports whether the compiler aligned the function: it does not if that is to be small.
func (p *splitPlan) isAligned() bool {
	for i := p.first - 2; i >= 0 && p.text.lines[i].sec == p.sec && !p.text.lines[i].switches; i-- {
		switch l := &p.text.lines[i]; l.kind {
		case asm.LineDirective:
			s := p.text.statement(i)
			if isAlign(string(s.Word)) {
				const even = 4 // at most, in bytes: member functions of C++ are at even addresses
				return asm.AlignmentSize(string(s.Word), s.Rest) > even
			}
			if asm.EmitsBytes(s.Word) || string(s.Word) == ".size" {
				return false
			}
		case asm.LineBlank:
		default:
			return false
		}
	}
	return false
}

// estimate is the length of the code of a piece for x86-64, as far as it can be known before the assembler has it.
func (p *splitPlan) estimate(k int) (size int) {
	for i := p.pieces[k].first; i < p.pieces[k].end; i++ {
		if l := &p.text.lines[i]; p.own(i) && l.kind == asm.LineInsn {
			s := p.text.statement(i)
			size += x86.Length(s.Word, s.Rest)
		}
	}
	return size
}
