// Package wire holds the constants of the log of the timed modes that both
// sides must agree on: the C runtime that writes it and format/tracelog that
// reads it. It imports nothing. The runtime's header is generated from here.
//
// All is little-endian. Times are nanoseconds of CLOCK_MONOTONIC, durations
// nanoseconds, addresses those of the process. A file is
//
//	0       header, 64 bytes; the rest up to 65536 is a hole
//	65536   chunk 0
//	131072  chunk 1 ...
//
// It is written through a shared mapping while the process runs, so that it has
// everything that a killed process had written. File header:
//
//	 0  "cairnlog"
//	 8  u16 version          10  u16 size of the header
//	12  u32 pid
//	16  u64 start, ns of CLOCK_REALTIME
//	24  u64 start, ns of CLOCK_MONOTONIC, the same moment
//	32  u64 start, TSC       40  u64 TSC ticks in a second, 0: not known
//	48  u32 flags, and above CallsShift the table of the numbers of system calls, which is that of
//	        the kernel and not of the program where an emulator runs it
//	52  u32 mode (prof.Mode)
//	56  u32 FNV-1a of the 56 bytes before
//	60  u32 0
//
// Chunk header:
//
//	 0  u32 magic
//	 4  u16 kind              6  u16 form, 0
//	 8  u32 pid              12  u32 tid, 0: chunk of the process
//	16  u32 sequence, from 0, for each tid; of queues 0
//	20  u32 bytes of payload in use; 0: live, the end is the first record of type 0
//	24  u64 time of the first record      32  u64 time of the last
//	40  u64 records dropped before this chunk was begun
//	48  u64 0                56  u32 0
//	60  u32 FNV-1a of the 60 bytes before; 0 while live
//
// The payload is records. A record never straddles chunks:
//
//	0  u16 type; 0: end of the chunk
//	2  u16 size with these 8 bytes, a multiple of 8
//	4  u32 a, by type
//	8  fields
//
// # Records
//
// Module, a = number from 0. Written when the writer first sees the module,
// and once more with ModuleUnloaded when it is gone:
//
//	 8  u64 time             16  u64 bias (address less address in the file)
//	24  u64 start            32  u64 end of its mapped segments
//	40  u32 flags            44  u16 length of the build id   46  u16 length of the path
//	48  build id, 20 bytes, zero-padded; u32 0
//	72  path, zero-padded to a multiple of 8
//
// Joined, a = number of a module. It has probes, which its record does not say: it was listed
// before its runtime joined that of the process:
//
//	8  u64 time
//
// Episode, a = tid. A call that took too long, none of whose own calls did: the
// peak. Its duration lies between lo and hi, and lo is the threshold at least:
//
//	 8  u64 number, from 1   16  u64 time the peak ended
//	24  u64 lo               32  u64 hi
//	40  u64 threshold        48  u64 frame number of the program, 0: none
//	56  u32 flags            60  u32 involuntary context switches of the thread
//	                             since about its last slow call
//	64  u16 stack entries    66  u16 child entries    68  u32 frames found
//	72  u64 time between entry and end that the clock was blind
//	80  stack entries, the peak first, then outwards
//	    child entries, the largest call of the peak first, then its largest ...
//
// An entry:
//
//	 0  u64 pc: a return address, unless EntryExact
//	 8  u64 lo               16  u64 hi (stack: so far, at the end of the peak)
//	24  u32 flags            28  u32 low half of the stack pointer at entry: it
//	                             names the frame
//
// Parent, a = tid. A call of the stack of an episode has ended:
//
//	 8  u64 episode          16  u64 time it ended
//	24  u64 lo               32  u64 hi
//	40  u64 pc (in the function, not that of the stack entry)
//	48  u64 its threshold    56  u32 flags of an entry   60  u32 its stack pointer, as in the entry
//
// Usage, a = tid, after an episode or the parents that are one call: what the kernel says of
// the thread in the time of the call.
//
//	 8  u64 episode          16  u64 time the call ended
//	24  u64 processor time of the call, at least     32  u64 at most
//	40  u64 time from which the following was counted, 0: since the thread began
//	48  u32 minor page faults       52  u32 major ones
//	56  u32 times it gave up the processor, 60  u32 was made to give it up
//	64  u32 stack pointer of the call    68  u32 number of the system call that it waited
//	                                         in most, plus 1; 0: not known
//	72  u16 samples in its time in which the thread waited
//	74  u16 of those, in that system call
//	76  u16 of those, for a processor    78  u16 0
//
// Suspended, a = tid, after an episode or the parents that are one call: for how long its stack did not run in its
// time, as other coroutines had the thread. Intervals of calls have this time.
//
//	 8  u64 episode          16  u64 time the call ended
//	24  u32 stack pointer of the call    28  u32 0
//	32  u64 ns at least      40  u64 ns at most, but for the rounding of many suspensions
//
// Wait, a = tid, after the usage of a call: what the call waited for.
//
//	 8  u64 episode          16  u64 time the call ended
//	24  u32 stack pointer of the call    28  u32 flags: what its longest wait was for, and
//	                                         what the addresses are
//	32  u64 duration of its longest wait, at most
//	40  u16 reasons          42  u16 addresses          44  u16 length of the text   46  u16 0
//	48  reasons: u32 reason, u32 number of waits, u64 their duration, at most; MaxReasons at most
//	    addresses: u64 each, of the longest wait, the innermost first; MaxWaitStack at most.
//	    With WaitUnwound these are its stack, up to the call; otherwise words of its stack
//	    that follow a call instruction, in the order of their places, up to the call's frame
//	    text: what the other end is called, such as 192.0.2.1:53; zero-padded to a multiple of 8
//
// Holder, a = tid, after the wait of a call: which thread ended a wait of it, such as by unlocking a mutex, or, with
// an address of what was waited for, which had the mutex at a time of the wait, or with WaitThread did not end.
// Of several it is that of the longest.
//
//	 8  u64 episode          16  u64 time the call ended
//	24  u32 stack pointer of the call    28  u32 what was waited for, a reason as of Wait
//	32  u64 time the wait ended, or that time          40  u64 its duration, at most
//	48  u32 tid of the other thread, 0: not known     52  u16 addresses
//	54  u16 readers that had a read-write lock: of these no tid is known
//	56  u64 address of what was waited for, 0: not known
//	64  addresses: u64 each, of the stack of the other thread when it ended the wait, the innermost
//	    first; MaxWaitStack at most
//
// Freeze, a = 0. The clock's thread slept longer than it should have, by the threshold and by 20 ms at least, did not wait for a
// processor most of that time, and no other thread of the process ran:
//
//	 8  u64 from             16  u64 to
//	24  u64 of that, time the clock's thread waited for a processor, at most
//	32  u64 processor time of the process in it, at most
//
// Open, a = tid, in chunks of its own kind, one for each thread of which it is known, kept up to
// date: a call that took too long already and has not ended, of which the thread's stack was found
// while it waited. All of them have one size:
//
//	 8  u64 time at which the stack was found
//	16  u64 time by which the call had ended after all; 0: it goes on
//	24  u64 time until which the thread is known to have stayed there
//	32  u64 time since which it is known to have been there
//	40  u64 threshold        48  u64 frame number of the program, 0: none
//	56  u32 flags, and above OpenKindShift those of waits for what it waits for
//	60  u32 number of the system call that it is in, plus 1; 0: none
//	64  u16 stack entries, the innermost call over its threshold first, then outwards
//	66  u16 entries of what that call made, the outermost first    68  u32 frames found, from that call on
//	72  u64 processor time of the thread
//	80  u32 edition, odd while the record is being written
//	84  u8 why a goroutine does not run, a reason as of Wait plus 1; 0: it is none. If it ran: for what it waited longest, if
//	       it waited for all the time of the call but less than the threshold, which is then that of 32 to 24
//	85  u8 how it waits for a channel      86  u16 length of the text
//	88  16 bytes: the thread's name, zero-padded
//	104 entries, as of episodes
//	    text: what the other end of a connection that it waits for is called, zero-padded to a multiple of 8
//	    if OpenHeld is set: u32 the thread that has the lock that it waits for, or whose end, 0: not known,
//	    u32 how many readers have it
//
// Thread, a = tid, when it is first seen and when it has a new name:
//
//	 8  u64 time             16  u16 length of the name   18  u16 starters   20  u32 0
//	24  name, zero-padded to a multiple of 8
//	    starters: u64 address of each function of the stack in which a go statement started the
//	    goroutine, with those that started the goroutine of that; the outermost first; 48 at most
//
// Stall: the clock was late, for longer than two periods. Of those that were not late for
// the threshold 64 are kept until the log is written to again, once in a second at least:
//
//	 8  u64 from             16  u64 to
//	24  u64 of that, time the clock's thread waited for a processor; 0: not known
//
// Trailer, a = flags. The first record of the first chunk, kept up to date:
//
//	  8  u64 time of the update       16  u64 ticks
//	 24  u64 blind: sum of what ticks were late by, beyond two periods
//	 32  u64 late ticks                40  u64 longest time between two ticks
//	 48  u64 borderline: calls whose hi reaches the threshold and lo does not
//	 56  u64 slow exits                64  u64 records dropped for lack of room
//	 72  u64 episodes left out by the rate limit
//	 80  u64 threshold                 88  u64 period
//	 96  u64 inline threshold: what is shorter leaves no trace
//	104  u32 kind of clock            108  u32 threads seen
//	112  u64 time in which the process was idle and the period longer
//	120  u64 processor time of the clock's thread
//	128  u64 episodes, those left out included
//	136  u32 chunks of a thread's flight recorder, 0: there is none
//	140  u32 episodes without a window
//
// Logs of older runtimes end there, at 144. Where the window has less than the whole
// 4 GiB a call may be missed, or be shown shorter than it was:
//
//	144  u32 MiB of the window, 0: the whole
//	148  u32 threads that a signal sets the clock for
//	152  u32 of those, that blocked the signal when last looked at
//	156  u32 error of the rate of the TSC, in 10^-9, with the exact clock
//	160  u64 TSC ticks in a second, as times of the exact clock were made with
//	168  u64 calls that ended before they began, by the exact clock
//
// Logs of older runtimes end there, at 176. When threads were last looked at, calls that had not ended and had no
// room in the log, and threads beyond those that are looked at:
//
//	176  u32 such calls                180  u32 of calls that contain all work of their threads
//	184  u32 threads                   188  0
//
// Text, a = tid. A text of the program about a call:
//
//	 8  u64 episode, 0: none yet, the next of the thread    16  u64 time
//	24  u16 kind   26  u16 length   28  u32 stack pointer of the call's frame
//	32  u64 pc
//	40  text, zero-padded to a multiple of 8
//
// Seen, in chunks of its own kind, kept up to date: how often a peak was
// found, including those that the rate limit left out:
//
//	 8  u64 pc of the peak, 0: all others    16  u64 hash of the stack
//	24  u64 count            32  u64 worst lo
//	40  u64 sum of lo        48  u64 time of the last one
//	56  u64 episode number of the first
//
// Setting, a = flags. The settings from a time on: written when they change while the
// process runs. The first such record follows one with the settings since the start:
//
//	 8  u64 time             16  u64 threshold
//	24  u64 period           32  u64 episodes in a second that are written
//	40  u64 0
//
// Frames, a = edition, odd while it is being written. In a chunk of its own kind, one
// in a log, kept up to date: how long what the program counts as frames took.
//
//	 8  u64 frames that ended, the first excepted, of which the start is not known
//	16  u64 time the last one ended  24  u64 sum     32  u64 longest
//	40  u64 budget                   48  u64 frames that took longer
//	56  u32 shift                    60  u32 buckets in use
//	64  1024 buckets, each of 1 << shift frames: u32 longest in us, u32 longer than the budget
//	8256  64 longest frames, in no order: u64 number, 0: none; u64 time it ended, u64 duration
//
// Queue, a chunk of its own kind, live forever: records that threads have found and the
// process has not yet put into chunks of records, where they would come next. Four
// queues of 16368 bytes, each
//
//	 0  u64 bytes ever put in         8  u64 bytes of those that were taken out
//	16  ring of 16352 bytes: records; 0xffff in place of a type skips the rest of it
//
// The first record of a queue may also be the last one of the chunks of records, if the
// process ended between the two steps. The blind time of an episode in a queue is 0.
// Records of type Frames are for the process alone.
//
// # Mode trace
//
// The log of mode trace has chunks of two kinds. Chunk 0 has records, one
// of which is a Trace record that is kept up to date, a = events dropped for lack of room, and
// module records:
//
//	 8  u64 time of the update       16  u64 ticks
//	24  u64 period                   32  u64 longest time between two ticks
//	40  u64 bytes of chunks that are written again and again, 0: the file grows
//	48  u64 chunks begun             56  u64 of those, written over
//
// The other chunks have events of one thread, 8 bytes each:
//
//	0  u32 low half of the clock: units of 20 us since the log began, plus 1; of 1 us
//	       with the flag MicroClock
//	4  u32 low half of the function's address, with the kind in the last two
//	       bits; functions are aligned to 4 bytes
//
// or, before and after a call that continues on another stack, as coroutines do:
//
//	0  u32 the stack pointer there, divided by 16
//	4  u32 1 before, 2 after the call
//
// Both 0: no event, which may be followed by others where a signal handler ended
// the process. In the header of such a chunk the sequence is that of the process,
// the time of the first record is that of the clock when the chunk was begun, and
//
//	56  u32 sequence of the thread's chunk before this one, plus 1; 0: its first
//
// # The flight recorder
//
// A log of mode spike may have chunks of a kind of their own with what a thread
// called, events of 8 bytes each:
//
//	0  u32 low half of the function's address
//	4  u32 low half of the stack pointer at its entry
//
// There are no events for exits: a call has ended when another is entered with the
// same stack pointer or one above it. In place of the function's address there may be
//
//	0  the time: the other word is the low half of a clock of microseconds that was
//	   1 at the start of the header. It holds for the events after it
//	1  a call has ended, that with the stack pointer of the other word, and all below
//
// Both words 0: no event. The first event of a chunk is a time. In the header of
// such a chunk the sequence is that of the thread's ring of chunks, the checksum is
// 0, and
//
//	40  u64 number of the episode whose window the chunk is in, 0: still in the ring
//	48  u32 low half of the stack pointer at the thread's first event
//
// # Mode stacks
//
// Tree and Node, in chunks of a kind of their own, both of one size and without
// gaps, kept up to date: the calls of mode stacks. They are numbered from 1 in the
// order of the file. Tree, a = tid. The root of a thread's calls:
//
//	 8  u64 threads that have ended, of which this tree has the calls; 0: of the
//	        thread tid alone. With a tid these are goroutines, of which tid is the first
//	16  u64 in the first record: calls of the process that had no room in any tree
//	24  u64 in the first record: calls that were deeper than the process keeps
//	32  24 bytes of zeros
//
// Node, a = number of the node of its caller, or of the tree; less than its own:
//
//	 8  u64 start of the function
//	16  u64 calls            24  u64 ns of all calls from entry to exit, so far of those
//	                             that go on
//	32  u64 calls that an exception, a longjmp or the end of the thread left
//	40  u32 calls that go on 44  u32 flags
//	48  u64 ns of the longest call, so far of one that goes on; with NodeLongest
package wire

