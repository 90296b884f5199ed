package timing

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/aarch64"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/prof"
)

// aarch64Timing implements timing for AArch64. The runtime's files document the code sequences and the reasons
// for them: timed_exit_aarch64.S, flight_aarch64.S, trace_aarch64.S, trace_depth_aarch64.S and
// tree_enter_aarch64.S.
type aarch64Timing struct{}

func (aarch64Timing) comment() string { return "//" }

// effects is not needed: x16, x17 and the flags are free at every entry.
func (aarch64Timing) effects(string, []byte) effect { return effect{} }

func (aarch64Timing) mentioned(text []byte) regSet {
	if aarch64.Mentioned(text)&aarch64.VeneerRegs != 0 {
		return regX16
	}
	return 0
}

func (aarch64Timing) called(_ *bodyInsn, callee string) effect { return effect{callee: callee} }

func (aarch64Timing) isReturn(in *bodyInsn) bool { return strings.HasPrefix(in.word, "ret") }

// isTail uses the names of gcc's patterns. Clang has none: its jumps out of a function follow the end of the
// frame, and a function without a frame has only such jumps if nothing takes the address of its labels.
func (aarch64Timing) isTail(t *timer, b *body, i int) (tail, known bool) {
	in := &b.insns[i]
	has := func(s string) bool { return bytes.Contains(in.comment, []byte(s)) }
	switch {
	case has("sibcall"):
		return true, true
	case has("tablejump"), has("casesi_dispatch"), has("indirect_jump"):
		return false, true
	}
	if i > 0 && b.insns[i-1].block == in.block && bytes.Contains(b.insns[i-1].comment, []byte("casesi_dispatch")) {
		return false, true
	}
	register := aarch64.Operand(in.rest)
	for k := i - 1; k >= 0 && b.insns[k].block == in.block; k-- {
		before := &b.insns[k]
		if ops := asm.InsnOperands(before.rest); len(ops) > 1 && bytes.Equal(ops[0], register) && aarch64.OverwritesFirst(before.word) {
			if before.word == "add" { // of a table's entry to its base
				return false, true
			}
			break
		}
	}
	f := b.frags[in.frag]
	switch {
	case t.isMachO() && t.takesBlocks(b):
		return b.leavesBlocks(i)
	case t.isMachO() && b.keepsReturn(0, len(b.insns), "st"):
		tail := b.keepsReturn(b.blockStart(i), i, "ld")
		return tail, tail
	case !t.isMachO() && (!f.Unwind || t.cfaRule(f, in.at) != (cfaPlace{reg: "sp"})):
		return false, f.Unwind // the frame still exists
	}
	for _, f := range b.frags {
		for _, l := range f.Labels {
			if t.Unit.Taken[string(l.Name)] {
				return false, false
			}
		}
	}
	if t.takesBlocks(b) {
		return b.leavesBlocks(i)
	}
	return true, true
}

func (aarch64Timing) conditional(in *bodyInsn) (exit, bool) {
	return exit{leave: "b\t" + string(in.target), cond: in.word}, in.word[0] == 'b' && len(in.target) > 0
}

// movesStack needs no check here: such a function is recognized by the registers that it saves, those of an
// exception.
func (aarch64Timing) movesStack(*bodyInsn) bool { return false }

func (aarch64Timing) scratch(register string) bool {
	register = strings.TrimLeft(register, "xw")
	n, err := strconv.Atoi(register)
	return err == nil && n < 18 // x18 is saved for a shadow call stack
}

// sharesFrame recognizes functions that clang outlines at -Oz. Their callers keep their return address in a
// register and may have no frame; or the outlined code is their end, which removes the frame.
func (aarch64Timing) sharesFrame(t *timer, b *body) bool {
	const outlined = "OUTLINED_FUNCTION_"
	if strings.HasPrefix(b.name, outlined) {
		return true
	}
	for _, e := range b.exits {
		in := &b.insns[e.insn]
		if f := b.frags[in.frag]; strings.HasPrefix(in.effect.callee, outlined) || in.effect.tail && t.unwinds(f) && t.cfaRule(f, in.at) != (cfaPlace{reg: "sp"}) {
			return true
		}
	}
	return false
}

