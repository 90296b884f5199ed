package native

// Problem: when a call took too long, tell what was called before and within it,
// in order. Mode trace keeps an event for each entry and each exit; that costs
// twice what can be paid for every call while nothing is wrong.
//
// Choice: entries, in a ring of each thread, in addition to the stamp. An event has
// the stack pointer, and that tells most exits: whoever is entered at a stack pointer
// ends all calls that were entered at it or below. Not those that were entered above:
// a function without probes, or with arguments on the stack, calls from further down
// than the call before it was made. So each exit leaves its stack pointer beside the
// thread's position, and an entry that does not imply that exit has it recorded: one in
// many. The time is not in the event. Whenever the clock has moved since the thread's
// last event, the runtime is called and puts the time between the events, which is once
// in tens of thousands of calls.
//
//	A:      ...                                     the entry of mode spike: the
//	                                                clock is in eax now
//	        movq  __cairn_flight_at@gottpoff(%rip), %r11
//	        cmpl  %eax, %fs:8(%r11)                 the same as at the last event?
//	        jne   S
//	        movl  %esp, %eax                        is what has ended within a page below?
//	        subl  %fs:12(%r11), %eax
//	        shrl  $12, %eax
//	        jnz   L
//	        leal  -2047(%rsp), %eax                 nothing has ended since
//	        movl  %eax, %fs:12(%r11)
//	        movq  %fs:(%r11), %rax                  behind the last event
//	        addw  $8, %ax
//	        jz    S
//	        movq  %rax, %fs:(%r11)
//	        leaq  F(%rip), %r11
//	        movl  %r11d, -8(%rax)
//	        movl  %esp, -4(%rax)
//
//	S:      call  __cairn_flight_slow               which keeps every register
//	        jmp   A
//	L:      call  __cairn_flight_left               as well
//	        jmp   A
//
//	exit:   movq  __cairn_flight_at@gottpoff(%rip), %r11
//	        movl  %esp, %fs:12(%r11)
//	        ...                                     the exit of mode spike
//
// The word at 12 is the stack pointer of the last exit. Behind an entry it is an odd
// number, so far below that what this one calls passes the test, and has nothing
// recorded if it does not. Where control arrives without an exit, at landing pads
// and behind calls that return twice or change the stack, all calls below have ended,
// and the word is set as by an exit.
//
// F is the function's start. Chunks of events are aligned to 64 KiB: when the low
// 16 bits of the position become zero the chunk is full, and so they do at a
// thread's first event. Room is taken before it is filled, so that a signal
// handler writes behind it. One between the load of the position and its store
// loses its own events.

// Symbols of the runtime of the flight recorder.
const (
	flightSlow = "__cairn_flight_slow" // pulls in the runtime
	flightLeft = "__cairn_flight_left" // records the last exit
	flightAt   = "__cairn_flight_at"   // thread-local: a position, the clock of the last event, the last exit
)

// flightEntry plans the entry of b: its stamp, and its event.
func (t *timer) flightEntry(b *body) {
	begin, slow, left, id := t.newLabel(), t.newLabel(), t.newLabel(), t.newLabel()
	reg, stamp, restore := flightStamp(b.live)
	low, word := "%eax", "%ax"
	if reg == "%r10" {
		low, word = "%r10d", "%r10w"
	}
	t.insert(b.frags[0].label, id+":\n")
	t.insert(b.frags[0].probe, begin+":\n"+stamp+
		loadFlight+"\tcmpl\t"+low+", %fs:8(%r11)\n\tjne\t"+slow+"\n"+
		"\tmovl\t%esp, "+low+"\n\tsubl\t%fs:12(%r11), "+low+"\n\tshrl\t$12, "+low+"\n\tjnz\t"+left+"\n"+
		"\tleal\t-2047(%rsp), "+low+"\n\tmovl\t"+low+", %fs:12(%r11)\n"+
		"\tmovq\t%fs:(%r11), "+reg+"\n\taddw\t$8, "+word+"\n\tjz\t"+slow+"\n\tmovq\t"+reg+", %fs:(%r11)\n"+
		"\tleaq\t"+id+"(%rip), %r11\n\tmovl\t%r11d, -8("+reg+")\n\tmovl\t%esp, -4("+reg+")\n"+restore)
	at, unwound := stubPlace(t.unit.Src, b.frags[0].end)
	t.insert(at, t.stubUnwind(b.frags[0], unwound),
		slow+":\n"+restore+"\tcall\t"+flightSlow+"\n\tjmp\t"+begin+"\n"+
			left+":\n"+restore+"\tcall\t"+flightLeft+"\n\tjmp\t"+begin+"\n")
	for _, a := range t.arrivals(b) {
		t.insert(a.at, flightEnd)
	}
}

const loadFlight = "\tmovq\t" + flightAt + "@gottpoff(%rip), %r11\n"

// flightEnd says that all calls at the stack pointer or below have ended. It changes r11.
const flightEnd = loadFlight + "\tmovl\t%esp, %fs:12(%r11)\n"

// flightStamp returns the code that stamps a call, the register that has the clock
// then, and what gives that register back if it was not free.
func flightStamp(live regSet) (reg, code, restore string) {
	switch live & (regRAX | regR10) {
	case regRAX:
		return "%r10", entryCode(regRAX), ""
	case regRAX | regR10:
		return "%rax", spill(regRAX, false) + entryCode(regR10), spill(regRAX, true)
	case regR10:
		return "%rax", entryCode(regR10), ""
	}
	return "%rax", entryCode(0), ""
}
