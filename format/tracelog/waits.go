package tracelog

import "github.com/cairnprof/cairn/calllog"

// waits are the functions that stand for the waits of goroutines in logs of modes stacks and trace, and what
// these wait for. They are in package runtime of instrumented programs, and are never called.
var waits = map[string]string{
	"runtime.waiting":               calllog.WaitOther,
	"runtime.waiting_for_channel":   calllog.WaitChannel,
	"runtime.waiting_for_lock":      "a lock",
	"runtime.waiting_for_network":   calllog.WaitNetwork,
	"runtime.sleeping":              "the end of a sleep",
	"runtime.waiting_for_gc":        "the garbage collector",
	"runtime.waiting_for_processor": calllog.WaitProcessor,
	"runtime.stopped_for_the_world": "the end of a stop of the world",
	"runtime.in_system_call":        calllog.WaitSystem,
	"runtime.waiting_for_rwmutex":   "a RWMutex",
	"runtime.waiting_for_waitgroup": calllog.WaitGroup,
	"runtime.waiting_for_cond":      "a Cond",
}

// WaitOf returns what the caller of a function with this symbol waits for, "" if the symbol is that of a real
// function.
func WaitOf(symbol string) string { return waits[symbol] }