// Upper bounds of the inserted code: at the entry of mode stacks, and at an exit including its stub.
const (
	aarch64TimedEntry = 120
	aarch64TimedExit  = 120
	machOTimedEntry   = 144
)

func (aarch64Timing) reach(t *timer, b *body) bool {
	var edits []probe.Edit
	total, entry := 0, aarch64TimedEntry
	if t.isMachO() {
		entry = machOTimedEntry
	}
	for i, f := range b.frags {
		inserted := []asm.Pad{{At: f.Probe, Size: entry}, {At: f.End, Size: entry}}
		for _, e := range b.exits {
			if in := &b.insns[e.insn]; in.frag == i {
				inserted = append(inserted, asm.Pad{At: in.at, Size: aarch64TimedExit}, asm.Pad{At: f.End, Size: aarch64TimedExit})
			}
		}
		for _, a := range t.arrivals(b) {
			size := 24
			if t.Opts.Mode == prof.ModeTrace {
				size = aarch64TimedExit
			}
			if a.changed {
				size *= 3
			}
			inserted = append(inserted, asm.Pad{At: a.at, Size: size}, asm.Pad{At: f.End, Size: size})
		}
		more, size, ok := t.ReachFragment(f, inserted)
		if !ok {
			return false
		}
		edits = append(edits, more...)
		total += size
	}
	t.Edits = append(t.Edits, edits...)
	t.place.far = total > aarch64.ReachBit/2
	return true
}

// A cfaPlace is the rule for the CFA: a register and a distance.
type cfaPlace struct {
	reg    string // sp, x29 or another; "" if there is none
	offset int
}

// cfaRule returns the rule in force at an offset of f.
func (t *timer) cfaRule(f *asm.Fragment, at int) cfaPlace {
	place, _ := t.unwindState(f, at)
	return place
}

// unwindState returns the rule for the CFA in force at an offset of f, and whether the return address is
// signed there.
func (t *timer) unwindState(f *asm.Fragment, at int) (cfaPlace, bool) {
	type state struct {
		cfaPlace
		signed bool
	}
	cur := state{cfaPlace{reg: "sp"}, false}
	var kept []state
	for line := range bytes.Lines(t.Unit.Src[f.Label:max(f.Label, at)]) {
		s := t.Unit.ParseLine(line)
		if s.Kind != asm.LineDirective || !bytes.HasPrefix(s.Word, []byte(".cfi_")) {
			continue
		}
		ops := asm.InsnOperands(s.Rest)
		number := func(i int) int {
			if i >= len(ops) {
				return 0
			}
			n, err := strconv.Atoi(string(ops[i]))
			if err != nil {
				cur.reg = ""
			}
			return n
		}
		switch string(s.Word) {
		case ".cfi_def_cfa":
			cur.cfaPlace = cfaPlace{cfaRegister(ops), number(1)}
		case ".cfi_def_cfa_register":
			cur.reg = cfaRegister(ops)
		case ".cfi_def_cfa_offset":
			cur.offset = number(0)
		case ".cfi_adjust_cfa_offset":
			cur.offset += number(0)
		case ".cfi_escape":
			if escapedRegister(ops) == "" {
				cur.reg = ""
			}
		case ".cfi_window_save", ".cfi_negate_ra_state":
			cur.signed = !cur.signed
		case ".cfi_remember_state":
			kept = append(kept, cur)
		case ".cfi_restore_state":
			if n := len(kept); n > 0 {
				cur, kept = kept[n-1], kept[:n-1]
			}
		}
	}
	return cur.cfaPlace, cur.signed
}

// cfaRegister returns the register of the first operand under one name.
func cfaRegister(ops [][]byte) string {
	if len(ops) == 0 {
		return ""
	}
	switch name := string(ops[0]); name {
	case "31", "sp", "wsp":
		return "sp"
	default:
		return "x" + strings.TrimLeft(name, "xw")
	}
}

// row returns the directives for the unwind row of an entry, where the return address is not signed.
func (aarch64Timing) row(t *timer, f *asm.Fragment, at int) string {
	row := "\t.cfi_def_cfa 31, 0\n"
	for _, reg := range t.unwound[f] {
		row += "\t.cfi_restore " + reg + "\n"
	}
	if _, signed := t.unwindState(f, at); signed {
		row += "\t.cfi_negate_ra_state\n"
	}
	return row
}

