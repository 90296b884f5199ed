package native

// Problem: when a call took too long, tell what was called before and within it,
// in order. Mode trace keeps an event for each entry and each exit; that costs
// twice what can be paid for every call while nothing is wrong.
//
// Choice: entries only, in a ring of each thread, in addition to the stamp. An
// event has the stack pointer, and that tells the exits: whoever is entered at a
// stack pointer ends all calls that were entered at it or below. The time is not
// in the event. Whenever the clock has moved since the thread's last event, the
// runtime is called and puts the time between the events, which is once in tens
// of thousands of calls.
//
//	A:      ...                                     the entry of mode spike: the
//	                                                clock is in eax now
//	        movq  __cairn_flight_at@gottpoff(%rip), %r11
//	        cmpl  %eax, %fs:8(%r11)                 the same as at the last event?
//	        jne   S
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
//
// F is the function's start. Chunks of events are aligned to 64 KiB: when the low
// 16 bits of the position become zero the chunk is full, and so they do at a
// thread's first event. Room is taken before it is filled, so that a signal
// handler writes behind it. One between the load of the position and its store
// loses its own events.

// Symbols of the runtime of the flight recorder.
const (
	flightSlow = "__cairn_flight_slow" // pulls in the runtime
	flightAt   = "__cairn_flight_at"   // thread-local: a position, and the clock of the last event
)

// flightEntry plans the entry of b: its stamp, and its event.
func (t *timer) flightEntry(b *body) {
	begin, slow, id := t.newLabel(), t.newLabel(), t.newLabel()
	reg, stamp, restore := flightStamp(b.live)
	low, word := "%eax", "%ax"
	if reg == "%r10" {
		low, word = "%r10d", "%r10w"
	}
	t.insert(b.frags[0].label, id+":\n")
	t.insert(b.frags[0].probe, begin+":\n"+stamp+
		"\tmovq\t"+flightAt+"@gottpoff(%rip), %r11\n\tcmpl\t"+low+", %fs:8(%r11)\n\tjne\t"+slow+"\n"+
		"\tmovq\t%fs:(%r11), "+reg+"\n\taddw\t$8, "+word+"\n\tjz\t"+slow+"\n\tmovq\t"+reg+", %fs:(%r11)\n"+
		"\tleaq\t"+id+"(%rip), %r11\n\tmovl\t%r11d, -8("+reg+")\n\tmovl\t%esp, -4("+reg+")\n"+restore)
	at, unwound := stubPlace(t.unit.Src, b.frags[0].end)
	t.insert(at, t.stubUnwind(b.frags[0], unwound), slow+":\n"+restore+"\tcall\t"+flightSlow+"\n\tjmp\t"+begin+"\n")
}

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