// The file.
const (
	Magic      = "cairnlog"
	Version    = 1
	Suffix     = ".cairnlog"
	HeaderSize = 64

	VersionOffset   = 8
	SizeOffset      = 10
	PIDOffset       = 12
	RealtimeOffset  = 16
	MonotonicOffset = 24
	TSCOffset       = 32
	TSCHzOffset     = 40
	FlagsOffset     = 48
	ModeOffset      = 52
	ChecksumOffset  = 56

	Forked     = 1 << 0 // flag: a child made by fork, which goes on with its parent's stack
	Flight     = 1 << 1 // flag: threads record their calls
	FlightEnds = 1 << 2 // flag: and the ends of calls that no later entry implies
	MicroClock = 1 << 3 // flag: a Go program's; the units of the clock of mode trace are microseconds, and times exact

	CallsShift = 4 // of the flags: the table of the numbers of system calls
	CallsMask  = 7

	CallsOlder   = 0 // not stated, by older runtimes: they were read as those of x86-64
	CallsX86_64  = 1
	CallsGeneric = 2 // asm-generic/unistd.h, which AArch64 and newer machines have
	CallsWindows = 3 // places in WindowsCalls
	CallsArm     = 4 // arch/arm/tools/syscall.tbl
	CallsMacOS   = 5 // bsd/kern/syscalls.master; traps of Mach, whose numbers are negative, are behind MachTraps
	CallsUnknown = 7
	MachTraps    = 1024
	// CallFault stands for a system call: the thread waited outside of all, for memory.
	CallFault = 0xfffffffe
)