// rowEnd marks the return address as signed again: the directive can only toggle the state.
func (aarch64Timing) rowEnd(t *timer, f *asm.Fragment, at int) string {
	if _, signed := t.unwindState(f, at); signed {
		return "\t.cfi_negate_ra_state\n"
	}
	return ""
}

// stub returns the call of a routine in the state of an entry, with pushed bytes on the stack.
func (aarch64Timing) stub(routine string, pushed int, unwound bool) string {
	down, up := "", ""
	if unwound {
		p, q := strconv.Itoa(pushed), strconv.Itoa(pushed+16)
		down = "\t.cfi_def_cfa_offset " + q + "\n\t.cfi_offset 30, -" + strconv.Itoa(pushed+8) + "\n"
		up = "\t.cfi_def_cfa_offset " + p + "\n\t.cfi_restore 30\n"
	}
	return "\tstp\tx16, x30, [sp, -16]!\n" + down + "\tbl\t" + routine + "\n\tldp\tx16, x30, [sp], 16\n" + up
}

// atEntry returns the stubs that code at the entry of f calls: if the entry begins with paciasp, the return
// address is signed by then, and an unwinder must know, or it takes the signature for part of the address.
func (t *timer) atEntry(f *asm.Fragment, unwound bool, stubs string) string {
	if _, signed := t.unwindState(f, f.Probe); !signed || !unwound {
		return stubs
	}
	return "\t.cfi_negate_ra_state\n" + stubs + "\t.cfi_negate_ra_state\n"
}

// push and pop save and restore two registers on the stack, with directives where the CFA is relative to the
// stack pointer.
func push(a, b string, unwind bool) string {
	text := "\tstp\t" + a + ", " + b + ", [sp, -16]!\n"
	if unwind {
		text += "\t.cfi_adjust_cfa_offset 16\n"
	}
	return text
}

func pop(a, b string, unwind bool) string {
	text := "\tldp\t" + a + ", " + b + ", [sp], 16\n"
	if unwind {
		text += "\t.cfi_adjust_cfa_offset -16\n"
	}
	return text
}

// After aarch64Base comes an add of the stack pointer, which is also the encoding of a move of it: the runtime
// recognizes the code by these three instructions (timed_masked_aarch64.c).
const (
	aarch64Base  = "\tadrp\tx16, " + TimedBase + "\n\tldr\tx16, [x16, :lo12:" + TimedBase + "]\n"
	aarch64Stack = "\tmov\tw17, wsp\n"
)

// aarch64Thread sets x17 to the thread pointer and x16 to the distance of what the thread has from it;
// aarch64Local sets x16 to the address of that, and changes x17.
const (
	aarch64Thread = "\tadrp\tx16, " + timedLocal + "\n\tldr\tx16, [x16, :lo12:" + timedLocal + "]\n\tmrs\tx17, tpidr_el0\n"
	aarch64Local  = aarch64Thread + "\tadd\tx16, x16, x17\n"
)

// ifNone returns the jump for a thread that has nothing yet. On Android what a thread has is in a slot of the C library, which
// is zero then: libraries that apps load have no thread-local variables at a fixed place.
func (t *timer) ifNone(register, to string) string {
	if !t.Opts.Android {
		return ""
	}
	return "\tcbz\t" + register + ", " + to + "\n"
}

func (aarch64Timing) entry(t *timer, _ regSet) string {
	if t.Opts.Exact {
		return aarch64Base + aarch64Stack + "\tadd\tx17, x16, x17\n\tmrs\tx16, cntvct_el0\n\tstr\tx16, [x17]\n"
	}
	stamp := aarch64Stack + "\tadd\tx17, x16, x17\n\tldur\tw16, [x16, -64]\n\tstr\tw16, [x17]\n"
	if t.isMachO() {
		over := t.NewLabel()
		return aarch64Base + "\tcbz\tx16, " + over + "\n" + stamp + over + ":\n"
	}
	return aarch64Base + stamp
}

