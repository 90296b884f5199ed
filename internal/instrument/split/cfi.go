package split

import (
	"bytes"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Problem: unwind directives describe changes from one instruction to the next in the text. When blocks move,
// the next instruction is another one.
//
// Choice: compute the whole state at each instruction of the original text, drop the directives, and before
// each instruction of the new text write the change from the state there to the needed one. That is right by
// construction, whatever moves.
//
// Cost: .cfi_remember_state and .cfi_restore_state are expanded, some bytes of .eh_frame for functions that are
// split.

// cfiTrack holds the unwind directives of one function.
type cfiTrack struct {
	used        bool
	personality string // operands, or ""
	lsda        string
	frame       []string       // directives for the whole frame
	states      []asm.CFIState // the distinct ones in order; 0 is that of the entry
	at          []int32        // by line from the plan's first: index into states
}

// trackCFI computes the state at each line of the plan.
func (p *splitPlan) trackCFI() {
	t := &p.cfi
	t.states = []asm.CFIState{dialects[p.unit.Kind].entry}
	t.at = make([]int32, p.last-p.first+1)
	w := cfiWalk{plan: p}
	for i := p.first; i <= p.last && p.refused == ""; i++ {
		t.at[i-p.first] = w.cur
		if !p.own(i) || p.text.lines[i].app > 0 || p.text.lines[i].kind != asm.LineDirective {
			continue
		}
		if s := p.text.statement(i); bytes.HasPrefix(s.Word, []byte(".cfi_")) {
			w.directive(i, string(s.Word), asm.CFIOperands(s.Rest))
		}
	}
	if p.refused == "" && t.used && !w.ended {
		p.refuse("unwind directives without an end")
	}
}

// cfiWalk is the state between two directives of a function.
type cfiWalk struct {
	plan  *splitPlan
	cur   int32   // index into the states
	stack []int32 // remembered ones
	ended bool
}

// directive follows a directive on line i. What it does not understand refuses the plan.
func (w *cfiWalk) directive(i int, word string, ops []string) {
	p, t := w.plan, &w.plan.cfi
	if w.ended || !t.used && word != ".cfi_startproc" {
		p.refuse("unwind directives outside of the function")
		return
	}
	switch word {
	case ".cfi_startproc":
		if t.used || len(ops) > 0 || i >= p.pieces[0].code && p.pieces[0].code < p.pieces[0].end {
			p.refuse("unwind directives that begin inside the function")
		}
		t.used = true
	case ".cfi_endproc":
		w.ended = true
		if i < p.tail {
			p.refuse("unwind directives that end inside the function")
		}
	case ".cfi_personality":
		t.personality = strings.Join(ops, ", ")
	case ".cfi_b_key_frame", ".cfi_mte_tagged_frame":
		t.frame = append(t.frame, word)
	case ".cfi_lsda":
		t.lsda = strings.Join(ops, ", ")
	default:
		w.change(word, ops)
	}
}

// change follows a directive that changes the state.
func (w *cfiWalk) change(word string, ops []string) {
	p, t := w.plan, &w.plan.cfi
	switch word {
	case ".cfi_remember_state":
		w.stack = append(w.stack, w.cur)
		if len(w.stack) > asm.MaxRememberCFI {
			p.refuse("too many remembered unwind states")
		}
	case ".cfi_restore_state":
		if len(w.stack) == 0 {
			p.refuse("no unwind state to restore")
			return
		}
		restored := t.states[w.stack[len(w.stack)-1]]
		restored.Args = t.states[w.cur].Args // not part of the state
		w.stack = w.stack[:len(w.stack)-1]
		w.cur = t.note(restored)
	case ".cfi_negate_ra_state", ".cfi_window_save":
		next := t.states[w.cur]
		if next.Sign == "" {
			next.Sign = word
		} else {
			next.Sign = ""
		}
		if !dialects[p.unit.Kind].near || len(ops) > 0 {
			p.refuse("unwind directive " + word)
		}
		w.cur = t.note(next)
	default:
		next, ok := t.states[w.cur].Apply(word, ops)
		if !ok {
			p.refuse("unwind directive " + word)
			return
		}
		w.cur = t.note(next)
	}
}

// note returns the index of a state, which usually is new or a recent one.
func (t *cfiTrack) note(s asm.CFIState) int32 {
	for i := len(t.states) - 1; i >= max(0, len(t.states)-8); i-- {
		if t.states[i].Equal(&s) {
			return int32(i)
		}
	}
	t.states = append(t.states, s)
	return int32(len(t.states) - 1)
}