// WindowsCalls are the system calls of Windows in which threads wait, by the names of the functions that make them: their own
// numbers are others in each release. A number beyond them is another call.
const WindowsCalls = "NtDelayExecution NtWaitForSingleObject NtWaitForMultipleObjects NtWaitForAlertByThreadId NtWaitForKeyedEvent " +
	"NtSignalAndWaitForSingleObject NtReadFile NtReadFileScatter NtWriteFile NtWriteFileGather NtFlushBuffersFile NtFlushBuffersFileEx " +
	"NtDeviceIoControlFile NtFsControlFile NtLockFile NtCreateFile NtOpenFile NtClose NtDeleteFile NtQueryDirectoryFile " +
	"NtQueryDirectoryFileEx NtQueryAttributesFile NtQueryFullAttributesFile NtQueryInformationFile NtSetInformationFile " +
	"NtRemoveIoCompletion NtRemoveIoCompletionEx NtWaitForWorkViaWorkerFactory NtUserGetMessage NtUserMsgWaitForMultipleObjectsEx " +
	"NtUserWaitMessage NtUserPeekMessage NtUserMessageCall NtAlpcSendWaitReceivePort NtRequestWaitReplyPort NtReplyWaitReceivePort " +
	"NtReplyWaitReceivePortEx NtGdiDdDDIWaitForVerticalBlankEvent NtGdiDdDDIPresent NtGdiDdDDISubmitCommand " +
	"NtGdiDdDDIWaitForSynchronizationObjectFromCpu NtAllocateVirtualMemory NtFreeVirtualMemory NtProtectVirtualMemory " +
	"NtMapViewOfSection NtUnmapViewOfSection NtYieldExecution NtSuspendThread NtCreateUserProcess NtTerminateProcess " +
	"NtTerminateThread NtWaitForDebugEvent NtQueryVirtualMemory NtFlushVirtualMemory NtOpenKey NtOpenKeyEx NtQueryValueKey NtSetValueKey"

