package tracelog

import (
	"cmp"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/calllog"
)

// waits are the functions that stand for the waits of goroutines in logs of modes stacks and trace, and what
// these wait for. They are in package runtime of instrumented programs, and are never called.
var waits = map[string]string{
	"runtime.waiting":               calllog.WaitOther,
	"runtime.waiting_for_channel":   calllog.WaitChannel,
	"runtime.waiting_for_lock":      "a lock",
	"runtime.waiting_for_network":   calllog.WaitNetwork,
	"runtime.sleeping":              calllog.WaitSleep,
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
func WaitOf(symbol string) string {
	if name, ok := strings.CutPrefix(symbol, WaitSymbol); ok {
		return WaitsOnWindows(name)
	}
	return waits[symbol]
}

// WaitSymbol is what the symbols of functions begin with that only call a function of the C library that waits, in
// native programs of modes stacks and trace.
const WaitSymbol = "__cairn_wait_"

// waitsIn are functions of the C and C++ libraries that wait, by what for.
var waitsIn = sync.OnceValue(func() map[string]string {
	all := make(map[string]string)
	for what, names := range map[string]string{
		calllog.WaitThreads:   "pthread_join pthread_timedjoin_np pthread_clockjoin_np thrd_join _ZNSt6thread4joinEv",
		calllog.WaitProcesses: "wait waitpid wait3 wait4 waitid",
		calllog.WaitSignal:    "pause sigsuspend sigwait sigwaitinfo sigtimedwait",
		calllog.WaitSleep:     "sleep usleep nanosleep clock_nanosleep thrd_sleep",
		calllog.WaitEvent:     "poll ppoll select pselect epoll_wait epoll_pwait epoll_pwait2 accept accept4",
		calllog.WaitCondition: "pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait pthread_barrier_wait cnd_wait cnd_timedwait sem_wait sem_timedwait sem_clockwait _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE",
	} {
		for _, name := range strings.Fields(names) {
			all[name] = what
		}
	}
	return all
})

// WaitsIn returns what a thread waits for that calls a function of the C library, "" if that does not only wait.
func WaitsIn(function string) string { return waitsIn()[function] }

// windowsWaits are functions of Windows that wait.
var windowsWaits = map[string]string{
	"Sleep": calllog.WaitSleep, "SleepEx": calllog.WaitSleep,
	"WaitForSingleObject": calllog.WaitEvent, "WaitForSingleObjectEx": calllog.WaitEvent, "WaitForMultipleObjects": calllog.WaitEvent,
	"WaitOnAddress": calllog.WaitEvent, "GetMessageA": calllog.WaitEvent, "GetMessageW": calllog.WaitEvent,
	"SleepConditionVariableCS": calllog.WaitCondition, "SleepConditionVariableSRW": calllog.WaitCondition,
}

// WaitsOnWindows is WaitsIn for programs for Windows.
func WaitsOnWindows(function string) string { return cmp.Or(windowsWaits[function], WaitsIn(function)) }
