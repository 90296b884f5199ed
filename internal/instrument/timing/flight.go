package timing

// Problem: when a call took too long, show what was called before and within it, in order. Mode trace keeps an
// event for each entry and each exit; that costs twice as much as is acceptable for every call while nothing is
// wrong.
//
// Choice: entries, in a ring of each thread, in addition to the stamp. An event has the stack pointer, which
// implies most exits: an entry at a stack pointer implies that all calls entered at it or below have ended. It
// does not imply that for calls entered above: a function without probes, or with arguments on the stack, makes
// its calls from a lower stack pointer than that of the call before. So each exit stores its stack pointer
// beside the thread's position, and an entry that does not imply that exit records it: one in many. The time is
// not in the event. Whenever the clock has advanced since the thread's last event, the runtime is called and
// puts the time between the events, once in tens of thousands of calls.
//
//	A:      ...                                     the entry of mode spike: the
//	                                                clock is in eax now
//	        movq  __cairn_local(%rip), %r11
//	        cmpl  %eax, %fs:8(%r11)                 the same as at the last event?
//	        jne   S
//	        movl  %esp, %eax                        is what has ended within a page below?
//	        subl  %fs:12(%r11), %eax
//	        shrl  $12, %eax
//	        jnz   L
//	        leal  -2047(%rsp), %eax                 nothing has ended since
//	        movl  %eax, %fs:12(%r11)
//	        movq  %fs:(%r11), %rax                  after the last event
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
//	exit:   movq  __cairn_local(%rip), %r11
//	        movl  %esp, %fs:12(%r11)
//	        ...                                     the exit of mode spike
//
// The word at 12 is the stack pointer of the last exit. After an entry it is an odd number, so far below that
// callees pass the test, and those that do not record nothing. Where control arrives without an exit, at
// landing pads and after calls that return twice or switch stacks, all calls below have ended, and the word is
// set as by an exit.
//
// F is the function's start. Chunks of events are aligned to 64 KiB: when the low 16 bits of the position
// become zero the chunk is full; they also do at a thread's first event. The position is advanced before the
// event is stored, so that a signal handler writes after it. A handler between the load of the position and its
// store loses its own events.

// Symbols of the runtime of the flight recorder. What a thread has begins with its position, the clock of its last
// event and its last exit.
const (
	flightSlow = "__cairn_flight_slow" // pulls in the runtime
	flightLeft = "__cairn_flight_left" // records the last exit
)

// flightEntry plans the entry of b: its stamp, and its event.
func (t *timer) flightEntry(b *body) {
	f := b.frags[0]
	id, entry, stubs := t.measuring().flightEntry(t, b)
	t.Insert(f.Label, id+":\n")
	t.Insert(f.Probe, entry)
	at, unwound := t.stubPlace(f.End)
	t.Insert(at, t.stubUnwind(f, at, unwound), stubs)
	if unwound {
		t.Insert(at, t.measuring().rowEnd(t, f, at)) // stubs of exits follow, with a row of their own
	}
	for _, a := range t.arrivals(b) {
		t.Insert(a.at, t.measuring().flightArrive())
	}
}
