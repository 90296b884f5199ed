package coverage

import "strings"

// gcc leads jumps past jumps also without optimisation, and so there may be nothing left of a line that ran, such as that
// of a break, but a jump that did not run. Where its target did not run, either, nothing went past it. Otherwise one of
// the ways to the target may be one past the jump:
//
//   - from a test whose other ways all lead to the jump: one without else before a break, in the same block of the
//     source. The jump past an else is such a jump, too, at the end of the block before it;
//   - from the first operand of || whose second one leads to the jump: in the source there is no statement between them;
//   - from another jump before it, such as the break of a loop before a break. Padding is left of the second, which is
//     not in the block of the first;
//   - from the test of a switch with the label of the jump;
//   - from a test whose own jump was left out (elided.go).

// bypass finds out for each line without optimisation that seems not to have run whether something went past what is left
// of it.
func (o *observer) bypass() {
	for i := range o.remnants {
		r := &o.remnants[i]
		if r.plain && !r.after && r.flow != nil && o.runs[r.at] == 0 {
			var runs uint64
			src := o.returns.modules[r.module].sources()
			r.past, runs = r.bypassed(src)
			o.ran(r.at, max(runs, r.operands(src)))
		}
	}
}

// bypassed returns the state of the line of r, a jump or padding that may be left of a line that ran, and in how many runs
// something is known to have gone past it.
func (r *remnant) bypassed(src Sources) (state State, runs uint64) {
	fl := r.flow
	if r.works || len(r.frames) > 0 && !r.frames[0].Records || !r.leaves(src) {
		return Missed, 0
	}
	if len(fl.preds[r.piece]) == 0 {
		if r.piece > 0 {
			return Unknown, 0
		}
		return Missed, 0
	}
	for _, next := range fl.pieces[r.piece].succs {
		for _, from := range fl.preds[next] {
			if !fl.pieces[from].ran || from == r.piece {
				continue
			}
			edge, known := fl.wayRuns(from, next)
			switch {
			case known && edge == 0 || !fl.passes(from, next, r, src):
			case known && fl.proves(from, next, r, src):
				state, runs = Ran, max(runs, edge)
			default:
				state = max(state, Unknown)
			}
		}
	}
	return state, runs
}

// leaves reports whether r may be a statement that jumps, or the end of a block: it has a place of its own, not that of
// the code before it, and no other statement is there.
func (r *remnant) leaves(src Sources) bool {
	insts := r.flow.pieces[r.piece].insts
	if begins, known := src.Begins(r.addr); known && !begins {
		return false
	}
	_, after, known := src.Line(insts[r.last].addr)
	return !known || mayJump(after)
}

// passes reports whether the way between two pieces may be one past the jump r.
func (fl *flow) passes(from, to int, r *remnant, src Sources) bool {
	insts, jump := fl.pieces[from].insts, fl.pieces[r.piece].insts
	last := len(insts) - 1
	joins, first := false, from < r.piece && !r.behind
	text, ahead, known := src.Between(insts[last].addr, jump[r.last].addr)
	text = withoutComments(text)
	switch {
	case first && (!known || !ahead && labelled(insts[last].addr, text, src)):
		return true
	case first && len(fl.pieces[from].succs) == 1 && fl.pieces[from].leftOpen(last+1) != nil:
	case len(fl.pieces[from].succs) == 1:
		if fl.overElse(from, r, src) {
			return true
		}
		if !first || last == 0 || !insts[last].jump || !insts[last-1].padding {
			return false
		}
	case fl.joins(from, to, r.piece):
		joins = true
	case !first || !fl.leads(from, r.piece):
		return false
	}
	if !known || ahead {
		return !known
	}
	switch {
	case len(fl.pieces[from].succs) == 1 && fl.pieces[from].leftOpen(last+1) == nil:
		return meets(strings.TrimSpace(text))
	case joins && depth(text) <= 0:
		return true
	}
	return first && !strings.ContainsAny(text, ";}")
}

// labelled reports whether a text from a test ends with a label of the switch that the test is of.
func labelled(test uint64, text string, src Sources) bool {
	if !strings.HasSuffix(strings.TrimSpace(text), ":") || depth(text) != 1 {
		return false
	}
	_, after, known := src.Line(test)
	return known && firstWord(after) == "switch"
}

// meets reports whether the jump at the beginning of text, a statement, leads to its end.
func meets(text string) bool {
	statement, rest, ok := strings.Cut(text, ";")
	if !ok {
		return true // they are in one macro
	}
	if label, ok := strings.CutPrefix(statement, "goto "); ok {
		before, ok := strings.CutSuffix(rest, ":")
		return ok && strings.HasSuffix(strings.TrimSpace(before), strings.TrimSpace(label))
	}
	rest = strings.TrimSpace(rest)
	before, ok := strings.CutSuffix(rest, "}")
	return rest == "" || ok && depth(before) == lowest(before) && depth(before) <= 0
}

// joins reports whether all other ways from a piece than that to another one lead through a third.
func (fl *flow) joins(from, to, at int) bool {
	for _, s := range fl.pieces[from].succs {
		if s == to {
			continue
		}
		for seen := map[int]bool{}; s != at; s = fl.after[s] {
			if s == nowhere || seen[s] {
				return false
			}
			seen[s] = true
		}
	}
	return true
}
