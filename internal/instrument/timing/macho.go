package timing

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Mode trace on macOS and iOS. The code is that of ELF (trace.go), but for the place of the thread's position: it is in the
// slot of a key of pthread, which code reads as the system's own libraries do, from the thread's block at gs or tpidrro_el0.
// (Apple, libplatform, private/os/tsd.h; package runtime of Go does so too.) A slot is 0 in a thread that has recorded nothing,
// and there is none before the runtime has started, which it does at the first event: methods +load run before all
// constructors. So the code is
//
//	        movq  __cairn_local(%rip), %r10
//	        testq %r10, %r10
//	        jz    S
//	        movq  %gs:(%r10), %r11
//	        testq %r11, %r11
//	        jz    S
//	        addw  $8, %r11w
//	        jz    S
//	        movq  %r11, %gs:(%r10)
//	B:      ...                             the event, as in trace.go
//
//	S:      call  __cairn_trace_full        which sets r11 and the slot
//	        jmp   B
//
// With a depth, the slot behind the position is compared first, as in trace.go; there the runtime starts at the routine of the depth.
//
// There are no unwind directives for it: a function's compact unwind entry describes its body only, and unwinders go by the
// frame pointer, which this code keeps.

func (t *timer) isMachO() bool { return t.Unit.Object == asm.MachO }

// unwinds reports whether inserted code has unwind directives in f.
func (t *timer) unwinds(f *asm.Fragment) bool { return f.Unwind && !t.isMachO() }

// spelled returns text of the operands of an instruction as the source has it: names with the underscore of C.
func (t *timer) spelled(in *bodyInsn, text []byte) []byte {
	if !t.isMachO() {
		return text
	}
	line := bytes.TrimSpace(t.Unit.Src[in.at:t.lineEnd(in.at)])
	for _, comment := range []string{";", "##"} {
		line, _, _ = bytes.Cut(line, []byte(comment))
	}
	return bytes.TrimSpace(bytes.TrimPrefix(line, []byte(in.word)))
}

// machOX86Place is eventPlace for x86-64.
func machOX86Place(tmp, full, back string) string {
	return loadLocal + tmp + "\n\ttestq\t" + tmp + ", " + tmp + "\n\tjz\t" + full + "\n\tmovq\t%gs:(" + tmp + "), %r11\n\ttestq\t%r11, %r11\n\tjz\t" + full +
		"\n\taddw\t$8, %r11w\n\tjz\t" + full + "\n\tmovq\t%r11, %gs:(" + tmp + ")\n" + back + ":\n"
}

// machOAArch64Place is eventPlace for AArch64. The lowest bits of the register are not a part of the address.
func machOAArch64Place(full, back string) string {
	return "\tadrp\tx16, " + timedLocal + "\n\tldr\tx16, [x16, :lo12:" + timedLocal + "]\n\tcbz\tx16, " + full +
		"\n\tmrs\tx17, tpidrro_el0\n\tand\tx17, x17, 0xfffffffffffffff8\n\tadd\tx16, x16, x17\n\tldr\tx17, [x16]\n\tcbz\tx17, " + full +
		"\n\tadd\tx17, x17, 8\n\ttst\tx17, 0xffff\n\tb.eq\t" + full + "\n\tstr\tx17, [x16]\n" + back + ":\n"
}

// Mode stacks (tree.go) asks for a node where the slot has none, and does nothing where there is no window: before the runtime has
// started and where it cannot (macho_tree.c). Labels behind code for that are made of the others.

// noNode returns the label behind an entry for which there is no node.
func noNode(back string) string { return back + "n" }

func machOX86TreeEntry(live regSet, slot int, id, back, clock string) string {
	return spill(live, false) + loadLocal + "%r11\n\ttestq\t%r11, %r11\n\tjle\t" + id + "\n\tmovq\t%gs:(%r11), %r10\n\ttestq\t%r10, %r10\n\tjz\t" + id +
		"\n\tmovq\t" + strconv.Itoa(64+8*slot) + "(%r10), %rax\n\tleaq\t" + id + "(%rip), %r11\n\tcmpq\t%r11, 8(%rax)\n\tjne\t" + id + "\n" +
		back + ":\n" + loadBase + "%r10\n" + loadStack + "\tincq\t16(%rax)\n\tmovl\t%r11d, 48(%rax)\n\tmovq\t%rax, (%r10,%r11)\n" +
		clock + loadLocal + "%r11\n\tmovq\t%rax, %gs:(%r11)\n" + noNode(back) + ":\n" + spill(live, true)
}

