// Package attach puts hooks into a running program and takes them out again, without the
// program's help: the library of internal/instrument/nativert is loaded as memory, functions get the
// jumps that internal/instrument/detour planned, and when all is over the program's memory, threads,
// descriptors and code are what they were.
//
// All threads of the program stand still while something is changed. What a thread is sent
// to do for us it does on memory of ours, and it has below its stack a frame by which it
// goes back by itself: should we be killed at any moment, the kernel lets the threads go,
// and the program continues, hooked in part at worst.
package attach

import (
	"errors"
	"time"

	"github.com/cairnprof/cairn/internal/instrument/detour"
)

// Options say what is hooked in which process.
type Options struct {
	PID     int
	Library string   // path of the library, see nativert.AttachObjects
	Words   []string // of the library's environment, such as CAIRN_DIR=/tmp/logs
	Plan    *detour.Plan
	Entry   uint64 // link-time address at which the program that Plan is of starts
}

// Result is what was done.
type Result struct {
	Hooked  int    // functions
	Changed int    // functions that are not hooked, as somebody else changed their code
	Log     string // path of the log, as we see it
	Stopped time.Duration
}

// ErrNotAttached says that nothing is to be taken out.
var ErrNotAttached = errors.New("cairn is not attached to it")

// ErrEnded says that a process is not there, or not any more.
var ErrEnded = errors.New("no such process")

// ErrUnsupported says that this system is not one on which it works.
var ErrUnsupported = errors.New("attaching to programs is supported only on Linux on x86-64")