// Chunks.
const (
	ChunkSize       = 65536 // and what they are aligned to; the first is at ChunkSize
	ChunkMagic      = 0x6b686363
	ChunkHeaderSize = 64
	MaxPayload      = ChunkSize - ChunkHeaderSize

	ChunkKindOffset     = 4
	ChunkFormOffset     = 6
	ChunkPIDOffset      = 8
	ChunkTIDOffset      = 12
	ChunkSequenceOffset = 16
	ChunkUsedOffset     = 20
	ChunkFirstOffset    = 24
	ChunkLastOffset     = 32
	ChunkDroppedOffset  = 40
	ChunkBeforeOffset   = 56
	ChunkEpisodeOffset  = 40 // of chunks of kind KindFlight: number of the spike whose window it is in
	ChunkTopOffset      = 48 // of those: low half of the stack pointer at the thread's first event
	ChunkNumberOffset   = 48 // of chunks of kind KindTree: number of the first record
	ChunkChecksumOffset = 60

	KindRecords = 1
	KindSeen    = 2
	KindEvents  = 3
	KindFlight  = 4
	KindTree    = 8
	KindFrames  = 9
	KindQueue   = 10
	KindOpen    = 11
)

// Queues.
const (
	Queues          = 4 // in a chunk
	QueueSize       = MaxPayload / Queues
	QueueHeaderSize = 16
	QueueRoom       = QueueSize - QueueHeaderSize
	QueueSkip       = 0xffff // in place of a type: the rest of the ring is not used
	QueueReadOffset = 8
)

