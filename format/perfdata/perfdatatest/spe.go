package perfdatatest

// Operation is a sampled operation, as the Statistical Profiling Extension records it.
type Operation struct {
	Class    byte // 2 for branches
	Kind     byte // the payload of the packet with the class
	Events   uint16
	Address  uint64
	Target   uint64 // of a branch
	Previous uint64 // the target of the branch before, not written if 0
	Context  uint32 // the thread, not written if 0
	Time     uint64 // of the timer, not written if 0
}

// Events of an Operation.
const (
	Retired      = 1 << 1
	NotTaken     = 1 << 6
	Mispredicted = 1 << 7
)

// Append adds the record of an operation, in packets as the architecture describes them. Unprivileged code
// of the non-secure state has these bits in the highest byte of an address: 1 for the state, 00 for the level.
func (o Operation) Append(b []byte) []byte {
	const address, user = 0xb0, 0x80
	word := func(head byte, v uint64, size int) {
		b = append(b, head)
		for range size {
			b = append(b, byte(v))
			v >>= 8
		}
	}
	code := func(index byte, v uint64) { word(address|index, v&(1<<56-1)|user<<56, 8) }
	code(0, o.Address)
	word(0x99, 7, 2) // cycles until it was issued
	word(0x98, 12, 2)
	if o.Context != 0 {
		word(0x64, uint64(o.Context), 4)
	}
	word(0x52, uint64(o.Events), 2)
	word(0x48|o.Class, uint64(o.Kind), 1)
	if o.Class == 2 {
		code(1, o.Target)
	} else {
		word(address|2, 0x7fff1234, 8) // the data that it loaded
	}
	if o.Previous != 0 {
		code(4, o.Previous)
	}
	if o.Time == 0 {
		return append(b, 1)
	}
	word(0x71, o.Time, 8)
	return b
}

// Tracing announces a trace of the Statistical Profiling Extension, whose event has the type pmu, and
// how the times of the processor's timer are converted.
func (w *Writer) Tracing(pmu uint32, shift, mult, zero uint64) {
	const timeConv, auxTraceInfo, armSPE = 79, 70, 4
	b := w.u64(nil, shift, mult, zero, 0, ^uint64(0))
	w.Record(timeConv, 0, append(b, 1, 1, 0, 0, 0, 0, 0, 0))
	w.Record(auxTraceInfo, 0, w.u64(w.u32(w.u32(nil, armSPE), 0), uint64(pmu), 1))
}

// Trace adds a piece of a buffer of the trace: the buffer of a processor, or, if that is -1, of a thread.
func (w *Writer) Trace(buffer uint32, cpu, tid int32, at uint64, data []byte) {
	b := w.u64(nil, uint64(len(data)), at, 0)
	b = w.u32(w.u32(b, buffer), uint32(tid))
	w.pieces = append(w.pieces, uint64(len(w.data)))
	w.Record(71, 0, w.u32(w.u32(b, uint32(cpu)), 0))
	w.data = append(w.data, data...)
}

// Aux adds the kernel's record of what it added to the buffer of a processor, with flags.
func (w *Writer) Aux(cpu uint32, at, size, flags, time uint64) {
	w.on(cpu, func() { w.Record(11, 0, w.id(w.u64(nil, at, size, flags), 1, 1, time)) })
}

// Switch adds a record of a processor that switches to a thread.
func (w *Writer) Switch(cpu, pid, tid uint32, time uint64) {
	const switchCPUWide, out = 15, 1 << 13
	w.on(cpu, func() { w.Record(switchCPUWide, out, w.id(w.u32(w.u32(nil, pid), tid), 1, 1, time)) })
}

// ItraceStart adds a record of the start of a thread's trace on a processor.
func (w *Writer) ItraceStart(cpu, pid, tid uint32, time uint64) {
	w.on(cpu, func() { w.Record(12, 0, w.id(w.u32(w.u32(nil, pid), tid), pid, tid, time)) })
}

// on runs f, and attributes the records that f adds to a processor.
func (w *Writer) on(cpu uint32, f func()) {
	before := w.cpu
	w.cpu = uint64(cpu)
	f()
	w.cpu = before
}
