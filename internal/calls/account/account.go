// Package account computes the costs of calls from the events of a log: it replays each thread's enters and
// exits on a stack, and sums the calls in a trie. It also gives every single call as it ends, and the slowest
// ones.
//
// # Time
//
// Times are nanoseconds where the log's clock has a rate and its ticks otherwise, as calllog.Clock.Nanoseconds
// gives them; they are not relative to the log's start. Each event is converted once, and durations are
// differences of the results.
//
// # Rules
//
// Logs may lack records: a ring was overwritten, recording began in the middle of a thread, an exception left
// functions without an exit. Package callstack has the rules of what is open then. Besides:
//
//   - A tail exit ends its call as an exit does: what the function jumped to is called by its caller. With
//     Options.TailCalls it is called by the function where that is certain, whose call
//     then lasts as long; see TailCalls.
//   - Calls that an exit ends without one of their own ended some time between the thread's previous event and this
//     exit. They are closed at the event before, or at the exit with
//     Options.UpperBound, and counted in Stats.Deduced and in their nodes.
//   - Exits that belong to no call are orphans: counted, and nothing more. Gaps are counted in Stats.Gaps.
//   - Calls still open at the end are closed at the thread's last event, or left
//     out with Options.DropOpen. What they called is counted in either case.
//   - Where the clock went back, a call that would take less than no time takes
//     none, and one whose callees took longer than itself has no self time. Both
//     are counted in Stats.Clamped.
//   - A node is a stack, so recursion counts nothing twice in a node. Sums over
//     nodes of one function must use calltrie.Trie.Outermost.
//   - A child process inherits the stack but not its enters: its threads are
//     others, and exits of what it inherited are orphans.
//   - In a program that was built to log only enters they would accumulate. In a thread
//     without any exit, in which a function is entered twice, each enter is a
//     deduced call of no duration, below the root.
//   - Stacks deeper than 65536 are cut: what is above is counted in TooDeep and has no calls. Once a
//     thread's trie has Options.MaxNodes nodes, further stacks share one, see
//     calltrie.Trie.SetLimit.
//   - Where stacks take more than Options.Memory, the stacks with the least time are folded:
//     the time of their calls becomes their callers' own time. Stats.Folded has the total of
//     that time, and Stats.MostFolded the most that a single stack lacks.
//   - Where a thread changes between stacks, as coroutines do, time passes for the calls on the one that runs
//     and for what they are below: a stack begins below the call that changed to it first.
//   - A log that was filtered lacks all calls below a duration. Nothing is known
//     about them, but Stats.Shortest shows it: no leaf took less, except those with
//     arguments and those that a block's border divides, which no runtime drops.
//
// # Parallelism
//
// A thread is cut into segments that are replayed at the same time, each without knowing the stack that it
// begins with, and are put together in order; see segment and chunk. The result does not depend on where the
// cuts are.
package account

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// defaultMaxNodes is Options.MaxNodes when it is 0.
const defaultMaxNodes = 1 << 22

// maxOrphanFuncs bounds Stats.OrphansByFunc, and maxDamage Result.Damage.
const (
	maxOrphanFuncs = 1024
	maxDamage      = 1024
)

// Options say how calls are counted. The zero value counts everything.
type Options struct {
	Workers    int  // goroutines that work at the same time; 0 is GOMAXPROCS
	DropOpen   bool // leave out calls that had not ended when the log did
	UpperBound bool // close deduced calls as late as they may have ended, not as early
	Slowest    int  // number of calls in Result.Slowest
	MaxNodes   int  // nodes of a thread's trie at most; 0 is 4 million
	// Memory is the approximate number of bytes that the tries of all threads may take, for Run; 0 for any.
	// Beyond that, the least stacks are folded into their callers, see Stats.Folded.
	Memory int64
	// CallsOnly says that only the single calls of a Replay or of Pieces are needed: the nodes of their tries
	// have no sums.
	CallsOnly bool
	// TailCalls, if not nil, puts functions below the function that jumped to them.
	TailCalls *TailCalls
	// Progress, if not nil, is called now and then with the number of bytes of the log that are done, never
	// concurrently.
	Progress func(bytes int64)

	depth  int   // frames at most, 0 is callstack.MaxDepth
	chunk  int64 // bytes of a segment, 0 to choose
	pieces int   // pieces of a segment at most, 0 is maxPieces
	nodes  int   // nodes of a segment at most, 0 is maxChunkNodes
	looked int   // maximum number of frames searched in vain, 0 is callstack.MaxLooked
	room   int   // nodes of the trie when it is folded, 0 for never
}

