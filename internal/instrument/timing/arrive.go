package timing

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/arm"
)

// Problem: in mode stacks the current node of a thread is wrong where control does not come from an exit: at
// the landing pads of exceptions, after calls that return twice, and after those that switch to another stack
// and return.
//
// In mode spike, calls that an exception or a longjmp left have no exit that evaluates them, and in mode trace no
// event.
//
// Choice: in these places the node is read from the window, where the entry of the call put it. The stack pointer
// at the entry is 8 below the CFA, which the unwind directives give relative to the stack or the frame pointer. If
// they do not (code without unwind tables, realigned stacks) the runtime looks for the function among the
// callers of the current node, by the stack pointers in the nodes.

// returnsTwice are functions that return again after a longjmp or the end of a vfork.
var returnsTwice = map[string]bool{
	"setjmp": true, "_setjmp": true, "sigsetjmp": true, "__sigsetjmp": true, "vfork": true, "savectx": true,
}

// endsThread are functions that end the thread: all its calls are left, and control arrives nowhere. It leaves the
// frames of C without running anything in them, so their stack is walked in front of the call.
var endsThread = map[string]bool{"pthread_exit": true, "thrd_exit": true}

// cancelsThread are functions that end another thread, in whatever calls it is.
var cancelsThread = map[string]bool{"pthread_cancel": true}

// departures returns the places of b in front of calls that end the thread, or another one, and the routine of the
// runtime that is called there.
func departures(b *body) map[int]string {
	out := map[int]string{}
	for i := range b.insns {
		in := &b.insns[i]
		switch callee := in.effect.callee; {
		case in.flow == asm.FlowCall && endsThread[callee]:
			out[in.at] = timedDeparts
		case cancelsThread[callee] && (in.flow == asm.FlowCall || in.effect.tail && (in.word == "jmp" || in.word == "b")):
			out[in.at] = timedCancels
		}
	}
	return out
}

// An arrival is a place where control may arrive other than from an exit.
type arrival struct {
	at      int
	call    int  // offset of the call that it is after, if it is after one
	changed bool // from another stack, on which calls may continue
	away    bool // meanwhile the stack was suspended
	again   bool // the call returns 0 at first, something else when control arrives
}

// arrivals returns those of b.
func (t *timer) arrivals(b *body) (out []arrival) {
	pads := map[int]bool{} // blocks
	n := 0
	for _, f := range b.frags {
		for _, l := range f.Labels {
			if t.pads[string(l.Name)] && l.Block < len(f.Blocks) {
				pads[n+l.Block] = true
			}
		}
		n += len(f.Blocks)
	}
	for i := range b.insns {
		in := &b.insns[i]
		if pads[in.block] && in.flow != asm.FlowLanding {
			delete(pads, in.block)
			out = append(out, arrival{at: in.at})
		}
		callee := in.effect.callee
		if in.flow == asm.FlowCall && (returnsTwice[callee] || changesStack(callee)) {
			out = append(out, arrival{
				at: t.lineEnd(in.at), call: in.at, changed: changesStack(callee), away: suspends(callee), again: returnsTwice[callee] && callee != "vfork" && callee != "savectx",
			})
		}
	}
	return out
}

// A cfaChange is where the rule for the CFA changes.
type cfaChange struct {
	at    int // offset after the directive
	known bool
	asm.CFIState
}

// cfaRegisters are those that calls preserve.
var cfaRegisters = map[int]string{asm.DwarfRSP: "%rsp", asm.DwarfRegisters["rbp"]: "%rbp"}

// cfaAt returns the rule for the CFA at an offset, if it is one of those registers
// with something added.
func (t *timer) cfaAt(at int) (asm.CFIState, bool) {
	i, found := slices.BinarySearchFunc(t.cfa, at, func(c cfaChange, at int) int { return cmp.Compare(c.at, at) })
	if !found {
		i--
	}
	if i < 0 {
		return asm.CFIState{}, false
	}
	c := &t.cfa[i]
	return c.CFIState, c.known && c.Expr == "" && cfaRegisters[c.Reg] != ""
}

// scanCFA finds the rules for the CFA in the unwind directives.
func (t *timer) scanCFA() {
	cur := cfaChange{}
	var stack []cfaChange
	pos := 0
	for line := range bytes.Lines(t.Unit.Src) {
		pos += len(line)
		s := asm.ParseLine(bytes.TrimRight(line, "\r\n"))
		if s.Kind != asm.LineDirective || !bytes.HasPrefix(s.Word, []byte(".cfi_")) {
			continue
		}
		switch word := string(s.Word); word {
		case ".cfi_startproc":
			cur, stack = cfaChange{known: true, CFIState: asm.EntryCFI}, nil
		case ".cfi_endproc":
			cur = cfaChange{}
		case ".cfi_remember_state":
			stack = append(stack, cur)
		case ".cfi_restore_state":
			if cur = (cfaChange{}); len(stack) > 0 {
				cur, stack = stack[len(stack)-1], stack[:len(stack)-1]
			}
		case ".cfi_def_cfa", ".cfi_def_cfa_register", ".cfi_def_cfa_offset", ".cfi_adjust_cfa_offset", ".cfi_escape":
			next, ok := cur.Apply(word, asm.CFIOperands(s.Rest))
			cur.CFIState, cur.known = next, ok && (cur.known || word == ".cfi_def_cfa")
		default:
			continue
		}
		cur.at = pos
		t.cfa = append(t.cfa, cur)
	}
}

// lineEnd returns the offset after the line at an offset.
func (t *timer) lineEnd(at int) int {
	if i := bytes.IndexByte(t.Unit.Src[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(t.Unit.Src)
}

// scanPads finds the labels of landing pads: each entry of a table of call sites
// is start, length, landing pad and action, between two labels whose difference
// is the table's length.
func (t *timer) scanPads() {
	t.pads = map[string]bool{}
	var end, begin string     // labels of the next table
	in, plain := false, false // plain: the byte before was the encoding of such a table
	column := 0
	beside := map[string]string{} // a label of clang's that marks a place -> the block's
	last := ""                    // label of a block, nothing after it yet
	for line := range bytes.Lines(t.Unit.Src) {
		line = bytes.TrimRight(line, "\r\n")
		if t.Unit.Kind == machine.Arm {
			line = arm.Code(line)
		}
		s := t.Unit.ParseLine(line)
		switch {
		case s.Kind == asm.LineLabel:
			name := string(s.Word)
			switch {
			case name == begin && begin != "":
				in, column = true, 0
			case name == end:
				in, end, begin = false, "", ""
			case strings.HasPrefix(name, ".Ltmp") && last != "":
				beside[name] = last
			case asm.IsLeader(s.Word):
				last = name
			}
		case s.Kind == asm.LineInsn:
			last = ""
		case s.Kind != asm.LineDirective || !asm.EmitsBytes(s.Word):
		case !in:
			if a, b, ok := bytes.Cut(asm.Operand(s.Rest), []byte("-")); ok && plain && string(s.Word) == ".uleb128" {
				end, begin = string(a), string(b)
			}
			value := string(asm.Operand(s.Rest))
			plain = string(s.Word) == ".byte" && (value == "1" || value == "0x1")
		default:
			if a, _, ok := bytes.Cut(asm.Operand(s.Rest), []byte("-")); ok && column == 2 {
				t.pads[string(a)] = true
			}
			column = (column + 1) % 4
		}
	}
	if t.isCOFF() {
		t.scanScopes()
	}
	for name, block := range beside {
		if t.pads[name] {
			t.pads[block] = true
		}
	}
}
