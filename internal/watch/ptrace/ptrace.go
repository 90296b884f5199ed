// Package ptrace runs unmodified programs and watches them from outside, on Linux on x86-64: which functions
// they execute first, by breakpoints (Record); which pages of their code they touch, by making them
// inaccessible (TouchedPages); and their page faults (WarmFaults, ColdFaults). On other systems all of it
// returns ErrUnsupported.
//
// The first two follow a program with ptrace. Its threads are followed; a child that shares its memory (vfork)
// is followed until it executes something else; a child with its own memory gets its original code back and is
// released, and so is a process that executes another program. Signals reach the program as usual, also those
// that stop and continue it.
//
// What a program can notice:
//   - It finds breakpoints when it reads its own code. A system call that
//     reads code which TouchedPages has made inaccessible fails with EFAULT.
//   - If a trap occurs in code that runs with the trap's signal blocked or
//     ignored, the kernel resets the signal's handler. TouchedPages repairs
//     that (SIGSEGV). Record repairs it (SIGTRAP) from the first SIGTRAP on
//     that the program itself gets; before, a program that blocks all signals
//     while it runs new code loses its handler of SIGTRAP.
//   - It cannot be traced by another debugger, and does not gain rights from a
//     set-user-id bit.
//   - A filter (seccomp) that forbids mprotect ends it under TouchedPages.
package ptrace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// ErrUnsupported: this system is not Linux on x86-64.
var ErrUnsupported = errors.New("recording programs from outside is supported only on Linux on x86-64")

// Options say how to start a program. The zero value starts it in the current directory, with our environment
// and without streams.
type Options struct {
	Dir string   // where; "" is here
	Env []string // in the format of os.Environ; nil is ours
	// Streams that are an *os.File are passed to the program.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Signals are forwarded to the program.
	Signals <-chan os.Signal
}

// Status describes how a program ended.
type Status struct {
	Code   int // exit code, or 128 and the number of the signal
	Signal int // the signal that ended it, 0 if none did
}

// String describes it in words.
func (s Status) String() string {
	if s.Signal != 0 {
		return fmt.Sprintf("signal %d", s.Signal)
	}
	return fmt.Sprintf("exit status %d", s.Code)
}

// FirstCall is the first execution of a function.
type FirstCall struct {
	Entry uint64 // link-time address
	// Return is the return address on the stack: a link-time address if it is inside the program's own code,
	// else 0.
	Return uint64
}

// Run is the result of Record.
type Run struct {
	Calls   []FirstCall // in the order of execution, each entry at most once
	Planted int         // breakpoints
	Status  Status
	Elapsed time.Duration // from the program's start to its end, and setting the breakpoints
	// Tracing is the part of Elapsed for setting breakpoints and handling stops, without the kernel's time for
	// context switches.
	Tracing time.Duration
	// Replaced is set if the program executed another one, which was not followed.
	Replaced bool
}

// Touched is the result of TouchedPages.
type Touched struct {
	// Pages are link-time addresses of pages of 4096 bytes in the order in
	// which they were first touched.
	Pages []uint64
	// Lo and Hi are the half-open range of link-time addresses that was
	// watched: the pages of .text. A page at either end is left out if it also
	// holds something that is not code.
	Lo, Hi   uint64
	Status   Status
	Elapsed  time.Duration
	Replaced bool // as in Run
}

// Faults are the page faults of one run of a program, in all of its memory.
type Faults struct {
	Major, Minor int64 // from disk; without reading
	Status       Status
	Elapsed      time.Duration

	// The rest is set by ColdFaults only.

	TextPages int // pages of .text in the file
	// Resident is the number of pages of .text in the page cache after the run: pages that were needed and
	// pages that the kernel read ahead.
	Resident int
	// ReadAhead is set if the whole of .text was read although the program had few faults: the device's
	// read-ahead hides which pages the program needed.
	ReadAhead bool
}

const pageSize = 4096