func (m aarch64Timing) exit(t *timer, keep regSet, slow string) string {
	first, stack, unwind := "", aarch64Stack, t.unwinding
	if t.Opts.Flight && !t.isMachO() {
		first = m.flightArrive()
	}
	if keep != 0 {
		stack = "\tadd\tw17, wsp, 16\n"
		if t.Opts.Flight {
			first = strings.Replace(first, aarch64Stack, stack, 1)
		}
	}
	code := first + aarch64Base + stack + "\tldr\tw17, [x16, x17]\n\tldur\tx16, [x16, -64]\n\tsub\tw17, w17, w16\n\tadd\tx17, x17, x16, lsr 32\n"
	result, sign := "w17", "31"
	if t.Opts.Exact {
		code = aarch64Base + stack + "\tldr\tx17, [x16, x17]\n\tldur\tx16, [x16, -40]\n\tadd\tx17, x17, x16\n\tmrs\tx16, cntvct_el0\n\tsub\tx17, x17, x16\n"
		result, sign = "x17", "63"
	}
	if t.isMachO() {
		return t.machOAArch64Exit(keep, strings.TrimPrefix(code, aarch64Base), slow)
	}
	switch {
	case keep != 0:
		return push("x16", "x17", unwind) + code + "\tcmp\t" + result + ", 0\n" + pop("x16", "x17", unwind) + "\tb.lt\t" + slow + "\n"
	case t.place.far:
		near := t.NewLabel()
		return code + "\ttbz\t" + result + ", " + sign + ", " + near + "\n\tb\t" + slow + "\n" + near + ":\n"
	}
	return code + "\ttbnz\t" + result + ", " + sign + ", " + slow + "\n"
}

func (m aarch64Timing) slow(leave string, unwound bool) string {
	signed := unwound && (leave == "retaa" || leave == "retab")
	text := m.stub(timedSlow, 0, unwound) + "\t" + leave + "\n"
	if signed {
		return "\t.cfi_negate_ra_state\n" + text + "\t.cfi_negate_ra_state\n"
	}
	return text
}

func (m aarch64Timing) flightEntry(t *timer, b *body) (id, entry, stubs string) {
	begin, slow, left, id := t.NewLabel(), t.NewLabel(), t.NewLabel(), t.NewLabel()
	f := b.frags[0]
	_, unwound := t.stubPlace(f.End)
	down, up := "", ""
	if unwound {
		down, up = "\t.cfi_adjust_cfa_offset 16\n", "\t.cfi_adjust_cfa_offset -16\n"
	}
	local, pushed, base, over := aarch64Local, f.Unwind, aarch64Base, ""
	if t.isMachO() {
		none := t.NewLabel()
		local, pushed = machOAArch64Local+"\tmrs\tx17, tpidrro_el0\n"+machOAArch64Slot, false
		base, over = aarch64Base+"\tcbz\tx16, "+none+"\n", none+":\n"
	}
	entry = begin + ":\n" + push("x14", "x15", pushed) + base + "\tadd\tw17, wsp, 16\n\tldur\tw15, [x16, -64]\n\tstr\tw15, [x16, x17]\n\tadd\tw14, wsp, 16\n" +
		local + "\tldr\tw17, [x16, 8]\n\tcmp\tw17, w15\n\tb.ne\t" + slow + "\n" +
		"\tldr\tw17, [x16, 12]\n\tsub\tw17, w14, w17\n\tlsr\tw17, w17, 12\n\tcbnz\tw17, " + left + "\n" +
		"\tsub\tw17, w14, 2047\n\tstr\tw17, [x16, 12]\n\tldr\tx17, [x16]\n\tadd\tx17, x17, 8\n\ttst\tx17, 0xffff\n\tb.eq\t" + slow + "\n" +
		"\tstr\tx17, [x16]\n\tadrp\tx15, " + id + "\n\tadd\tx15, x15, :lo12:" + id + "\n\tstp\tw15, w14, [x17, -8]\n" + over + pop("x14", "x15", pushed)
	call := func(label, routine string) string {
		return label + ":\n" + down + "\tldp\tx14, x15, [sp], 16\n" + up + m.stub(routine, 0, unwound) + "\tb\t" + begin + "\n"
	}
	return id, entry, t.atEntry(f, unwound, call(slow, flightSlow)+call(left, flightLeft))
}

func (aarch64Timing) flightArrive() string {
	return aarch64Local + aarch64Stack + "\tstr\tw17, [x16, 12]\n"
}

