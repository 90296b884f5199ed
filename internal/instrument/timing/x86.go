package timing

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// x86Timing implements timing for x86-64.
type x86Timing struct{}

func (x86Timing) comment() string { return "#" }

func (x86Timing) effects(word string, rest []byte) effect { return effects(word, rest) }

func (x86Timing) mentioned(text []byte) regSet { return mentioned(text) }

func (x86Timing) called(in *bodyInsn, callee string) effect {
	if bytes.Contains(in.rest, []byte("@TLSCALL")) || bytes.Contains(in.rest, []byte("@tlscall")) {
		return effect{use: mentioned(in.rest), kill: regRAX}
	}
	return effect{use: mentioned(in.rest) | thunkRegister(callee), kill: regRAX | regR10 | regR11, callee: callee}
}

func (x86Timing) isReturn(in *bodyInsn) bool {
	return strings.HasPrefix(in.word, "ret") || in.word == "rep" || in.word == "repz" || in.word == "bnd"
}

func (x86Timing) isTail(t *timer, b *body, i int) (tail, known bool) {
	in := &b.insns[i]
	has := func(s string) bool { return bytes.Contains(in.comment, []byte(s)) }
	switch {
	case has("sibcall"), has("TAILCALL"):
		return true, true
	case has("tablejump"), has("indirect_jump"):
		return false, true
	case in.word == "notrack", bytes.Contains(in.rest, []byte("*.L")):
		return false, true
	}
	if t.rust {
		return b.leavesRust(i)
	}
	return false, t.clang // clang marks all jumps that leave
}

// leavesRust is isTail for the assembly of rustc, which LLVM writes without comments. LLVM loads the address of a jump
// table's target and adds it to that of the table, which ends the block, or jumps through the table by its label. All
// other jumps through memory are calls, and so are those through a register that nothing was added to.
func (b *body) leavesRust(i int) (tail, known bool) {
	in := &b.insns[i]
	register, isRegister := bytes.CutPrefix(in.rest, []byte("*%"))
	if !isRegister || bytes.ContainsAny(register, "(:") {
		return true, true
	}
	for k := i - 1; k >= 0 && b.insns[k].block == in.block && !b.insns[k].app; k-- {
		before := &b.insns[k]
		operands := before.rest
		if at := bytes.LastIndexByte(operands, '%'); at < 0 || string(operands[at+1:]) != string(register) {
			continue
		}
		switch {
		case strings.HasPrefix(before.word, "add"):
			return false, true
		case strings.HasPrefix(before.word, "mov"), strings.HasPrefix(before.word, "pop"):
			return true, true
		case strings.HasPrefix(before.word, "cmp"), strings.HasPrefix(before.word, "test"):
			continue
		}
		return false, false
	}
	for k := range b.insns {
		if bytes.Contains(b.insns[k].rest, []byte(".LJTI")) {
			return false, false
		}
	}
	return true, true
}

func (x86Timing) conditional(in *bodyInsn) (exit, bool) {
	return exit{leave: "jmp\t" + string(in.target), cond: in.word}, len(in.target) > 0 && in.target[0] != '*'
}

func (x86Timing) movesStack(in *bodyInsn) bool { return movesStack(in) }

func (x86Timing) scratch(register string) bool { return scratchRegisters[register] }

// sharesFrame is false for all: a call pushes its return address.
func (x86Timing) sharesFrame(*timer, *body) bool { return false }

// reach makes no edits: jumps reach everything, and checkShort has checked the other branches.
func (x86Timing) reach(*timer, *body) bool { return true }

func (x86Timing) rowEnd(*timer, *asm.Fragment, int) string { return "" }

func (x86Timing) row(t *timer, f *asm.Fragment, _ int) string { return t.EntryRow(t.unwound[f]) }

func (x86Timing) entry(t *timer, live regSet) string {
	if t.Opts.Exact {
		return exactEntry(live)
	}
	if t.isMachO() {
		return machOX86Entry(live, t.NewLabel())
	}
	return entryCode(live)
}

