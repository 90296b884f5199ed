package timing

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/prof"
)

// Problem: Windows finds callers by tables that describe the prologue of a function, and by the instructions of its
// epilogue, which it decodes. Code between the pop instructions and ret is neither, and unwinders that stop there find a
// wrong caller. And there is no red zone: what is below the stack pointer may be overwritten at any time.
//
// Choice: an exit is checked in front of its epilogue, where the whole frame is in place. The instructions of the epilogue
// say how far away the stack pointer of the entry is, and the directives of the prologue must agree. The stub is inside the
// function, with the same frame, and jumps back:
//
//	        movq  __cairn_base(%rip), %r10
//	        leal  F(%rsp), %r11d         F: size of the frame
//	        movl  (%r10,%r11), %r11d
//	        subl  -64(%r10), %r11d
//	        addl  -60(%r10), %r11d
//	        js    S
//	B:      addq  ...                    the epilogue
//
//	S:      leaq  F(%rsp), %r11
//	        call  __cairn_slow
//	        jmp   B
//
// Registers are saved in the four words above the return address, which callers reserve for the function (Microsoft, x64
// calling convention): at the entry nothing is there yet, and at an exit nothing is needed any more.

// Reasons to leave a body alone on Windows.
const (
	RefuseEpilogue = "an exit without the epilogue that its frame needs"
	RefuseNoTable  = "it has no unwind table, and more than a leaf's code"
)

// coffTiming implements timing for x86-64 Windows.
type coffTiming struct{ x86Timing }

// A frame says where the stack pointer of the entry is in the body of a function: off above a register.
type frame struct {
	start, end int // offsets of its directives
	body       int // offset behind the prologue
	reg        string
	off        int
	size       int // of the frame below the return address, but for alloca
}

// scanFrames finds the frames in the unwind directives.
func (t *timer) scanFrames() {
	var cur *frame
	pos := 0
	for line := range bytes.Lines(t.Unit.Src) {
		start := pos
		pos += len(line)
		s := asm.ParseLine(bytes.TrimRight(line, "\r\n"))
		if s.Kind != asm.LineDirective || !bytes.HasPrefix(s.Word, []byte(".seh_")) {
			continue
		}
		if string(s.Word) == ".seh_proc" {
			t.frames = append(t.frames, frame{start: start, end: len(t.Unit.Src), reg: "%rsp"})
			cur = &t.frames[len(t.frames)-1]
			continue
		}
		if cur == nil {
			continue
		}
		ops := asm.SplitOperands(s.Rest)
		switch string(s.Word) {
		case ".seh_pushreg":
			cur.size += 8
		case ".seh_stackalloc":
			n, _ := strconv.Atoi(string(asm.Operand(s.Rest)))
			cur.size += n
		case ".seh_setframe":
			if len(ops) == 2 {
				n, _ := strconv.Atoi(string(bytes.TrimSpace(ops[1])))
				cur.reg, cur.off = string(bytes.TrimSpace(ops[0])), cur.size-n
			}
		case ".seh_endprologue":
			cur.body = pos
		case ".seh_endproc":
			cur.end = start
			if cur.reg == "%rsp" {
				cur.off = cur.size
			}
			cur = nil
		}
	}
}

// frameAt returns the frame of the code at an offset, nil if there is no unwind table.
func (t *timer) frameAt(at int) *frame {
	for i := range t.frames {
		if f := &t.frames[i]; at >= f.start && at < f.end {
			return f
		}
	}
	return nil
}

// above returns the address that is n above the stack pointer of the entry.
func (f *frame) above(n int) string {
	if f.off+n == 0 {
		return "(" + f.reg + ")"
	}
	return strconv.Itoa(f.off+n) + "(" + f.reg + ")"
}

