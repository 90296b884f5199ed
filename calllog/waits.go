package calllog

// What a thread waits for, as Func.Wait: these are names that several readers of logs use.
const (
	WaitChannel   = "a channel"
	WaitNetwork   = "the network"
	WaitProcessor = "a processor"
	WaitGroup     = "a WaitGroup"                // of Go: for other goroutines
	WaitSystem    = "a system call, or ran in C" // which of both is not known
	WaitOther     = "something else"
	WaitSleep     = "the end of a sleep"
	WaitThreads   = "the end of threads"
	WaitProcesses = "the end of processes"
	WaitSignal    = "a signal"
	WaitEvent     = "files and connections"
	WaitCondition = "a condition"
)