func (m aarch64Timing) record(t *timer, e traceEvent, b *body, stub *stubText) string {
	if e.kind == wire.EventEnter {
		apart := stubText{at: stub.at, unwound: stub.unwound}
		code := m.recordAt(t, e, &apart)
		stub.code = append(stub.code, t.atEntry(b.frags[0], stub.unwound, string(apart.code))...)
		return code
	}
	return m.recordAt(t, e, stub)
}

func (m aarch64Timing) recordAt(t *timer, e traceEvent, stub *stubText) string {
	pushed, unwind := 0, t.unwinding
	if e.keep != 0 {
		pushed = 16
	}
	event := m.event(t, e.id, e.kind, pushed, stub)
	if t.Opts.Depth > 0 {
		event = m.shallow(t, event, e.kind, pushed, stub)
	}
	if e.keep == 0 {
		return event
	}
	return push("x16", "x17", unwind) + event + pop("x16", "x17", unwind)
}

// outOfTheWay adds code to the stubs after a fragment, where pushed bytes are on the stack.
func (s *stubText) outOfTheWay(pushed int, text string) {
	if pushed > 0 && s.unwound {
		text = "\t.cfi_adjust_cfa_offset 16\n" + text + "\t.cfi_adjust_cfa_offset -16\n"
	}
	s.code = append(s.code, text...)
}

// event returns the code of an event, and adds the stub for a full chunk.
func (m aarch64Timing) event(t *timer, id string, kind, pushed int, stub *stubText) string {
	which := id + "+" + strconv.Itoa(kind)
	return m.eventPlace(t, pushed, stub) +
		"\tadrp\tx16, " + tracer + "\n\tldr\tx16, [x16, :lo12:" + tracer + "]\n\tldr\tw16, [x16]\n\tstur\tw16, [x17, -8]\n" +
		"\tadrp\tx16, " + which + "\n\tadd\tx16, x16, :lo12:" + which + "\n\tstur\tw16, [x17, -4]\n"
}

// eventPlace returns code that sets x17 to the end of the place of an event, and adds the stub for a full chunk.
func (m aarch64Timing) eventPlace(t *timer, pushed int, stub *stubText) string {
	full, back := t.NewLabel(), t.NewLabel()
	if t.isMachO() {
		stub.outOfTheWay(pushed, full+":\n"+m.stub(TraceFull, pushed, false)+"\tb\t"+back+"\n")
		return machOAArch64Place(full, back)
	}
	stub.outOfTheWay(pushed, full+":\n"+m.stub(TraceFull, pushed, stub.unwound)+"\tb\t"+back+"\n")
	return aarch64Local + "\tldr\tx17, [x16]\n" + t.ifNone("x17", full) + "\tadd\tx17, x17, 8\n\ttst\tx17, 0xffff\n\tb.eq\t" + full + "\n" + back + ":\n\tstr\tx17, [x16]\n"
}

func (m aarch64Timing) leaveMark(t *timer, kind, _ int, stub *stubText) string {
	return m.eventPlace(t, 0, stub) + "\tstur\twzr, [x17, -8]\n\tmov\tw16, " + strconv.Itoa(kind) + "\n\tstur\tw16, [x17, -4]\n"
}

func (m aarch64Timing) stackMark(t *timer, kind, _ int, stub *stubText) string {
	return m.markBelow(t, kind, 0, stub)
}

// markBelow is stackMark with pushed bytes on the stack.
func (m aarch64Timing) markBelow(t *timer, kind, pushed int, stub *stubText) string {
	return m.eventPlace(t, pushed, stub) + "\tmov\tx16, sp\n\tlsr\tx16, x16, 4\n\tstur\tw16, [x17, -8]\n\tmov\tw16, " + strconv.Itoa(kind) +
		"\n\tstur\tw16, [x17, -4]\n"
}

// frameOf puts the return address on the stack around code.
func (aarch64Timing) frameOf(t *timer, code string) string {
	row, end := "", ""
	if t.unwinding {
		row, end = "\t.cfi_offset 30, -8\n", "\t.cfi_restore 30\n"
	}
	return push("x29", "x30", t.unwinding) + row + code + pop("x29", "x30", t.unwinding) + end
}