// Record types.
const (
	TypeModule    = 1
	TypeEpisode   = 2
	TypeParent    = 3
	TypeThread    = 4
	TypeStall     = 5
	TypeTrailer   = 6
	TypeText      = 7
	TypeSeen      = 8
	TypeTrace     = 9
	TypeUsage     = 10
	TypeWait      = 13
	TypeFreeze    = 14
	TypeHolder    = 15
	TypeJoined    = 16
	TypeSuspended = 17
	TypeOpen      = 11
	TypeTree      = 20
	TypeNode      = 21
	TypeSetting   = 24
	TypeFrames    = 25
)

// Sizes of the fixed parts of records.
const (
	RecordHeaderSize = 8
	ModuleSize       = 72 // then the path
	EpisodeSize      = 80 // then the entries
	EntrySize        = 32
	JoinedSize       = 16
	SuspendedSize    = 48
	ParentSize       = 64
	ThreadSize       = 24 // then the name and the starters
	MaxStarters      = 48
	StallSize        = 32
	TrailerSize      = 192
	TrailerLeast     = 144 // of older runtimes
	TrailerClocked   = 176 // of those that say nothing of open calls
	TextSize         = 40  // then the text
	SeenSize         = 64
	SettingSize      = 48
	UsageSize        = 80
	WaitSize         = 48 // then the reasons, the addresses and the text
	ReasonSize       = 16
	FreezeSize       = 40
	HolderSize       = 64 // then the addresses
	MaxReasons       = 16
	MaxWaitStack     = 24
	MaxPeer          = 108
	FramesSize       = 64 + 8*FrameBuckets + 24*FramesLongest
	FrameBuckets     = 1024
	FramesLongest    = 64
	NodeSize         = 56 // of trees as well
	TraceSize        = 64
	EventSize        = 8
	OpenSize         = 104 // then the entries
	OpenSlot         = 4088
	OpenSlots        = MaxPayload / OpenSlot
	OpenName         = 16
	ClockUnit        = 20_000 // ns; the clock of mode trace moves at most that often

	MaxBuildID = 20
	// MaxEntries bounds the stack entries and child entries of an episode together.
	MaxEntries = 120
	MaxText    = 512
	MaxPath    = 4096
)