func machOX86TreeMiss(live regSet, m treeStub) string {
	return "\t.long\t" + m.id + "-" + m.start + "\n\t.byte\t" + strconv.Itoa(m.flags) + "\n" + m.id + ":\n\tleaq\t" + m.id + "(%rip), %r11\n" +
		spill(live, true) + "\tcall\t" + treeEnter + "\n" + spill(live, false) +
		"\tmovq\t%r11, %rax\n\ttestq\t%rax, %rax\n\tjnz\t" + m.back + "\n\tjmp\t" + noNode(m.back) + "\n"
}

func machOX86TreeExit(keep regSet, over, clock string) string {
	return spill(keep, false) + loadBase + "%r10\n\ttestq\t%r10, %r10\n\tjz\t" + over + "\n" + loadStack + "\tmovq\t(%r10,%r11), %r11\n\ttestq\t%r11, %r11\n\tjz\t" + over + "\n" +
		clock + "\tmovq\t(%r11), %r11\n" + loadLocal + "%r10\n\tmovq\t%r11, %gs:(%r10)\n" + over + ":\n" + spill(keep, true)
}

const (
	machOAArch64Local = "\tadrp\tx16, " + timedLocal + "\n\tldr\tx16, [x16, :lo12:" + timedLocal + "]\n"
	machOAArch64Slot  = "\tand\tx17, x17, 0xfffffffffffffff8\n\tadd\tx16, x16, x17\n"
)

func machOAArch64TreeEntry(slot int, id, back, clock string) string {
	return push("x14", "x15", false) + machOAArch64Local + "\tcmp\tx16, 0\n\tb.le\t" + id + "\n\tmrs\tx17, tpidrro_el0\n" + machOAArch64Slot +
		"\tldr\tx14, [x16]\n\tcbz\tx14, " + id + "\n\tadrp\tx17, " + id + "\n\tadd\tx17, x17, :lo12:" + id + "\n" +
		"\tldr\tx15, [x14, " + strconv.Itoa(64+8*slot) + "]\n\tldr\tx14, [x15, 8]\n\tcmp\tx14, x17\n\tb.ne\t" + id + "\n\tstr\tx15, [x16]\n" + back + ":\n" + aarch64Base +
		"\tadd\tw14, wsp, 16\n\tldr\tx17, [x15, 16]\n\tadd\tx17, x17, 1\n\tstr\tx17, [x15, 16]\n\tstr\tw14, [x15, 48]\n\tstr\tx15, [x16, x14]\n" +
		clock + noNode(back) + ":\n" + pop("x14", "x15", false)
}

// machOAArch64TreeMiss needs no slot: the routine sets it.
func machOAArch64TreeMiss(m treeStub, call string) string {
	return m.id + ":\n\tadrp\tx17, " + m.id + "\n\tadd\tx17, x17, :lo12:" + m.id + "\n" + call + "\tmov\tx15, x17\n\tcbz\tx15, " + noNode(m.back) + "\n\tb\t" + m.back + "\n"
}

func machOAArch64TreeExit(pushed, over, clock string) string {
	return aarch64Base + "\tcbz\tx16, " + over + "\n\tadd\tw14, wsp, " + pushed + "\n\tldr\tx15, [x16, x14]\n\tcbz\tx15, " + over + "\n" + clock +
		"\tldr\tx15, [x15]\n" + machOAArch64Local + "\tmrs\tx17, tpidrro_el0\n" + machOAArch64Slot + "\tstr\tx15, [x16]\n" + over + ":\n"
}

// Mode spike (timed.go) does nothing without a window, either. Exceptions and longjmp are known where code of the program calls what leaves
// its frames: the runtime walks the stack in front of the call, as it does on Windows, and by frame pointers.

// machOLeaves are functions that leave calls, and the routine that is called before.
var machOLeaves = map[string]string{
	"longjmp": timedRaises, "_longjmp": timedRaises, "siglongjmp": timedRaises, "__cxa_throw": timedRaises, "__cxa_rethrow": timedRaises,
	"_Unwind_Resume": timedRaises, "objc_exception_throw": timedRaises, "pthread_exit": timedDeparts,
}

