package sample

// FrameKind says what code a named frame is.
type FrameKind uint8

// The kinds of frames.
const (
	UserFrame    FrameKind = iota // of a program or library, or not known
	KernelFrame                   // of the operating system
	InlinedFrame                  // of a function that was inlined into the one outside of it
	JITFrame                      // of code that was generated at run time
)

// NamedFrame is a function on a stack. Code without a symbol is named after its file in brackets, "[libc.so.6]", or
// "[unknown]".
type NamedFrame struct {
	Name string
	Kind FrameKind
}

// NamedStack is a stack as tools print it, of functions in place of addresses: one moment of a thread, or several
// equal ones. Readers reuse it: it is valid until the next one is read.
type NamedStack struct {
	Frames   []NamedFrame // outermost first, none if the input has no stack
	Command  string       // of the thread, or what else the stack belongs to, "" if not known
	PID, TID int32        // UnknownPID if not known
	Event    string       // what was counted: "cycles:u", "cpu"; "" if not known
	Value    uint64       // how much of it
	Unit     string       // of Value: "samples", "ns", "cycles"
	Moments  uint64       // how many, 0 if not known
}

// Samples is the unit of values that are numbers of moments.
const Samples = "samples"

// Nanoseconds is the unit of values that are times.
const Nanoseconds = "ns"