func (x86Timing) exit(t *timer, keep regSet, slow string) string {
	if t.Opts.Exact {
		return exactExit(keep, slow)
	}
	first := ""
	if t.Opts.Flight {
		first = flightEnd
	}
	if t.isMachO() {
		if t.Opts.Flight {
			first = t.machOFlightEnd(false)
		}
		return machOX86Exit(keep, first, t.NewLabel(), slow)
	}
	return exitCode(keep, first, slow)
}

func (x86Timing) slow(leave string, _ bool) string {
	return "\tcall\t" + timedSlow + "\n\t" + leave + "\n"
}

const loadFlight = loadLocal + "%r11\n"

// flightEnd records that all calls at the stack pointer or below have ended. It changes r11.
const flightEnd = loadFlight + "\tmovl\t%esp, %fs:12(%r11)\n"

func (x86Timing) flightEntry(t *timer, b *body) (id, entry, stubs string) {
	if t.isMachO() {
		return t.machOX86Flight(b)
	}
	return t.flightCode(flightStamp(b.live, spillRAX))
}

// flightCode is flightEntry with the code that flightStamp returns.
func (t *timer) flightCode(reg, stamp, restore string) (id, entry, stubs string) {
	begin, slow, left, id := t.NewLabel(), t.NewLabel(), t.NewLabel(), t.NewLabel()
	low, word := "%eax", "%ax"
	if reg == "%r10" {
		low, word = "%r10d", "%r10w"
	}
	return id, begin + ":\n" + stamp +
			loadFlight + "\tcmpl\t" + low + ", %fs:8(%r11)\n\tjne\t" + slow + "\n" +
			"\tmovl\t%esp, " + low + "\n\tsubl\t%fs:12(%r11), " + low + "\n\tshrl\t$12, " + low + "\n\tjnz\t" + left + "\n" +
			"\tleal\t-2047(%rsp), " + low + "\n\tmovl\t" + low + ", %fs:12(%r11)\n" +
			"\tmovq\t%fs:(%r11), " + reg + "\n\taddw\t$8, " + word + "\n\tjz\t" + slow + "\n\tmovq\t" + reg + ", %fs:(%r11)\n" +
			"\tleaq\t" + id + "(%rip), %r11\n\tmovl\t%r11d, -8(" + reg + ")\n\tmovl\t%esp, -4(" + reg + ")\n" + restore,
		slow + ":\n" + restore + "\tcall\t" + flightSlow + "\n\tjmp\t" + begin + "\n" +
			left + ":\n" + restore + "\tcall\t" + flightLeft + "\n\tjmp\t" + begin + "\n"
}

func (x86Timing) flightArrive() string { return flightEnd }

func spillRAX(back bool) string { return spill(regRAX, back) }

// flightStamp returns the code that stamps a call, the register that then holds the clock, and the code that
// restores that register if it was not free; keep saves rax, or restores it.
func flightStamp(live regSet, keep func(back bool) string) (reg, code, restore string) {
	switch live & (regRAX | regR10) {
	case regRAX:
		return "%r10", entryCode(regRAX), ""
	case regRAX | regR10:
		return "%rax", keep(false) + entryCode(regR10), keep(true)
	case regR10:
		return "%rax", entryCode(regR10), ""
	}
	return "%rax", entryCode(0), ""
}

func (x86Timing) record(t *timer, e traceEvent, b *body, stub *stubText) string {
	if e.kind != wire.EventEnter || !b.live.has(regR10) {
		return t.recordBy(e, "%r10", stub)
	}
	if b.live.has(regRAX) {
		e.keep = regR10
		return t.recordBy(e, "%r10", stub)
	}
	return t.recordBy(e, "%rax", stub)
}

