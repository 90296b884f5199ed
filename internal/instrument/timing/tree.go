package timing

import "github.com/cairnprof/cairn/internal/instrument/asm"

// Problem: show which function called which how often and for how long, stack by stack, for runs that are too
// long for a record of each call.
//
// Choice: the tree of calls is built while the program runs. Each thread has its current node, in a word of
// thread-local storage. A node has twelve slots for its children; a function looks into one of them, chosen by
// a hash of its name, and nearly always finds its node there. The node goes to the frame's slot in the window,
// where the exit finds it, by the stack pointer as in mode spike:
//
//	entry:  movq  __cairn_local(%rip), %r11
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
//	        movq  __cairn_local(%rip), %r11
//	        movq  %rax, %fs:(%r11)
//
//	exit:   movq  __cairn_base(%rip), %r10
//	        movl  %esp, %r11d
//	        movq  (%r10,%r11), %r11              my node
//	        movq  -48(%r10), %r10
//	        addq  %r10, 24(%r11)
//	        movq  (%r11), %r11                   its parent
//	        movq  __cairn_local(%rip), %r10
//	        movq  %r11, %fs:(%r10)
//
//	        .long M-f
//	        .byte hash, with flags
//	M:      call  __cairn_tree_enter             which finds or makes the node
//	        movq  %r11, %rax
//	        jmp   B
//
// M is at the end of the function: its address identifies the function, and the data before it is for the
// runtime. The time of a node with an open call is negative: the clock is in the upper half of its word's range
// (tree.c). With Counts the code for the clock is left out; with Longest there is more of it.
//
// Calls that an exception or a longjmp leaves have no exit. So the current node is looked up again where one
// arrives (arrive.go).

// Symbols of the runtime of mode stacks.
const (
	treeEnter    = "__cairn_tree_enter"
	treeBack     = "__cairn_tree_back"
	treeBackAt   = "__cairn_tree_back_at"
	treeSwitched = "__cairn_tree_switched"
	treeLeave    = "__cairn_tree_leave"
)

// As in tree.h: the number of slots in a node, and the flags of a function that accompany the number of its
// slot.
const (
	treeSlots   = 12
	treeUntimed = 64
	treeLongest = 128
)

const treeClock = "-48(%r10)"

// treeBody plans the code of one body in mode stacks.
func (t *timer) treeBody(b *body) {
	start, id, back := t.NewLabel(), t.NewLabel(), t.NewLabel()
	slot := treeSlot(b.name)
	live := b.live &^ regR11 // functions with r11 live at the entry have been refused
	t.Insert(b.frags[0].Label, start+":\n")
	t.unwinding, t.place.at = t.unwinds(b.frags[0]), b.frags[0].Probe
	t.Insert(b.frags[0].Probe, t.stacking().treeEntry(t, live, slot, id, back))
	flags := slot | t.treeFlags()
	stubs := make([][]byte, len(b.frags))
	_, unwound := t.stubPlace(b.frags[0].End)
	stubs[0] = []byte(t.stacking().treeMiss(t, b, live, treeStub{start, id, back, flags, unwound}))
	for k := range b.exits {
		e := &b.exits[k]
		in := &b.insns[e.insn]
		t.unwinding, t.place.at, t.place.leave = t.unwinds(b.frags[in.frag]), in.at, e.leave
		code := ""
		if in.effect.tail && e.inPlace() && suspends(in.effect.callee) {
			code = t.stacking().treeTail(t, in, id)
		}
		code += t.stacking().treeExit(t, e.keep)
		if e.inPlace() {
			code += t.leaveCode(in)
		}
		stubs[in.frag] = append(stubs[in.frag], t.insertExit(in.at, e, code)...)
	}
	for _, a := range t.arrivals(b) {
		t.Insert(a.at, t.stacking().treeArrive(t, a, id))
	}
	for i := range b.insns {
		if in := &b.insns[i]; in.flow == asm.FlowCall {
			t.insertCall(in.at, t.leaveCode(in))
		}
	}
	for i, f := range b.frags {
		if len(stubs[i]) > 0 {
			at, unwound := t.stubPlace(f.End)
			t.Insert(at, t.stubUnwind(f, at, unwound), string(stubs[i]))
		}
	}
}

// treeFlags returns the flags of all functions.
func (t *timer) treeFlags() int {
	switch {
	case t.Opts.Counts:
		return treeUntimed
	case t.Opts.Longest:
		return treeLongest
	}
	return 0
}

// treeStub is the stub that a function jumps to if the slot does not hold its node.
type treeStub struct {
	start, id, back string // labels: of the function, of the stub, of the place to return to
	flags           int    // flags of the function in the log
	unwound         bool   // unwind directives are in force
}

// lastCalls are functions that end the program and with it the log's writer: 1, or that replace the program: 0.
var lastCalls = map[string]int{
	"_exit": 1, "_Exit": 1, "quick_exit": 1, "abort": 1,
	"execve": 0, "execv": 0, "execvp": 0, "execvpe": 0, "execl": 0, "execlp": 0, "execle": 0, "fexecve": 0, "execveat": 0,
}

// treeSlot returns the slot in which nodes of a function are looked up.
func treeSlot(name string) int {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return int((h ^ h>>16) % treeSlots)
}

// leaveCode returns the code before the call of a function that ends the process.
func (t *timer) leaveCode(in *bodyInsn) string {
	ends, ok := lastCalls[in.effect.callee]
	if !ok {
		return ""
	}
	return t.stacking().treeLeave(t, in.at, ends)
}