// Flags of modules.
const (
	ModuleMain         = 1 << 0 // the executable
	ModuleInstrumented = 1 << 1
	ModuleUnloaded     = 1 << 2
)

// Flags of episodes.
const (
	EpisodePreempted   = 1 << 0 // the thread lost its processor in the meantime
	EpisodeBeforeFork  = 1 << 1 // the peak was entered before the process was forked
	EpisodeCut         = 1 << 2 // there are more frames than were looked for
	EpisodeNoUnwinder  = 1 << 3 // the stack was walked by frame pointers
	EpisodeCallerOnly  = 1 << 4 // the stack is the peak and its caller
	EpisodeChildrenCut = 1 << 5 // there were more slow calls than are kept: children may be missing
	EpisodeSnapshot    = 1 << 6 // no spike: the program asked for its stack; the peak has not ended
	EpisodeOpen        = 1 << 7 // the peak has not ended
)

// Flags of entries.
const (
	EntryNoStamp    = 1 << 0 // not instrumented, or entered before the runtime was: no times
	EntryBeforeFork = 1 << 1
	EntryExact      = 1 << 2 // pc is the instruction itself: a frame that a signal interrupted
	EntryGap        = 1 << 3 // frames before this one are left out
	EntryIgnored    = 1 << 4 // mark-up says not to report it
	EntryLeft       = 1 << 5 // it did not return: an exception, a longjmp or the end of the thread left it
	EntrySuspended  = 1 << 6 // of a peak: without the time in which its stack did not run it would not have been too long
)