// recordBy returns code that records an event with tmp and r11. It changes the flags.
func (t *timer) recordBy(e traceEvent, tmp string, stub *stubText) string {
	save, restore := "", ""
	if e.keep.has(regR10) {
		save += "\tmovq\t%r10, -8(%rsp)\n"
		restore += "\tmovq\t-8(%rsp), %r10\n"
	}
	if e.keep.has(regR11) {
		save += "\tmovq\t%r11, -16(%rsp)\n"
		restore += "\tmovq\t-16(%rsp), %r11\n"
	}
	event := t.event(e, tmp, stub)
	if t.Opts.Depth > 0 {
		event = t.shallow(event, e, tmp, stub)
	}
	return save + event + restore
}

// shallow returns code for an event that is recorded only in calls up to a depth: if the stack pointer is not
// below that of the deepest of them.
func (t *timer) shallow(event string, e traceEvent, tmp string, stub *stubText) string {
	routine := traceUpper
	if e.kind == wire.EventEnter {
		routine = traceDeeper
	}
	to, back := t.NewLabel(), t.NewLabel()
	stub.code = append(stub.code, to+":\n\tmovq\t%rsp, %r11\n"+stub.call(routine, e.keep)+event+"\tjmp\t"+back+"\n"...)
	if t.isMachO() {
		return loadLocal + tmp + "\n\ttestq\t" + tmp + ", " + tmp + "\n\tjz\t" + to + "\n\tcmpq\t%gs:" + strconv.Itoa(traceDeep) + "(" + tmp + "), %rsp\n\tjae\t" + to + "\n" + back + ":\n"
	}
	return loadLocal + tmp + "\n\tcmpq\t%fs:" + strconv.Itoa(traceDeep) + "(" + tmp + "), %rsp\n\tjae\t" + to + "\n" + back + ":\n"
}

// call returns the call of a routine, below the registers that are saved on the stack.
func (s *stubText) call(routine string, kept regSet) string {
	call := "\tcall\t" + routine + "\n"
	if kept == 0 {
		return call
	}
	down, up := "", ""
	if s.unwound {
		down, up = "\t.cfi_adjust_cfa_offset 16\n", "\t.cfi_adjust_cfa_offset -16\n"
	}
	return "\tleaq\t-16(%rsp), %rsp\n" + down + call + "\tleaq\t16(%rsp), %rsp\n" + up
}

// event returns the code of an event, and adds the stub for a full chunk.
func (t *timer) event(e traceEvent, tmp string, stub *stubText) string {
	low := "%e" + tmp[2:]
	if tmp == "%r10" {
		low = "%r10d"
	}
	return t.eventPlace(tmp, e.keep, stub) + "\tmovq\t" + tracer + "(%rip), " + tmp + "\n\tmovl\t(" + tmp + "), " + low + "\n\tmovl\t" + low + ", -8(%r11)\n" +
		"\tleaq\t" + e.id + "+" + string(rune('0'+e.kind)) + "(%rip), " + tmp + "\n\tmovl\t" + low + ", -4(%r11)\n"
}

// eventPlace returns code that sets r11 to the end of the place of an event, with tmp, and adds the stub for a full
// chunk.
func (t *timer) eventPlace(tmp string, kept regSet, stub *stubText) string {
	full, back := t.NewLabel(), t.NewLabel()
	if t.isMachO() {
		stub.code = append(stub.code, full+":\n"+stub.call(TraceFull, kept)+"\tjmp\t"+back+"\n"...)
		return machOX86Place(tmp, full, back)
	}
	stub.code = append(stub.code, full+":\n"+stub.call(TraceFull, kept)+"\tjmp\t"+back+"\n"...)
	return loadLocal + tmp + "\n\tmovq\t%fs:(" + tmp + "), %r11\n" +
		"\taddw\t$8, %r11w\n\tjz\t" + full + "\n" + back + ":\n\tmovq\t%r11, %fs:(" + tmp + ")\n"
}

