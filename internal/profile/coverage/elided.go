package coverage

import "github.com/cairnprof/cairn/internal/binary/machinecode"

// gcc leaves out a conditional jump whose ways lead to one place, also without optimisation, and leaves its comparison. Of
//
//	if (C)
//	    break;
//	break;
//
// nothing is left but the comparison of C and one of the jumps, or padding with its place, which runs in either case. So
// behind a comparison without a jump, neither proves that its line ran, if a statement between them may jump.

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
	if !s.plain || r.runs == 0 || r.works {
		return false
	}
	p := &s.fl.pieces[s.piece]
	if p.begun(r.first) {
		test := p.leftOpen(r.first)
		return test != nil && s.skips(test, r)
	}
	found := false
	for _, from := range s.fl.preds[s.piece] {
		before := &s.fl.pieces[from]
		runs, known := s.fl.wayRuns(from, s.piece)
		if !before.ran || known && runs == 0 {
			continue
		}
		if test := before.leftOpen(len(before.insts)); !before.decides && test != nil && s.skips(test, r) {
			found = true
		} else if known {
			return false // this way proves it
		}
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
		if jumps[word] {
			return true
		}
		text = text[max(1, len(word)):]
	}
	return false
}
