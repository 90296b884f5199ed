package coverage

import (
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// gcc leaves out a conditional jump whose ways lead to one place, also without optimisation, and leaves its comparison. Of
//
//	if (C)
//	    break;
//	break;
//
// nothing is left but the comparison of C and one of the jumps, or padding with its place, which runs in either case. So
// behind a comparison without a jump, neither proves that its line ran, if a statement between them may jump. Nor does one
// behind a label of a switch by which that may lead there for the label of another jump:
//
//	case 1:
//	    break;
//	default:
//	    break;

// leftOpen returns the comparison that is the last of a piece before instruction k but for padding, probes and an
// unconditional jump, nil if something else is.
func (p *piece) leftOpen(k int) *inst {
	for k--; k >= 0; k-- {
		in := &p.insts[k]
		switch {
		case in.use == machinecode.Compares && in.kind != none:
			return in
		case in.kind != none && !in.jump:
			return nil
		}
	}
	return nil
}

// begun reports whether there is code but padding and probes before instruction k.
func (p *piece) begun(k int) bool {
	for i := range k {
		if p.insts[i].kind != none {
			return true
		}
	}
	return false
}

// elided reports whether the current line, of which a jump or padding ran, may be one that a test excluded whose jump was
// left out.
func (s *scan) elided() bool {
	r := &s.rest
	if !s.plain || r.runs == 0 || r.works || len(r.frames) > 0 && !r.frames[0].Records {
		return false
	}
	p := &s.fl.pieces[s.piece]
	if p.begun(r.first) {
		test := p.leftOpen(r.first)
		return test != nil && s.skips(test, r)
	}
	found, labels := false, sharing{scan: s, r: r}
	for _, from := range slices.Backward(s.fl.preds[s.piece]) {
		before := &s.fl.pieces[from]
		runs, known := s.fl.wayRuns(from, s.piece)
		if !before.ran || known && runs == 0 {
			continue
		}
		test := before.leftOpen(len(before.insts))
		if !before.decides && test != nil && s.skips(test, r) || labels.with(from) {
			found = true
		} else if known {
			return false // this way proves it
		}
	}
	// Of a computed jump it is not known that it leads to what other jumps lead to as well.
	for _, from := range slices.Backward(s.fl.jumps) {
		found = found || s.fl.pieces[from].ran && labels.with(from)
	}
	return found
}

// skips reports whether a statement between a test and r may jump.
func (s *scan) skips(test *inst, r *remnant) bool {
	text, ahead, known := s.sources.Between(test.addr, r.addr)
	if !known || ahead {
		return !known
	}
	for text = withoutComments(text); text != ""; {
		word := firstWord(text)
		if jumps()[word] {
			return true
		}
		text = text[max(1, len(word)):]
	}
	return false
}

// sharing finds pieces that end with a jump of a switch such that r is a jump behind its label, ahead of which there is nothing
// but a jump behind another label. It is best asked of the nearest first: what is ahead of r is the same behind all, and the
// text from it is short.
type sharing struct {
	*scan
	r    *remnant
	none bool // something else is ahead of r
}

// with reports whether a piece is such a one.
func (s *sharing) with(from int) bool {
	insts := s.fl.pieces[from].insts
	jump := &insts[len(insts)-1]
	if s.none || !jump.test {
		return false
	}
	text, ahead, known := s.sources.Between(jump.addr, s.r.addr)
	if !known || ahead {
		return false
	}
	text = withoutComments(text)
	before := withoutLabels(text)
	statement := strings.TrimSuffix(before, ";")
	begins := strings.LastIndexAny(statement, ";{}:") + 1
	if statement == before || !jumps()[firstWord(strings.TrimSpace(statement[begins:]))] || !strings.HasSuffix(before[:begins], ":") {
		s.none = begins > 0
		return false
	}
	return labelled(jump.addr, text, s.sources)
}

// withoutLabels returns a text without the labels that it ends with.
func withoutLabels(text string) string {
	text = strings.TrimSpace(text)
	for strings.HasSuffix(text, ":") {
		text = strings.TrimSpace(text[:strings.LastIndexAny(text[:len(text)-1], ";{}:")+1])
	}
	return text
}