func (x86Timing) leaveMark(t *timer, kind, _ int, stub *stubText) string {
	return t.eventPlace("%r10", 0, stub) + "\tmovl\t$0, -8(%r11)\n\tmovl\t$" + strconv.Itoa(kind) + ", -4(%r11)\n"
}

func (x86Timing) stackMark(t *timer, kind, _ int, stub *stubText) string {
	return t.eventPlace("%r10", 0, stub) + "\tmovq\t%rsp, %r10\n\tshrq\t$4, %r10\n\tmovl\t%r10d, -8(%r11)\n\tmovl\t$" +
		strconv.Itoa(kind) + ", -4(%r11)\n"
}

// tailSwitch needs no room for arguments on the stack: these functions have few.
func (m x86Timing) tailSwitch(t *timer, in *bodyInsn, record func(kind int) string, stub *stubText) string {
	if !strings.HasPrefix(in.word, "jmp") {
		return ""
	}
	down, up := "", ""
	if t.unwinding {
		down, up = "\t.cfi_adjust_cfa_offset 8\n", "\t.cfi_adjust_cfa_offset -8\n"
	}
	return "\tsubq\t$8, %rsp\n" + down + m.stackMark(t, wire.EventSuspend, in.at, stub) + t.depth(traceLeaves, in.at) + "\tcall\t" + string(bytes.TrimSpace(t.spelled(in, in.rest))) + "\n" +
		m.stackMark(t, wire.EventResume, in.at, stub) + t.depth(traceReturns, in.at) + "\taddq\t$8, %rsp\n" + up + record(wire.EventArrive) + record(wire.EventExit) + "\tret\n"
}

// treeEntry returns the code of an entry. It may change r11, the flags, and those of rax and r10 that are not
// live.
func (x86Timing) treeEntry(t *timer, live regSet, slot int, id, back string) string {
	clock := "\tmovq\t" + treeClock + ", %r10\n\tsubq\t%r10, 24(%rax)\n"
	switch {
	case t.Opts.Counts:
		clock = ""
	case t.Opts.Longest:
		clock += "\tmovq\t%r10, 160(%rax)\n"
	}
	if t.isMachO() {
		return machOX86TreeEntry(live, slot, id, back, clock)
	}
	return spill(live, false) +
		loadLocal + "%r11\n\tmovq\t%fs:(%r11), %r10\n\tmovq\t" + strconv.Itoa(64+8*slot) + "(%r10), %rax\n" +
		"\tleaq\t" + id + "(%rip), %r11\n\tcmpq\t%r11, 8(%rax)\n\tjne\t" + id + "\n" +
		back + ":\n" + loadBase + "%r10\n" + loadStack +
		"\tincq\t16(%rax)\n\tmovl\t%r11d, 48(%rax)\n\tmovq\t%rax, (%r10,%r11)\n" +
		clock + loadLocal + "%r11\n\tmovq\t%rax, %fs:(%r11)\n" + spill(live, true)
}

// treeMiss returns the code that calls the runtime to find or make a node.
func (x86Timing) treeMiss(t *timer, _ *body, live regSet, m treeStub) string {
	if t.isMachO() {
		return machOX86TreeMiss(live, m)
	}
	return "\t.long\t" + m.id + "-" + m.start + "\n\t.byte\t" + strconv.Itoa(m.flags) + "\n" + m.id + ":\n" +
		spill(live, true) + "\tcall\t" + treeEnter + "\n" + spill(live, false) + "\tmovq\t%r11, %rax\n\tjmp\t" + m.back + "\n"
}

