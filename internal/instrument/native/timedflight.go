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
	f := b.frags[0]
	id, entry, stubs := t.on.flightEntry(t, b)
	t.insert(f.label, id+":\n")
	t.insert(f.probe, entry)
	at, unwound := stubPlace(t.unit.Src, f.end)
	t.insert(at, t.stubUnwind(f, at, unwound), stubs)
	if unwound {
		t.insert(at, t.on.rowEnd(t, f, at)) // stubs of exits follow, with a row of their own
	}
	for _, a := range t.arrivals(b) {
		t.insert(a.at, t.on.flightArrive())
	}
}
