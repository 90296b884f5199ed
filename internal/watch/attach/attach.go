// Package attach puts hooks into a running program and removes them again, without the program's help: it loads
// the library of internal/runtime/nativert as memory, and writes the jumps that internal/instrument/detour
// planned over functions. After removal the program's memory, threads, descriptors and code are as before.
//
// All threads of the program are stopped during a change, several times and each time briefly: what needs no stopped
// thread is done in between. Code that a thread runs for us is in memory of ours,
// and a frame below its stack returns the thread by itself: if we are killed at any moment, the kernel releases
// the threads, and the program continues, at worst partly hooked.
package attach

import (
	"errors"
	"time"

	"github.com/cairnprof/cairn/internal/instrument/detour"
)

// Options say what to hook in which process.
type Options struct {
	PID     int
	Library string   // path of the library, see nativert.AttachObjects
	Words   []string // of the library's environment, such as CAIRN_DIR=/tmp/logs
	Plan    *detour.Plan
	Entry   uint64 // link-time address of the entry point of the program that Plan belongs to
}

// Thread is what a thread of the program did before it was stopped for the first time.
type Thread struct {
	TID     int
	Name    string
	State   byte          // as in proc_pid_stat(5), such as S or R; 0 if it is not known
	Call    int           // number of the system call that it was in, -1 for none
	Kernel  string        // function of the kernel in which it waited, "" if it is not known
	Still   time.Duration // since it last ran; 0 if it ran, or if that is not known
	AtLeast bool          // Still is a lower bound
	Stack   []uint64      // the innermost first: an instruction, then return addresses
	Whole   bool          // Stack is not cut
}

// Module is a file that the program has in memory.
type Module struct {
	Path       string
	Start, End uint64 // of its code
	Bias       uint64 // address in memory minus address in the file
	BuildID    string // its bytes, "" if it has none
}

// Result is what was done. After an error it has only Threads and Modules, if anything.
type Result struct {
	Threads []Thread // the one that waited longest first
	Modules []Module

	Hooked  int           // functions
	Changed int           // functions that are not hooked, as their code was changed before
	Log     string        // path of the log in our namespace
	Stops   int           // how often all threads were stopped
	Stopped time.Duration // the longest of the times
}

// ErrNotAttached reports that there are no hooks to remove.
var ErrNotAttached = errors.New("cairn is not attached to it")

// ErrEnded reports that a process does not exist, or has ended.
var ErrEnded = errors.New("no such process")

// ErrUnsupported reports that this system does not support attaching.
var ErrUnsupported = errors.New("attaching to programs is supported only on Linux on x86-64")