// End is the way a call ended.
type End uint8

// The ways a call ends.
const (
	Returned End = iota // there is an exit
	Tail                // there is a tail exit: it jumped to another function
	Deduced             // a caller's exit, or a gap, implies that it ended before
	Open                // the log ends first

	arrived // not an end: control is back in the call, and has left those above it
)

func (e End) String() string {
	if int(e) < len(endNames) {
		return endNames[e]
	}
	return "unknown"
}

var endNames = [...]string{Returned: "returned", Tail: "tail", Deduced: "deduced", Open: "open"}

// Call is one call.
type Call struct {
	Thread int // index into the log's threads
	// ID is the number of the call within its thread, from 1 in the order of
	// entering, and Parent that of its caller, 0 if there is none.
	ID, Parent uint64
	Func       calllog.FuncID
	Node       calltrie.NodeID // in the trie of the thread
	Depth      int             // 1 for the outermost function of a thread
	// Start and Duration are in the unit of the package, and so is Self, the part
	// of Duration that was not in callees.
	Start, Duration, Self uint64
	// Away is the time from its start to its end for which its stack was left, as that of a coroutine. It is no
	// part of Duration.
	Away uint64
	End  End
	Args []uint64 // nil if none were recorded
	CPU  uint16   // where it began
}

// Thread is the result for a thread.
type Thread struct {
	calllog.Thread
	Trie  *calltrie.Trie
	Stats Stats
	// First and Last are the least and the greatest time of its events.
	First, Last uint64
	// Busy is the total of the calls without a caller.
	Busy uint64
}

// Result is the result for a log.
type Result struct {
	Threads []Thread // in the order of the log
	Slowest []Call   // the longest calls first; ties by thread, start and id
	// Damage is the damage found on the way, the first 1024 places; damage known when the log was opened is in
	// its Info.
	Damage []*calllog.Damage
}

// MergeInto adds the trie of a thread to all, below the functions that started the thread. These
// have its time in addition to their own, and no more calls. It returns the new place of each node,
// as calltrie.Trie.Merge.
func (t *Thread) MergeInto(all *calltrie.Trie) []calltrie.NodeID {
	at := calltrie.Root
	for _, fn := range t.Starters {
		at = all.Child(at, fn)
		all.Node(at).Total += t.Busy
	}
	return all.Merge(at, t.Trie, nil)
}

// Merged returns one trie of all threads. It shares nothing with theirs.
func (r *Result) Merged() *calltrie.Trie {
	all := calltrie.New()
	for i := range r.Threads {
		r.Threads[i].MergeInto(all)
	}
	return all
}

// Total returns the sums over all threads.
func (r *Result) Total() Stats {
	var all Stats
	for i := range r.Threads {
		all.add(&r.Threads[i].Stats)
	}
	return all
}

// Run replays the threads of a log. Damage in it is part of the result; any other error of the log ends Run.
func Run(ctx context.Context, log calllog.Log, opt Options) (*Result, error) {
	threads := log.Threads()
	res := &Result{Threads: make([]Thread, len(threads))}
	runs, err := runAll(ctx, log, opt)
	if err != nil {
		return nil, err
	}
	slow := slowest{limit: opt.Slowest}
	for i, r := range runs {
		res.Threads[i] = r.result(threads[i])
		slow.merge(r.slow.calls)
		res.Damage = append(res.Damage, r.damage...)
	}
	res.Damage = res.Damage[:min(len(res.Damage), maxDamage)]
	res.Slowest = slow.sorted()
	return res, nil
}

// sortedOrphans returns the functions that m counts, the most frequent first.
func sortedOrphans(m map[calllog.FuncID]uint64) []calllog.FuncID {
	return slices.SortedFunc(maps.Keys(m), func(a, b calllog.FuncID) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b))
	})
}