// nameLocals gives functions whose names assemblers drop others that remain: see wire.LocalCOFF.
func (t *timer) nameLocals() {
	for _, fn := range t.Unit.Funcs {
		for _, f := range fn.Frags {
			if strings.HasPrefix(f.Name, "L") && !t.global[f.Name] && !strings.ContainsAny(f.Name, "\" ") {
				name := wire.LocalCOFF + f.Name
				t.Insert(f.Label, "\t.def\t"+name+"; .scl 3; .type 32; .endef\n"+name+":\n")
			}
		}
	}
}

// scanScopes finds the labels of blocks of __except. Each entry of a function's table of scopes has its bounds, the filter, and the
// block, which is 0 for __finally.
func (t *timer) scanScopes() {
	in, column := false, 0
	for line := range bytes.Lines(t.Unit.Src) {
		s := asm.ParseLine(bytes.TrimRight(line, "\r\n"))
		switch {
		case s.Kind == asm.LineLabel:
			in, column = bytes.HasPrefix(s.Word, []byte(".Llsda_begin")), 0
		case in && s.Kind == asm.LineDirective && string(s.Word) == ".long":
			if name, ok := bytes.CutSuffix(asm.Operand(s.Rest), []byte("@IMGREL")); ok && column == 3 {
				t.pads[string(name)] = true
			}
			column = (column + 1) % 4
		}
	}
}

// A departure is a place from which a body is left.
type departure struct {
	at    int // offset of the epilogue
	frame *frame
}

// leaf is the frame of a function without one.
var leaf = frame{reg: "%rsp"}

// planEpilogues finds where the exits of b are checked, or refuses it.
func (t *timer) planEpilogues(b *body) {
	b.leaves = make([]departure, len(b.exits))
	for i := range b.exits {
		e := &b.exits[i]
		f := t.frameAt(b.insns[e.insn].at)
		if f == nil {
			if !b.isLeaf() || e.keep != 0 {
				b.refuse(RefuseNoTable) // its caller may reserve nothing
			}
			b.leaves[i] = departure{b.insns[e.insn].at, &leaf}
			continue
		}
		first, size := t.epilogue(b, e.insn, f)
		if size != f.size || e.cond != "" && size != 0 || strings.Contains(e.leave, "(%rsp") {
			b.refuse(RefuseEpilogue)
		}
		b.leaves[i] = departure{t.beforeDirective(b.insns[first].at), f}
	}
	if t.frameAt(b.insns[0].at) == nil && b.live.has(regRAX|regR10) && !b.isLeaf() {
		b.refuse(RefuseNoTable)
	}
}

// isLeaf reports whether b neither calls nor changes the stack pointer.
func (b *body) isLeaf() bool {
	return !slices.ContainsFunc(b.insns, func(in bodyInsn) bool {
		return in.flow == asm.FlowCall || strings.HasPrefix(in.word, "push") || strings.HasPrefix(in.word, "pop") || bytes.HasSuffix(in.rest, []byte("%rsp"))
	})
}

// epilogue returns the first instruction of the epilogue that ends with an exit, and by how much it moves the stack
// pointer: by more than any frame if that is not known.
func (t *timer) epilogue(b *body, last int, f *frame) (first, size int) {
	const unknown = 1 << 30
	exit := &b.insns[last]
	for first = last; first > 0; first-- {
		in := &b.insns[first-1]
		if in.block != exit.block || in.frag != exit.frag || in.app {
			return first, size
		}
		ops := asm.SplitInsnOperands(in.rest)
		switch {
		case strings.HasPrefix(in.word, "pop") && len(ops) == 1:
			size += 8
		case len(ops) == 2 && string(ops[1]) == "%rsp" && ops[0][0] == '$':
			n, ok := addsToStack(in.word, string(ops[0][1:]))
			if !ok {
				return first, unknown
			}
			return first - 1, size + n
		case strings.HasPrefix(in.word, "lea") && len(ops) == 2 && string(ops[1]) == "%rsp", strings.HasPrefix(in.word, "mov") && len(ops) == 2 && string(ops[1]) == "%rsp":
			n, ok := frameOffset(ops[0], f.reg)
			if !ok || f.reg == "%rsp" || n+size != f.off {
				return first, unknown
			}
			return first - 1, f.size
		default:
			return first, size
		}
	}
	return first, size
}

