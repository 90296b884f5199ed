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
	d := dialects[p.unit.Kind]
	t.states = []asm.CFIState{d.entry}
	t.at = make([]int32, p.last-p.first+1)
	cur, ended := int32(0), false
	var stack []int32
	for i := p.first; i <= p.last; i++ {
		t.at[i-p.first] = cur
		if !p.own(i) || p.text.lines[i].app > 0 || p.text.lines[i].kind != asm.LineDirective {
			continue
		}
		s := p.text.statement(i)
		if !bytes.HasPrefix(s.Word, []byte(".cfi_")) {
			continue
		}
		word, ops := string(s.Word), asm.CFIOperands(s.Rest)
		if ended || !t.used && word != ".cfi_startproc" {
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
			ended = true
			if i < p.tail {
				p.refuse("unwind directives that end inside the function")
			}
		case ".cfi_personality":
			t.personality = strings.Join(ops, ", ")
		case ".cfi_b_key_frame", ".cfi_mte_tagged_frame":
			t.frame = append(t.frame, word)
		case ".cfi_lsda":
			t.lsda = strings.Join(ops, ", ")
		case ".cfi_remember_state":
			stack = append(stack, cur)
			if len(stack) > asm.MaxRememberCFI {
				p.refuse("too many remembered unwind states")
			}
		case ".cfi_restore_state":
			if len(stack) == 0 {
				p.refuse("no unwind state to restore")
				return
			}
			restored := t.states[stack[len(stack)-1]]
			restored.Args = t.states[cur].Args // not part of the state
			stack = stack[:len(stack)-1]
			cur = t.note(restored)
		case ".cfi_negate_ra_state", ".cfi_window_save":
			next := t.states[cur]
			if next.Sign == "" {
				next.Sign = word
			} else {
				next.Sign = ""
			}
			if !d.near || len(ops) > 0 {
				p.refuse("unwind directive " + word)
			}
			cur = t.note(next)
		default:
			next, ok := t.states[cur].Apply(word, ops)
			if !ok {
				p.refuse("unwind directive " + word)
				return
			}
			cur = t.note(next)
		}
		if p.refused != "" {
			return
		}
	}
	if t.used && !ended {
		p.refuse("unwind directives without an end")
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