// Flags of open calls.
const (
	OpenLeft = 1 << 0 // it did not return, but its thread left it, or ended
	OpenRuns = 1 << 1 // the thread ran: its innermost calls may have ended, if they were short
	OpenHeld = 1 << 2 // it waits for a lock, of which is known who has it, or for the end of a thread

	OpenKindShift = 8
)

// How a goroutine of an open call waits for a channel.
const (
	OpenReceives = 1
	OpenSends    = 2
	OpenSelects  = 3
)

// Flags of waits: what the longest wait of a call was for. Several of the first six are set if it was for
// several files.
const (
	WaitListener = 1 << 0 // a socket at which others connect
	WaitIncoming = 1 << 1 // a connection that the other end made, or a socket that any peer can send to
	WaitOutgoing = 1 << 2 // a connection that the process made
	WaitInternal = 1 << 3 // what the process itself, or the kernel, signals: pipes, events, timers
	WaitFile     = 1 << 4 // any other file
	WaitUnknown  = 1 << 5 // there were files of which the kind is not known
	WaitThread   = 1 << 6 // the end of another thread of the process
	WaitUnwound  = 1 << 8 // the addresses are a stack
)

// Reasons of the waits of a goroutine.
const (
	ReasonOther     = 0
	ReasonChannel   = 1
	ReasonLock      = 2
	ReasonNetwork   = 3
	ReasonSleep     = 4
	ReasonGC        = 5
	ReasonProcessor = 6
	ReasonStopped   = 7
	ReasonSystem    = 8  // a system call, or C: it may have run
	ReasonRWLock    = 9  // a sync.RWMutex
	ReasonGroup     = 10 // a sync.WaitGroup
	ReasonCond      = 11 // a sync.Cond
)

// Above the flags of episodes and parents is the number of the stack that the call was
// on: 0 for the thread's own, or one for each that it changed to.
const (
	StackShift   = 8
	StackUnknown = 1<<24 - 1 // none of the thread's own, and no more is known
)

// Flags of trailers.
const (
	TrailerFinal = 1 << 0 // the process ended in order
	TrailerOff   = 1 << 1 // switched off by CAIRN_SPIKE
)

// Flags of settings.
const SettingOff = 1 << 0 // not looked for spikes

// Flags of nodes.
const (
	NodeUntimed = 1 << 0 // only its calls were counted
	NodeLongest = 1 << 1 // it has the longest call

	// In the upper bits of the flags is the number of the module plus one, if that was unloaded: another may have
	// been loaded at its addresses. NodeModuleMost: the number is not known.
	NodeModuleShift = 16
	NodeModuleMost  = 1<<16 - 1
)

// Kinds of clock.
const (
	TickThread = 1
	TickSignal = 2
	TickExact  = 3 // none: each call reads the TSC
)

// Kinds of text.
const (
	TextDescription = 1
	TextMessage     = 2
	TextSection     = 3
)

// ModeSpike is the mode in the header of a log of spikes (prof.ModeSpike).
const ModeSpike = 7

// ModeStacks is the mode in the header of a log of stacks (prof.ModeStacks).
const ModeStacks = 8

// ModeTrace is the mode in the header of a log of all calls (prof.ModeTrace).
const ModeTrace = 9

// Events of flight recorders that are no calls, by what stands for the function.
const (
	FlightTime     = 0 // the clock
	FlightExit     = 1 // a call has ended
	FlightStack    = 2 // a stack that is not the thread's own ends there
	FlightHandlers = 3 // as well, of a stack for handlers of signals

	// ChunkCalls is how many calls a chunk has at most: it begins with a time, and its
	// last place is not used.
	ChunkCalls = MaxPayload/EventSize - 2

	// FlightLead is how far a window reaches back before its spike, at least if the
	// recorder does: so many times as long as the spike took.
	FlightLead = 2
)

// Kinds of events.
const (
	EventEnter    = 0
	EventExit     = 1
	EventTailExit = 2
	EventArrive   = 3 // control is back in the function, by an exception or a longjmp
	EventKindMask = 3

	// Events without a function, around a call that continues on another stack. In place of the time they have the
	// stack pointer there, divided by 16.
	EventSuspend = 1
	EventResume  = 2
)