// addsToStack returns what an instruction adds to the stack pointer. The shortest way to add 128 is to subtract -128.
func addsToStack(word, operand string) (int, bool) {
	n, err := strconv.Atoi(operand)
	if strings.HasPrefix(word, "sub") {
		n = -n
	}
	return n, err == nil && n > 0 && (strings.HasPrefix(word, "sub") || strings.HasPrefix(word, "add"))
}

// frameOffset returns N of N(REG), or 0 for REG.
func frameOffset(operand []byte, reg string) (int, bool) {
	number, ok := strings.CutSuffix(string(operand), "("+reg+")")
	if string(operand) == reg || ok && number == "" {
		return 0, true
	}
	n, err := strconv.Atoi(number)
	return n, ok && err == nil
}

// beforeDirective returns the offset of the directive that marks the epilogue at an offset, if clang wrote one.
func (t *timer) beforeDirective(at int) int {
	line := t.Unit.Src[:at]
	i := bytes.LastIndexByte(bytes.TrimSuffix(line, []byte("\n")), '\n') + 1
	if string(bytes.TrimSpace(line[i:])) == ".seh_startepilogue" {
		return i
	}
	return at
}

// homes are the words that the caller reserves, by what is saved there.
var homes = []struct {
	set regSet
	reg string
	at  int
}{{regRAX, "%rax", 8}, {regR10, "%r10", 16}, {regR11, "%r11", 24}}

// keepHome saves the registers of a set in the words that the caller reserves, or restores them.
func (f *frame) keepHome(set regSet, back bool) (out string) {
	for _, h := range homes {
		switch {
		case !set.has(h.set):
		case back:
			out += "\tmovq\t" + f.above(h.at) + ", " + h.reg + "\n"
		default:
			out += "\tmovq\t" + h.reg + ", " + f.above(h.at) + "\n"
		}
	}
	return out
}

func (coffTiming) entry(_ *timer, live regSet) string {
	if live&(regRAX|regR10) == regRAX|regR10 {
		return leaf.keepHome(regRAX, false) + stampBy("%rax", "%eax") + leaf.keepHome(regRAX, true)
	}
	return entryCode(live)
}

func (coffTiming) flightEntry(t *timer, b *body) (id, entry, stubs string) {
	id, entry, stubs = t.flightCode(flightStamp(b.live, func(back bool) string { return leaf.keepHome(regRAX, back) }))
	return id, ofThread(entry), stubs
}

// coffFlightEnd is flightEnd for the stack pointer that is n above that of the entry. It changes r10 and r11.
func (f *frame) coffFlightEnd(n int) string {
	return loadLocal + "%r10\n\tleal\t" + f.above(n) + ", %r11d\n\tmovl\t%r11d, %gs:12(%r10)\n"
}

// coffEntry plans the entry of b in mode spike.
func (t *timer) coffEntry(b *body) {
	entry := t.measuring().entry(t, b.live)
	if t.Opts.Flight {
		id, code, stubs := t.measuring().flightEntry(t, b)
		entry = code
		t.Insert(b.frags[0].Label, id+":\n")
		t.Insert(t.outside(b), stubs)
	}
	t.Insert(b.frags[0].Probe, entry)
}

// coffBody plans the code of one body for Windows.
func (t *timer) coffBody(b *body) {
	switch t.Opts.Mode {
	case prof.ModeStacks:
		t.coffTree(b)
		return
	case prof.ModeTrace:
		t.coffTrace(b)
		return
	}
	t.coffEntry(b)
	for _, a := range t.arrivals(b) {
		f := t.frameAt(a.at)
		if f == nil || a.changed || a.away {
			continue
		}
		code := "\tleaq\t" + f.above(0) + ", %r11\n\tcall\t" + timedArrived + "\n"
		if t.Opts.Flight {
			code += ofThread(flightEnd)
		}
		t.Insert(a.at, t.on.again(t, a, code))
	}
	t.beforeCalls(b)
	for i := range b.frags {
		t.coffFragment(b, i)
	}
}

