package native

import (
	"bytes"
	"strconv"
	"strings"
)

// Problem: tell who called whom how often and for how long, stack by stack, of
// runs that are too long for a record of each call.
//
// Choice: the tree of calls is built while the program runs. Each thread has its
// current node, in a word of thread-local storage. A node has eight slots for its
// children; a function looks into one of them, by a hash of its name, and is
// there nearly always. The node goes to the frame's slot in the window, where the
// exit finds it, by the stack pointer as in mode spike:
//
//	entry:  movq  __cairn_node@gottpoff(%rip), %r11
//	        movq  %fs:(%r11), %r10               the caller's node
//	        movq  64+8*hash(%r10), %rax          mine?
//	        leaq  M(%rip), %r11
//	        cmpq  %r11, 8(%rax)
//	        jne   M
//	B:      movq  __cairn_base(%rip), %r10
//	        movl  %esp, %r11d
//	        incq  16(%rax)                       calls
//	        movl  %r11d, 48(%rax)
//	        movq  %rax, (%r10,%r11)
//	        movq  -48(%r10), %r10                the clock
//	        subq  %r10, 24(%rax)                 time
//	        movq  __cairn_node@gottpoff(%rip), %r11
//	        movq  %rax, %fs:(%r11)
//
//	exit:   movq  __cairn_base(%rip), %r10
//	        movl  %esp, %r11d
//	        movq  (%r10,%r11), %r11              my node
//	        movq  -48(%r10), %r10
//	        addq  %r10, 24(%r11)
//	        movq  (%r11), %r11                   its parent
//	        movq  __cairn_node@gottpoff(%rip), %r10
//	        movq  %r11, %fs:(%r10)
//
//	        .long M-f
//	        .byte hash
//	M:      call  __cairn_tree_enter             which finds or makes the node
//	        movq  %r11, %rax
//	        jmp   B
//
// M stands at the end of the function: its address is what tells functions apart,
// and what stands before it is for the runtime. The time of a node that is being run is negative: the
// clock is in the upper half of its word's range (tree.c).
//
// What an exception or a longjmp leaves has no exit. So where one arrives, at a
// landing pad or behind a call that returns twice, the current node is looked for
// again, by the stack pointers in the nodes.

// Symbols of the runtime of mode stacks.
const (
	treeNode  = "__cairn_node" // thread-local
	treeEnter = "__cairn_tree_enter"
	treeBack  = "__cairn_tree_back"
)

// treeSlots is how many children a node finds at once: as tree.h has it.
const treeSlots = 8

const (
	loadNode  = "\tmovq\t" + treeNode + "@gottpoff(%rip), "
	treeClock = "-48(%r10)"
)

// returnsTwice are functions that a longjmp or the end of a vfork returns from
// once more.
var returnsTwice = map[string]bool{
	"setjmp": true, "_setjmp": true, "sigsetjmp": true, "__sigsetjmp": true,
	"vfork": true, "getcontext": true, "savectx": true,
}

// treeBody plans the code of one body in mode stacks.
func (t *timer) treeBody(b *body) {
	start, id, back := t.newLabel(), t.newLabel(), t.newLabel()
	slot := treeSlot(b.name)
	t.insert(b.frags[0].label, start+":\n")
	t.insert(b.frags[0].probe, treeEntry(b.live, slot, id, back))
	stubs := make([][]byte, len(b.frags))
	stubs[0] = []byte("\t.long\t" + id + "-" + start + "\n\t.byte\t" + strconv.Itoa(slot) + "\n" + id + ":\n" + treeMiss(b.live) + "\tjmp\t" + back + "\n")
	for k := range b.exits {
		e := &b.exits[k]
		in := &b.insns[e.insn]
		code := treeExit(e.keep)
		if e.cond == "" {
			t.insert(in.at, code)
			continue
		}
		side := t.newLabel()
		t.insert(in.at, "\t"+e.cond+"\t"+side+"\n")
		stubs[in.frag] = append(stubs[in.frag], side+":\n"+code+"\t"+e.leave+"\n"...)
	}
	again := "\tleaq\t" + id + "(%rip), %r11\n\tcall\t" + treeBack + "\n"
	for _, at := range t.arrivals(b) {
		t.insert(at, again)
	}
	for i, f := range b.frags {
		if len(stubs[i]) > 0 {
			at, unwound := stubPlace(t.unit.Src, f.end)
			t.insert(at, t.stubUnwind(f, unwound), string(stubs[i]))
		}
	}
}