// treeExit returns the code of an exit. It changes the flags, and r10 and r11
// unless they are in keep.
func (x86Timing) treeExit(t *timer, keep regSet) string {
	clock := "\tmovq\t" + treeClock + ", %r10\n\taddq\t%r10, 24(%r11)\n"
	switch {
	case t.Opts.Counts:
		clock = ""
	case t.Opts.Longest:
		shorter := t.NewLabel()
		clock += "\tsubq\t160(%r11), %r10\n\tcmpq\t168(%r11), %r10\n\tjbe\t" + shorter +
			"\n\tmovq\t%r10, 168(%r11)\n" + shorter + ":\n"
	}
	if t.isMachO() {
		return machOX86TreeExit(keep, t.NewLabel(), clock)
	}
	return spill(keep, false) + loadBase + "%r10\n" + loadStack + "\tmovq\t(%r10,%r11), %r11\n" +
		clock + "\tmovq\t(%r11), %r11\n" + loadLocal + "%r10\n\tmovq\t%r11, %fs:(%r10)\n" + spill(keep, true)
}

func (m x86Timing) arrive(t *timer, a arrival) string {
	from, ok := t.cfaAt(a.at)
	if !ok || a.changed {
		return ""
	}
	t.arrived = true
	code := "\tleaq\t" + strconv.Itoa(from.Off-8) + "(" + cfaRegisters[from.Reg] + "), %r11\n\tcall\t" + timedArrived + "\n"
	return m.again(t, a, code)
}

func (x86Timing) inFrame(_ *timer, routine string, _ int) string { return "\tcall\t" + routine + "\n" }

// tailCall needs no room for arguments on the stack: these functions have few.
func (x86Timing) tailCall(t *timer, in *bodyInsn) string {
	if !strings.HasPrefix(in.word, "jmp") {
		return ""
	}
	down, up := "", ""
	if t.unwinding {
		down, up = "\t.cfi_adjust_cfa_offset 8\n", "\t.cfi_adjust_cfa_offset -8\n"
	}
	leaves := ""
	if leavesStack(in) {
		leaves = "\tcall\t" + timedLeaves + "\n"
	}
	return "\tsubq\t$8, %rsp\n" + down + "\tcall\t" + timedSuspends + "\n" + leaves + "\tcall\t" + string(bytes.TrimSpace(t.spelled(in, in.rest))) + "\n\tcall\t" + timedResumes + "\n" +
		"\taddq\t$8, %rsp\n" + up
}

func (x86Timing) again(t *timer, a arrival, code string) string {
	if !a.again {
		return code
	}
	first := t.NewLabel()
	return "\ttestl\t%eax, %eax\n\tje\t" + first + "\n" + code + first + ":\n"
}

// treeArrive returns the code for an arrival in the function that id names. It changes
// r11 and the flags.
func (x86Timing) treeArrive(t *timer, a arrival, id string) string {
	to := treeBackAt
	if a.changed {
		to = treeSwitched
	}
	if from, ok := t.cfaAt(a.at); ok {
		return "\tleaq\t" + strconv.Itoa(from.Off-8) + "(" + cfaRegisters[from.Reg] + "), %r11\n\tcall\t" + to + "\n"
	}
	if a.changed {
		return "" // corrected when a function returns
	}
	return "\tleaq\t" + id + "(%rip), %r11\n\tcall\t" + treeBack + "\n"
}

func (m x86Timing) treeTail(t *timer, in *bodyInsn, id string) string {
	if !strings.HasPrefix(in.word, "jmp") {
		return ""
	}
	down, up := "", ""
	if t.unwinding {
		down, up = "\t.cfi_adjust_cfa_offset 8\n", "\t.cfi_adjust_cfa_offset -8\n"
	}
	return "\tsubq\t$8, %rsp\n" + down + "\tcall\t" + string(bytes.TrimSpace(t.spelled(in, in.rest))) + "\n\taddq\t$8, %rsp\n" + up +
		m.treeArrive(t, arrival{at: in.at, changed: true}, id) + m.treeExit(t, 0) + "\tret\n"
}

func (x86Timing) treeLeave(_ *timer, _, ends int) string {
	return "\tmovl\t$" + strconv.Itoa(ends) + ", %r11d\n\tcall\t" + treeLeave + "\n"
}