// machOSpike plans the code of one body in mode spike.
func (t *timer) machOSpike(b *body) {
	entry, ends := t.measuring().entry(t, b.live), ""
	if t.Opts.Flight {
		id, code, stubs := t.measuring().flightEntry(t, b)
		at, _ := t.stubPlace(b.frags[0].End)
		t.Insert(at, stubs)
		entry = id + ":\n" + code
	}
	t.Insert(b.frags[0].Probe, entry)
	for _, a := range t.arrivals(b) {
		if t.Opts.Flight {
			ends = t.machOFlightEnd(false)
		}
		t.spikeSwitch(a)
		t.Insert(a.at, t.measuring().arrive(t, a)+ends)
	}
	t.spikeLeaves(b)
	for i := range b.insns {
		in := &b.insns[i]
		if to := machOLeaves[in.effect.callee]; to != "" && in.flow == asm.FlowCall {
			t.Insert(in.at, strings.Replace(t.measuring().arrive(t, arrival{at: in.at}), timedArrived, to, 1))
		}
	}
	for i, f := range b.frags {
		t.fragment(b, i, f)
	}
}

func machOX86Entry(live regSet, over string) string {
	reg, code := "%r10", entryCode(live)
	if live.has(regR10) {
		reg = "%rax"
	}
	code = strings.Replace(code, loadBase+reg+"\n", loadBase+reg+"\n\ttestq\t"+reg+", "+reg+"\n\tjz\t"+over+"\n", 1)
	restore := ""
	if live.has(regR10) && live.has(regRAX) {
		restore = spill(regRAX, true)
	}
	return strings.TrimSuffix(code, restore) + over + ":\n" + restore
}

// machOX86Exit has the sign of 0 without a window: the call is not slow.
func machOX86Exit(keep regSet, first, over, slow string) string {
	return spill(keep, false) + first + loadBase + "%r10\n\ttestq\t%r10, %r10\n\tjz\t" + over + "\n" + loadStack + "\tmovl\t(%r10,%r11), %r11d\n" +
		"\tsubl\t" + clockOffset + "(%r10), %r11d\n\taddl\t" + lowOffset + "(%r10), %r11d\n" + over + ":\n" + spill(keep, true) + "\tjs\t" + slow + "\n"
}

// machOAArch64Exit is the end of an exit, whose code sets w17 below 0 for a slow call.
func (t *timer) machOAArch64Exit(keep regSet, code, slow string) string {
	over, first := t.NewLabel(), ""
	if t.Opts.Flight {
		first = t.machOFlightEnd(keep != 0)
	}
	if keep != 0 {
		return push("x16", "x17", false) + first + aarch64Base + "\tcmp\tx16, 0\n\tb.eq\t" + over + "\n" + code + "\tcmp\tw17, 0\n" + over + ":\n" + pop("x16", "x17", false) + "\tb.lt\t" + slow + "\n"
	}
	code = first + aarch64Base + "\tcbz\tx16, " + over + "\n" + code
	if t.place.far {
		return code + "\ttbz\tw17, 31, " + over + "\n\tb\t" + slow + "\n" + over + ":\n"
	}
	return code + "\ttbnz\tw17, 31, " + slow + "\n" + over + ":\n"
}

// The flight recorder (flight.go) does nothing without a window, and its place is known before there is one. What a thread has is in the
// slots of two keys. At an exit there may be no place yet, or none.

// machOFlightEnd records that all calls at the stack pointer or below have ended; if two registers are pushed on AArch64, at that before.
// It changes r11, and the flags, or x16 and x17.
func (t *timer) machOFlightEnd(pushed bool) string {
	over := t.NewLabel()
	if _, x86 := t.measuring().(x86Timing); x86 {
		return loadFlight + "\ttestq\t%r11, %r11\n\tjle\t" + over + "\n\tmovl\t%esp, %gs:12(%r11)\n" + over + ":\n"
	}
	stack := aarch64Stack
	if pushed {
		stack = "\tadd\tw17, wsp, 16\n"
	}
	return machOAArch64Local + "\tcbz\tx16, " + over + "\n\ttbnz\tx16, 63, " + over + "\n\tmrs\tx17, tpidrro_el0\n" + machOAArch64Slot + stack +
		"\tstr\tw17, [x16, 12]\n" + over + ":\n"
}

// machOX86Flight is the code of ELF with the place of Mach-O. Two registers may be the window's.
func (t *timer) machOX86Flight(b *body) (id, entry, stubs string) {
	reg, code, restore := flightStamp(b.live, spillRAX)
	over, base := t.NewLabel(), "%r10"
	if b.live.has(regR10) {
		base = "%rax"
	}
	code = strings.Replace(code, loadBase+base+"\n", loadBase+base+"\n\ttestq\t"+base+", "+base+"\n\tjz\t"+over+"\n", 1)
	id, entry, stubs = t.flightCode(reg, code, restore)
	return id, strings.ReplaceAll(strings.TrimSuffix(entry, restore), "%fs:", "%gs:") + over + ":\n" + restore, stubs
}