// beforeCalls inserts the code in front of calls that leave frames, or the process.
func (t *timer) beforeCalls(b *body) {
	for i := range b.insns {
		in := &b.insns[i]
		switch {
		case in.flow != asm.FlowCall:
		case t.Opts.Mode == prof.ModeStacks:
			t.Insert(in.at, t.coffLast(b, i))
		case t.Opts.Mode == prof.ModeSpike:
			if to := leavesFrames[t.imported(b, i)]; to != "" && t.frameAt(in.at) != nil {
				t.Insert(in.at, "\tcall\t"+to+"\n")
			}
		}
	}
}

// timedRaises is a routine of the runtime: what is called next leaves calls, up to the one that control arrives in.
const timedRaises = "__cairn_raises"

// leavesFrames are functions that leave calls without an exception of Windows, and the routine that is called before.
var leavesFrames = map[string]string{
	"longjmp": timedRaises, "_longjmp": timedRaises, "_Unwind_Resume": timedRaises,
	"pthread_exit": timedDeparts, "thrd_exit": timedDeparts, "ExitThread": timedDeparts, "_endthread": timedDeparts,
	"_endthreadex": timedDeparts, "FreeLibraryAndExitThread": timedDeparts,
}

// imported returns what instruction i calls, "" if that is not known. Without optimisation the address of a function of a DLL
// is loaded into a register before.
func (t *timer) imported(b *body, i int) string {
	in := &b.insns[i]
	if in.effect.callee != "" {
		return in.effect.callee
	}
	if from := b.loaded(i); from != nil {
		return t.Unit.Machine.Callee(append([]byte("*"), from...))
	}
	return ""
}

// loaded returns the operand that the instruction before instruction i loads into the register by which that calls, or nil.
func (b *body) loaded(i int) []byte {
	if i == 0 || b.insns[i-1].block != b.insns[i].block || !strings.HasPrefix(b.insns[i-1].word, "mov") {
		return nil
	}
	ops := asm.SplitInsnOperands(b.insns[i-1].rest)
	if len(ops) != 2 || "*"+string(ops[1]) != string(b.insns[i].target) {
		return nil
	}
	return ops[0]
}

// coffFragment plans the exits of fragment i of b, and the stubs after its end.
func (t *timer) coffFragment(b *body, i int) {
	var stubs []byte
	for k := range b.exits {
		e, d := &b.exits[k], b.leaves[k]
		if b.insns[e.insn].frag != i {
			continue
		}
		slow, back := t.NewLabel(), t.NewLabel()
		at := "\tleal\t" + d.frame.above(0) + ", %r11d\n"
		if at = loadBase + "%r10\n" + at; t.Opts.Flight {
			at = d.frame.coffFlightEnd(0) + loadBase + "%r10\n"
		}
		code := d.frame.keepHome(e.keep, false) + at + "\tmovl\t(%r10,%r11), %r11d\n" +
			"\tsubl\t" + clockOffset + "(%r10), %r11d\n\taddl\t" + lowOffset + "(%r10), %r11d\n\tjs\t" + slow + "\n" + back + ":\n" + d.frame.keepHome(e.keep, true)
		stubs = append(stubs, t.insertExit(d.at, e, code)...)
		stubs = append(stubs, slow+":\n\tleaq\t"+d.frame.above(0)+", %r11\n\tcall\t"+timedSlow+"\n\tjmp\t"+back+"\n"...)
	}
	if len(stubs) == 0 {
		return
	}
	at, _ := t.stubPlace(b.frags[i].End)
	t.Insert(at, string(stubs))
}

// appendCOFFNeed appends what makes a link without a runtime name what is missing.
func appendCOFFNeed(out []byte) []byte {
	return append(out, "\t.section\t.rdata,\"dr\"\n\t.balign\t4\n\t.rva\t"+RuntimeSymbol+"\n"...)
}