func (m aarch64Timing) tailSwitch(t *timer, in *bodyInsn, record func(kind int) string, stub *stubText) string {
	if in.word != "b" {
		return ""
	}
	return m.frameOf(t, m.markBelow(t, wire.EventSuspend, 16, stub)+t.depth(traceLeaves, in.at)+"\tbl\t"+string(bytes.TrimSpace(t.spelled(in, in.rest)))+"\n"+
		m.markBelow(t, wire.EventResume, 16, stub)+t.depth(traceReturns, in.at)) + record(wire.EventArrive) + record(wire.EventExit) + "\tret\n"
}

func (m aarch64Timing) treeTail(t *timer, in *bodyInsn, id string) string {
	if in.word != "b" {
		return ""
	}
	return m.frameOf(t, "\tbl\t"+string(bytes.TrimSpace(t.spelled(in, in.rest)))+"\n") + m.treeArrive(t, arrival{at: in.at, changed: true}, id) + m.treeExit(t, 0) + "\tret\n"
}

// shallow returns code for an event that is recorded only in calls up to a depth.
func (m aarch64Timing) shallow(t *timer, event string, kind, pushed int, stub *stubText) string {
	routine := traceUpper
	if kind == wire.EventEnter {
		routine = traceDeeper
	}
	near, back := t.NewLabel(), t.NewLabel()
	stack := "\tadd\tx17, sp, " + strconv.Itoa(pushed) + "\n"
	stub.outOfTheWay(pushed, near+":\n"+stack+m.stub(routine, pushed, stub.unwound)+event+"\tb\t"+back+"\n")
	thread := aarch64Thread + "\tadd\tx16, x16, x17\n"
	if t.isMachO() {
		thread = machOAArch64Local + "\tcbz\tx16, " + near + "\n\tmrs\tx17, tpidrro_el0\n" + machOAArch64Slot
	}
	return thread + "\tldr\tx16, [x16, " + strconv.Itoa(traceDeep) + "]\n" +
		stack + "\tcmp\tx17, x16\n\tb.hs\t" + near + "\n" + back + ":\n"
}

func (aarch64Timing) treeEntry(t *timer, _ regSet, slot int, id, back string) string {
	clock := "\tldur\tx16, [x16, -48]\n\tldr\tx17, [x15, 24]\n\tsub\tx17, x17, x16\n\tstr\tx17, [x15, 24]\n"
	switch {
	case t.Opts.Counts:
		clock = ""
	case t.Opts.Longest:
		clock += "\tstr\tx16, [x15, 160]\n"
	}
	if t.isMachO() {
		return machOAArch64TreeEntry(slot, id, back, clock)
	}
	return push("x14", "x15", t.unwinding) + aarch64Local +
		"\tadrp\tx17, " + id + "\n\tadd\tx17, x17, :lo12:" + id + "\n\tldr\tx14, [x16]\n" + t.ifNone("x14", id) +
		"\tldr\tx15, [x14, " + strconv.Itoa(64+8*slot) + "]\n\tldr\tx14, [x15, 8]\n\tcmp\tx14, x17\n\tb.ne\t" + id + "\n" + back + ":\n\tstr\tx15, [x16]\n" + aarch64Base +
		"\tadd\tw14, wsp, 16\n\tldr\tx17, [x15, 16]\n\tadd\tx17, x17, 1\n\tstr\tx17, [x15, 16]\n\tstr\tw14, [x15, 48]\n\tstr\tx15, [x16, x14]\n" +
		clock + pop("x14", "x15", t.unwinding)
}

func (m aarch64Timing) treeMiss(t *timer, b *body, _ regSet, miss treeStub) string {
	down, up := "", ""
	if miss.unwound {
		down, up = "\t.cfi_def_cfa_offset 16\n", "\t.cfi_def_cfa_offset 0\n"
	}
	// The three bytes align what follows.
	head := "\t.byte\t0, 0, 0\n\t.long\t" + miss.id + "-" + miss.start + "\n\t.byte\t" + strconv.Itoa(miss.flags) + "\n"
	if t.isMachO() {
		return head + machOAArch64TreeMiss(miss, m.stub(treeEnter, 16, false))
	}
	return head +
		t.atEntry(b.frags[0], miss.unwound, down+miss.id+":\n"+m.stub(treeEnter, 16, miss.unwound)+"\tmov\tx15, x17\n\tb\t"+miss.back+"\n"+up)
}

