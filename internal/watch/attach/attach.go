// Package attach puts hooks into a running program and removes them again, without the program's help: it loads
// the library of internal/instrument/nativert as memory, and writes the jumps that internal/instrument/detour
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

// Result is what was done.
type Result struct {
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
