package calllog

// StackNode is a function below its callers, and the costs of its calls, in a log of sums.
type StackNode struct {
	// Parent is the index of the caller's node in the thread, which is less than
	// that of this one; -1 if there is no caller.
	Parent  int
	Offset  int64 // of its record
	Func    FuncID
	Calls   uint64
	Total   uint64 // from entry to exit, in nanoseconds, or ticks if the log's clock has no rate
	Unwound uint64 // calls that an exception, a longjmp or the end of the thread left
	Open    uint64 // calls that were still running when the log was written
	Longest uint64 // of the longest call, if HasLongest
	// Untimed is set if its calls were only counted.
	Untimed, HasLongest bool
}

// Sums is a log that has the sums of each stack. It has no events: Batches yields an error.
type Sums interface {
	Log
	// Nodes returns what a thread called, callers before their callees. The index is that of Threads.
	Nodes(thread int) []StackNode
	// Has reports whether it has times, and whether it has the longest call of each stack.
	Has() (times, longest bool)
}
