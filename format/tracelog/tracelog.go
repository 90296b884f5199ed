package tracelog

import (
	"fmt"

	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// An Interval is a duration that lies between two bounds, in nanoseconds. The
// clock that the probes read moves in steps, so that durations are known only up
// to a step.
type Interval struct{ Lo, Hi uint64 }

// Header describes the process of a log.
type Header struct {
	PID       uint32
	Realtime  uint64      // ns since 1970 when the log began
	Monotonic uint64      // ns of CLOCK_MONOTONIC at the same moment; all times of the log are of that clock
	TSC       uint64      // time-stamp counter at the same moment
	TSCHz     uint64      // its rate, 0 if not known
	Ends      bool        // the flight recorder has the ends of calls that no later entry implies
	Micro     bool        // mode trace, of Go programs: ticks are microseconds, threads are goroutines
	Forked    bool        // a child made by fork, which goes on with its parent's stack
	Calls     SystemCalls // the table of its numbers of system calls
	Mode      uint32      // prof.Mode
}

// Boot returns the time since 1970 at which the clock of the log's times was 0.
func (h *Header) Boot() int64 { return int64(h.Realtime - h.Monotonic) }

// Module is a program or shared object of the process. Each time it is loaded makes a separate Module.
type Module struct {
	Number       uint32
	Time         uint64 // when it was first seen
	Unloaded     uint64 // when it was gone, 0 if it never was
	Bias         uint64 // address in memory minus address in the file
	Start, End   uint64 // where it is in memory
	BuildID      []byte // empty if it has none
	Path         string // as the process saw it
	Main         bool   // it is the executable
	Instrumented bool
}

// Holds reports whether an address of the process is in the module.
func (m *Module) Holds(pc uint64) bool { return pc >= m.Start && pc < m.End }

// Thread is a thread that has a name.
type Thread struct {
	TID  uint32
	Name string
	// Starters are the addresses of the functions that started a goroutine, the outermost first.
	Starters []uint64
}

// Entry is a call on a stack.
type Entry struct {
	PC    uint64   // return address, if not Exact
	Time  Interval // of a stack: so far, when the peak ended
	SP    uint32   // low half of the stack pointer at entry, which identifies the frame
	Flags EntryFlags
}

// EntryFlags say what is special about an entry.
type EntryFlags uint32

// The flags of entries.
const (
	NoStamp   EntryFlags = wire.EntryNoStamp    // without probes, or entered before the runtime was: no times
	OldFork   EntryFlags = wire.EntryBeforeFork // entered before the process was forked
	Exact     EntryFlags = wire.EntryExact      // PC is the instruction itself
	GapBefore EntryFlags = wire.EntryGap        // frames before this one are left out
	Ignored   EntryFlags = wire.EntryIgnored    // mark-up says not to report it
	Left      EntryFlags = wire.EntryLeft       // it did not return: an exception, a longjmp or the end of the thread left it
	Suspended EntryFlags = wire.EntrySuspended  // of a peak: it was too long only since its stack did not run
)

// Timed reports whether the time of an entry is known.
func (e *Entry) Timed() bool { return e.Flags&NoStamp == 0 }

// Parent is a caller of an episode's peak that ended after it and took too long as well.
type Parent struct {
	PC        uint64 // somewhere in the function; not that of its entry on the stack
	Ended     uint64
	Time      Interval
	Threshold uint64 // the threshold that applied to it
	SP        uint32 // as in its entry
	On        uint32 // number of the stack that it was on: 0 for the thread's own
	Flags     EntryFlags
}

// Caller is a parent of some episode.
type Caller struct {
	TID uint32
	Parent
	Usage *Usage // nil if it is not known
	Wait  *Wait  // nil if it is not known
	// Suspended is the part of its time in which its stack did not run.
	Suspended Interval
}

// Usage has the kernel's data about a thread during a call.
type Usage struct {
	Ended uint64
	SP    uint32   // of the call
	CPU   Interval // processor time of the call
	Since uint64   // when the counts began, not after the call; 0: with the thread
	// Page faults, and times that the thread gave up its processor and lost it.
	Minor, Major, Voluntary, Involuntary uint32
	Call                                 string // the system call that it waited in most, "" if it is not known
	// Samples in the time of the call: in which the thread waited, of those in that system
	// call, and of those for a processor.
	Waits, InCall, Ready uint16
}

// Wait has what a call waited for.
type Wait struct {
	Ended   uint64    // when the call ended
	SP      uint32    // of the call
	On      WaitFlags // of its longest wait
	Longest uint64    // ns of that, at most
	Reasons []WaitTime
	// Addrs are of the longest wait, the innermost first: its stack with WaitUnwound, otherwise words of the
	// stack that look like return addresses, some of which may be of earlier calls.
	Addrs []uint64
	Peer  string // the other end of the longest wait, such as an address with a port; "" if it is not known
}

// WaitTime is the sum of the waits of a call for one reason.
type WaitTime struct {
	Reason WaitReason
	Count  uint32
	Time   uint64 // ns, at most
}

// Holder is a thread that ended a wait of another one, or, with an Object, that had a mutex for which the other waited,
// or whose end it waited for (WaitThread).
type Holder struct {
	Ended  uint64 // when the call that waited ended
	SP     uint32 // of that call
	Reason WaitReason
	At     uint64 // when the wait ended, or when it had the mutex
	Waited uint64 // ns of the wait, at most
	TID    uint32 // of the other thread, 0 if it is not known
	// Readers is the number of threads that had a read-write lock for reading. Their ids are not known.
	Readers uint16
	Object  uint64   // address of what was waited for, 0 if it is not known
	Addrs   []uint64 // the stack of the other thread when it ended the wait, the innermost first
}

// WaitFlags say what a wait was for.
type WaitFlags uint32

// The flags of waits.
const (
	WaitListener WaitFlags = wire.WaitListener // a socket at which others connect
	WaitIncoming WaitFlags = wire.WaitIncoming // a connection that the other end made, or a socket for any peer
	WaitOutgoing WaitFlags = wire.WaitOutgoing // a connection that the process made
	WaitInternal WaitFlags = wire.WaitInternal // what the process itself, or the kernel, signals
	WaitFile     WaitFlags = wire.WaitFile     // any other file
	WaitUnknown  WaitFlags = wire.WaitUnknown  // files of which the kind is not known
	WaitThread   WaitFlags = wire.WaitThread   // the end of another thread of the process
	WaitUnwound  WaitFlags = wire.WaitUnwound  // the addresses are a stack
)

// WaitReason is why a goroutine did not run.
type WaitReason uint32

// The reasons of waits.
const (
	ReasonOther     WaitReason = wire.ReasonOther
	ReasonChannel   WaitReason = wire.ReasonChannel
	ReasonLock      WaitReason = wire.ReasonLock
	ReasonNetwork   WaitReason = wire.ReasonNetwork
	ReasonSleep     WaitReason = wire.ReasonSleep
	ReasonGC        WaitReason = wire.ReasonGC
	ReasonProcessor WaitReason = wire.ReasonProcessor
	ReasonStopped   WaitReason = wire.ReasonStopped // the world was stopped
	ReasonSystem    WaitReason = wire.ReasonSystem  // a system call, or C: it may have run
	ReasonRWLock    WaitReason = wire.ReasonRWLock  // a sync.RWMutex
	ReasonGroup     WaitReason = wire.ReasonGroup   // a sync.WaitGroup
	ReasonCond      WaitReason = wire.ReasonCond    // a sync.Cond
)

// UnknownStack is the number shared by all stacks of a thread, other than its own, that
// cannot be distinguished.
const UnknownStack = wire.StackUnknown

// Text is a text of the program about a call.
type Text struct {
	Kind TextKind
	Time uint64
	SP   uint32 // of the call, as in its entry
	PC   uint64
	Text string
}

// TextKind is the kind of a text.
type TextKind uint16

// The kinds of text.
const (
	Description TextKind = wire.TextDescription // of a call
	Message     TextKind = wire.TextMessage     // at a moment in it
	Section     TextKind = wire.TextSection     // name of a part of a function
)

// EpisodeFlags say what is special about an episode.
type EpisodeFlags uint32

// The flags of episodes.
const (
	Preempted   EpisodeFlags = wire.EpisodePreempted   // the thread lost its processor in the meantime
	BeforeFork  EpisodeFlags = wire.EpisodeBeforeFork  // the peak was entered before the process was forked
	Cut         EpisodeFlags = wire.EpisodeCut         // there are more frames than were looked for
	NoUnwinder  EpisodeFlags = wire.EpisodeNoUnwinder  // the stack was walked by frame pointers
	CallerOnly  EpisodeFlags = wire.EpisodeCallerOnly  // the stack is the peak and its caller
	ChildrenCut EpisodeFlags = wire.EpisodeChildrenCut // there were more slow calls than are kept: children may be missing
	Snapshot    EpisodeFlags = wire.EpisodeSnapshot    // no spike: the program asked for its stack, and the peak has not ended
	Unended     EpisodeFlags = wire.EpisodeOpen        // the peak has not ended, see Ongoing
)

// Episode is one spike: a call that took too long, none of whose own calls did,
// and what is around it.
type Episode struct {
	TID       uint32
	Number    uint64   // from 1
	Order     uint64   // among the episodes of the log, from 0
	Time      uint64   // when the call ended
	Peak      Interval // how long it took
	Threshold uint64   // the threshold that applied to it
	Blind     uint64   // time in it during which the clock was late
	Frame     uint64   // number of the frame that the program counted, 0 if it counts none
	On        uint32   // number of the stack that it happened on: 0 for the thread's own
	Flags     EpisodeFlags
	Switches  uint32 // involuntary context switches since the thread's last slow call
	Found     uint32 // number of frames found, of which Stack may have a part
	// Stack has the call itself first, then its callers.
	Stack []Entry
	// Children is the largest call below, the largest below that one and so on.
	Children []Entry
	// Parents are in the order in which they ended.
	Parents []Parent
	Texts   []Text
	// Suspended is the part of the peak's time in which its stack did not run, since other coroutines had the thread.
	Suspended Interval
	Usage     *Usage   // nil if it is not known
	Wait      *Wait    // nil if it is not known
	Holder    *Holder  // nil if it is not known
	Open      *Ongoing // nil if the peak has ended
}

// Ongoing describes a call that has not ended, as its thread was seen.
type Ongoing struct {
	Found uint64 // when the stack was found
	Until uint64 // until then the thread is known to have stayed there
	Since uint64 // and from then on
	Call  string // the system call that the thread waits in, "" if in none
	Runs  bool   // the thread ran: the innermost calls may have ended, if they were short
	// Of a goroutine that waits: why, and how if that is for a channel (package wire has the numbers); of a thread too: for
	// which kind of file or which other end of a connection.
	Waits  bool
	Awoke  bool // it runs, and has waited in the call but for less than the threshold: Until minus Since
	Reason WaitReason
	How    uint8
	On     WaitFlags
	Peer   string
	// Of a thread that waits for a lock: which thread has it, 0 if that is not known, or how many readers have it.
	Holder, Readers uint32
	CPU             uint64 // processor time of the thread
	Name            string // of the thread
	// Inner are the calls that the peak made, the outermost first.
	Inner []Entry
}

// Stall is a time in which the clock stood still for too long. Some short stalls may be missing; Trailer.Late
// counts all.
type Stall struct {
	From, To uint64
	Waited   uint64 // of that, time in which the clock's thread waited for a processor; 0 if not known
}

// Freeze is a time in which the whole process stood still, without waiting for a processor.
type Freeze struct {
	From, To uint64
	Waited   uint64 // of that, time in which the clock's thread waited for a processor, at most
	CPU      uint64 // processor time of the process in it, at most
}

// Setting has the settings from a time on, in a process that changed them.
type Setting struct {
	Time      uint64
	Threshold uint64
	Period    uint64
	Rate      uint64 // episodes in a second that were written
	Off       bool   // spikes were not looked for
}

// Frames describes the frames that a program counts, and their durations.
type Frames struct {
	Count, End, Sum, Worst uint64 // End: of the last one
	Budget                 uint64
	Over                   uint64 // that took longer than the budget
	Each                   uint64 // frames in a bucket
	Buckets                []FrameBucket
	Longest                []Frame // the longest first
}

// FrameBucket is some frames in a row.
type FrameBucket struct {
	Worst uint64 // ns
	Over  uint32
}

// Frame is a frame that took long.
type Frame struct{ Number, End, Took uint64 }

// Seen counts the episodes of one stack, including those that were not written.
type Seen struct {
	PC      uint64 // of the peak; 0 for all stacks that have no count of their own
	Hash    uint64 // of the stack
	Count   uint64
	Worst   uint64 // the greatest lower bound
	Sum     uint64 // of lower bounds
	Last    uint64 // when the last one ended
	Episode uint64 // number of the first
}

// Trailer is the summary of a log, updated while the process runs.
type Trailer struct {
	Time       uint64 // of the last update
	Ticks      uint64
	Blind      uint64 // total time by which ticks were late, beyond two periods
	Late       uint64 // ticks that were late
	WorstGap   uint64 // longest time between two ticks
	Borderline uint64 // calls that may have reached the threshold
	Slow       uint64 // calls that were evaluated
	Dropped    uint64 // records that were lost for lack of room
	Limited    uint64 // episodes that were only counted, because there were so many
	Threshold  uint64 // calls of this duration are spikes, unless the program set another threshold
	Period     uint64 // of the clock that the probes read
	Low        uint64 // shorter calls are not recorded
	Signal     bool   // the clock is moved by signals to each thread, not by a thread
	Threads    uint32 // that were seen
	Idle       uint64 // time in which the process did nothing and the period was longer
	TickerCPU  uint64 // processor time of the clock's thread
	Episodes   uint64 // including those that were only counted
	Ring       uint64 // calls of a thread that the flight recorder keeps, 0: there is none
	NoWindow   uint32 // spikes whose calls were not kept
	Window     uint32 // MiB of stack addresses that are distinguished, 0: all
	Signalled  uint32 // threads whose clock a signal moves
	Blocked    uint32 // of those, threads that blocked the signal
	Exact      bool   // calls read the TSC themselves
	TSCHz      uint64 // of the TSC, with the exact clock
	RateError  uint32 // of TSCHz, in 10^-9
	Backwards  uint64 // calls that ended before they began, by the TSC
	// When threads were last looked at: calls that had not ended and had no room in the log, of those that do not and
	// those that do contain all work of their threads, and threads beyond those that are looked at.
	NoRoom, NoRoomLasting, Unwatched uint32

	Final bool // the process ended normally
	Off   bool // switched off by CAIRN_SPIKE
}

// String is the interval in nanoseconds, for messages of tests.
func (i Interval) String() string { return fmt.Sprintf("%d..%d", i.Lo, i.Hi) }
