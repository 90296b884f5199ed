package ptrace

import (
	"time"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
)

// Branch is a branch that a thread takes: it is stopped in front of it.
type Branch struct {
	PID, TID int
	From, To uint64 // addresses in memory
	// Class is what the instruction at From is; controlflow.Other where the kernel led the
	// thread elsewhere: to a handler of a signal, or back from it. From is in the
	// kernel's half of the addresses then.
	Class  controlflow.Class
	SP, FP uint64 // the stack and the frame pointer, before the branch
}

// kernelAddress represents any address in the kernel.
const kernelAddress = 0xffffffff80000000

// BranchRun is a run whose branches were watched.
type BranchRun struct {
	Status   Status
	Stops    uint64 // of its threads
	Elapsed  time.Duration
	Replaced bool // as in Run
}

// BranchWatcher is told of branches, one after the other.
type BranchWatcher interface {
	// Start is called at the program's first instruction: what it is loaded with is
	// in its memory, which read reads as it is without breakpoints.
	Start(pid int, read func(b []byte, addr uint64) error) error
	// Mapped is called when other code may be mapped than before.
	Mapped()
	// Branch is called for each branch that is taken from then on.
	Branch(b *Branch) error
}
