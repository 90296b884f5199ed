package ptrace

import (
	"time"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
)

// Branch is a branch that a thread is stopped at.
type Branch struct {
	PID, TID int
	From, To uint64 // addresses in memory
	// Class is the class of the instruction at From; controlflow.Other if the kernel moved the thread: to a
	// signal handler, or back from it. From is in the kernel's half of the addresses then.
	Class  controlflow.Class
	SP, FP uint64 // the stack and the frame pointer, before the branch
}

// kernelAddress represents any address in the kernel.
const kernelAddress = 0xffffffff80000000

// BranchRun is the result of a run with watched branches.
type BranchRun struct {
	Status   Status
	Stops    uint64 // of its threads
	Elapsed  time.Duration
	Replaced bool // as in Run
}

// BranchWatcher is called with branches, one after the other.
type BranchWatcher interface {
	// Start is called at the program's first instruction: its memory holds all that it is loaded with, and read
	// returns it without breakpoints.
	Start(pid int, read func(b []byte, addr uint64) error) error
	// Mapped is called when the mapped code may have changed.
	Mapped()
	// Branch is called for each branch taken from then on.
	Branch(b *Branch) error
}