// treeSlot is the slot of a node that a function is looked for in.
func treeSlot(name string) int {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return int((h ^ h>>16) % treeSlots)
}

// treeEntry returns the code of an entry. It may change r11, the flags, and of
// rax and r10 what is not live.
func treeEntry(live regSet, slot int, id, back string) string {
	return spill(live, false) +
		loadNode + "%r11\n\tmovq\t%fs:(%r11), %r10\n\tmovq\t" + strconv.Itoa(64+8*slot) + "(%r10), %rax\n" +
		"\tleaq\t" + id + "(%rip), %r11\n\tcmpq\t%r11, 8(%rax)\n\tjne\t" + id + "\n" +
		back + ":\n" + loadBase + "%r10\n" + loadStack +
		"\tincq\t16(%rax)\n\tmovl\t%r11d, 48(%rax)\n\tmovq\t%rax, (%r10,%r11)\n" +
		"\tmovq\t" + treeClock + ", %r10\n\tsubq\t%r10, 24(%rax)\n" +
		loadNode + "%r11\n\tmovq\t%rax, %fs:(%r11)\n" + spill(live, true)
}

// treeMiss returns the code that has a node found or made.
func treeMiss(live regSet) string {
	return spill(live, true) + "\tcall\t" + treeEnter + "\n" + spill(live, false) + "\tmovq\t%r11, %rax\n"
}

// treeExit returns the code of an exit. It changes the flags, and r10 and r11
// unless they are in keep.
func treeExit(keep regSet) string {
	return spill(keep, false) + loadBase + "%r10\n" + loadStack + "\tmovq\t(%r10,%r11), %r11\n" +
		"\tmovq\t" + treeClock + ", %r10\n\taddq\t%r10, 24(%r11)\n\tmovq\t(%r11), %r11\n" +
		loadNode + "%r10\n\tmovq\t%r11, %fs:(%r10)\n" + spill(keep, true)
}

// arrivals returns the offsets in b where control may come from calls that did
// not return: landing pads, and behind calls that return twice.
func (t *timer) arrivals(b *body) (out []int) {
	pads := map[int]bool{} // blocks
	n := 0
	for _, f := range b.frags {
		for _, l := range f.labels {
			if t.pads[string(l.name)] && l.block < len(f.blocks) {
				pads[n+l.block] = true
			}
		}
		n += len(f.blocks)
	}
	for i := range b.insns {
		in := &b.insns[i]
		if pads[in.block] && in.word != "endbr64" {
			delete(pads, in.block)
			out = append(out, in.at)
		}
		if in.flow == flowCall && returnsTwice[in.effect.callee] {
			out = append(out, t.lineEnd(in.at))
		}
	}
	return out
}

// lineEnd returns the offset behind the line at an offset.
func (t *timer) lineEnd(at int) int {
	if i := bytes.IndexByte(t.unit.Src[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(t.unit.Src)
}

// scanPads finds the labels of landing pads: each entry of a table of call sites
// is start, length, landing pad and action, between two labels whose difference
// is the table's length.
func (t *timer) scanPads() {
	t.pads = map[string]bool{}
	var end, begin string     // of the table to come
	in, plain := false, false // plain: the byte before was the encoding of such a table
	column := 0
	beside := map[string]string{} // a label of clang's that marks a place -> the block's
	last := ""                    // label of a block, nothing behind it yet
	for line := range bytes.Lines(t.unit.Src) {
		s := parseLine(bytes.TrimRight(line, "\r\n"))
		switch {
		case s.kind == lineLabel:
			name := string(s.word)
			switch {
			case name == begin && begin != "":
				in, column = true, 0
			case name == end:
				in, end, begin = false, "", ""
			case strings.HasPrefix(name, ".Ltmp") && last != "":
				beside[name] = last
			case isLeader(s.word):
				last = name
			}
		case s.kind == lineInsn:
			last = ""
		case s.kind != lineDirective || !emitsBytes(s.word):
		case !in:
			if a, b, ok := bytes.Cut(operand(s.rest), []byte("-")); ok && plain && string(s.word) == ".uleb128" {
				end, begin = string(a), string(b)
			}
			value := string(operand(s.rest))
			plain = string(s.word) == ".byte" && (value == "1" || value == "0x1")
		default:
			if a, _, ok := bytes.Cut(operand(s.rest), []byte("-")); ok && column == 2 {
				t.pads[string(a)] = true
			}
			column = (column + 1) % 4
		}
	}
	for name, block := range beside {
		if t.pads[name] {
			t.pads[block] = true
		}
	}
}