func (aarch64Timing) treeExit(t *timer, keep regSet) string {
	clock := "\tldur\tx16, [x16, -48]\n\tldr\tx17, [x15, 24]\n\tadd\tx17, x17, x16\n\tstr\tx17, [x15, 24]\n"
	switch {
	case t.Opts.Counts:
		clock = ""
	case t.Opts.Longest:
		shorter := t.NewLabel()
		clock += "\tldr\tx17, [x15, 160]\n\tsub\tx16, x16, x17\n\tldr\tx17, [x15, 168]\n\tcmp\tx16, x17\n\tb.ls\t" + shorter +
			"\n\tstr\tx16, [x15, 168]\n" + shorter + ":\n"
	}
	pushed, before, behind := "16", push("x14", "x15", t.unwinding), pop("x14", "x15", t.unwinding)
	if keep != 0 {
		pushed = "32"
		before, behind = push("x16", "x17", t.unwinding)+before, behind+pop("x16", "x17", t.unwinding)
	}
	if t.isMachO() {
		return before + machOAArch64TreeExit(pushed, t.NewLabel(), clock) + behind
	}
	return before + aarch64Base + "\tadd\tw14, wsp, " + pushed + "\n\tldr\tx15, [x16, x14]\n" + clock +
		"\tldr\tx15, [x15]\n" + aarch64Thread + "\tstr\tx15, [x16, x17]\n" + behind
}

// inFrame returns the call of a routine in the middle of a function.
func (t *timer) inFrame(routine string, at int) string {
	unwind := false
	if f := t.fragmentAt(at); f != nil && t.unwinds(f) {
		unwind = t.cfaRule(f, at).reg == "sp"
	}
	return push("x16", "x30", unwind) + "\tbl\t" + routine + "\n" + pop("x16", "x30", unwind)
}

// arrive saves nothing: at these places x30 is as free as after any call.
func (m aarch64Timing) arrive(t *timer, a arrival) string {
	entry := t.entryStack(a.at)
	if entry == "" || a.changed {
		return ""
	}
	t.arrived = true
	return m.again(t, a, entry+"\tbl\t"+timedArrived+"\n")
}

// entryStack returns code that sets x17 to the stack pointer at the function's entry, "" if that is not known.
func (t *timer) entryStack(at int) string {
	f := t.fragmentAt(at)
	if f == nil || !f.Unwind {
		return ""
	}
	p := t.cfaRule(f, at)
	if p.offset < 0 || p.offset >= 1<<24 || (p.reg != "sp" && p.reg != "x29") {
		return ""
	}
	text := "\tadd\tx17, " + p.reg + ", " + strconv.Itoa(p.offset&0xfff) + "\n"
	if high := p.offset &^ 0xfff; high > 0 {
		text += "\tadd\tx17, x17, " + strconv.Itoa(high) + "\n"
	}
	return text
}

func (aarch64Timing) inFrame(t *timer, routine string, at int) string { return t.inFrame(routine, at) }

func (m aarch64Timing) tailCall(t *timer, in *bodyInsn) string {
	if in.word != "b" {
		return ""
	}
	leaves := ""
	if leavesStack(in) {
		leaves = "\tbl\t" + timedLeaves + "\n"
	}
	return m.frameOf(t, "\tbl\t"+timedSuspends+"\n"+leaves+"\tbl\t"+string(bytes.TrimSpace(t.spelled(in, in.rest)))+"\n\tbl\t"+timedResumes+"\n")
}

func (aarch64Timing) again(t *timer, a arrival, code string) string {
	if !a.again {
		return code
	}
	first := t.NewLabel()
	return "\tcbz\tw0, " + first + "\n" + code + first + ":\n"
}

func (aarch64Timing) treeArrive(t *timer, a arrival, id string) string {
	to := treeBackAt
	if a.changed {
		to = treeSwitched
	}
	if entry := t.entryStack(a.at); entry != "" {
		return entry + t.inFrame(to, a.at)
	}
	if a.changed {
		return "" // corrected when a function returns
	}
	return "\tadrp\tx17, " + id + "\n\tadd\tx17, x17, :lo12:" + id + "\n" + t.inFrame(treeBack, a.at)
}

func (aarch64Timing) treeLeave(t *timer, at, ends int) string {
	return "\tmov\tx17, " + strconv.Itoa(ends) + "\n" + t.inFrame(treeLeave, at)
}
