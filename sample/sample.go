// Package sample is the model of sampled profiles: stacks and branches of a program at some moments, from any
// recorder. Readers (format/perfscript, format/perfdata) return a Source; unwinding, attribution and counting
// use it, independent of formats.
//
// A source yields its records in batches, in the order of time. Changes of address spaces (a file was mapped, a
// process forked) are events; Spaces applies them and returns the mapping at an address.
//
// Unreadable data does not end a source: it is counted as Damage by kind, with the first place of each. Any
// other error is the last value yielded.
package sample

import (
	"context"
	"fmt"
	"iter"
	"math/bits"
	"strconv"
)

// UnknownPID is the process of a sample whose input does not name it, such as the output of `perf script -F
// ip,brstack`. Events with it belong to the kernel.
const UnknownPID = -1

// Branch is a taken branch: the address of the instruction and its target.
type Branch struct {
	From, To uint64
}

// Sample is one moment of a thread, or several equal ones.
type Sample struct {
	PID, TID int32 // UnknownPID where the input does not name them
	// Stack has the sampled address, then return addresses outwards. It is empty
	// if no stack was recorded but branches.
	Stack []uint64
	// Branches are the last branches taken before the moment, newest first.
	Branches []Branch
	// Mispredicted has bit i set if Branches[i] was mispredicted. It is not known for branches after the 64th.
	Mispredicted uint64
	// AtCalls says that the callers on the stack are the addresses of calls, as a processor records the calls that are
	// open, and not the addresses after them.
	AtCalls bool
	// InCalls says that the callers on the stack are addresses in the instructions of calls, at any of their bytes, as
	// simpleperf writes them. In recordings of its first versions they are after these.
	InCalls bool
	Count   uint64 // how many moments, at least 1
	// Period is the number of events (cycles, branches) that the moments stand
	// for together, 0 if not known.
	Period uint64
	Event  uint16 // index into the Events of Info
	// User is a copy of the thread's registers and of its stack. Then Stack has at most the
	// sampled address and what the kernel did. It is nil in most inputs.
	User *UserState
}

// UserState is what a thread had in its registers and on its stack.
type UserState struct {
	// Mask has bit i set for each register i, by perf's numbers for the machine, of which Regs
	// has the values, ascending.
	Mask uint64
	Regs []uint64
	// Stack are the bytes from the stack pointer on, as many as were copied.
	Stack []byte
	// Unwound is not 0 if the copy was unwound already: then Sample.Stack has all frames, and there are neither
	// registers nor bytes. It is how that ended, as who unwound it counts ends from 1.
	Unwound uint8
}

// Repeated reports whether the newest branch is recorded twice, as some processors do when they are
// interrupted: code between the two would have run backwards.
func (s *Sample) Repeated() bool {
	b := s.Branches
	return len(b) > 1 && b[0] == b[1] && b[0].To > b[0].From
}

// Reg returns the value of a register, and whether it was copied.
func (u *UserState) Reg(i int) (uint64, bool) {
	if u.Mask>>i&1 == 0 {
		return 0, false
	}
	n := bits.OnesCount64(u.Mask & (1<<i - 1))
	if n >= len(u.Regs) {
		return 0, false
	}
	return u.Regs[n], true
}

// EventKind is the kind of a change of an address space.
type EventKind uint8

// The kinds of events.
const (
	Map  EventKind = iota // a file was mapped
	Fork                  // a process began as a copy of another
	Exec                  // a process began another program: nothing is mapped
	Comm                  // a thread has another name
	Exit                  // a process ended
	eventKinds
)

var eventNames = [eventKinds]string{"map", "fork", "exec", "comm", "exit"}

func (k EventKind) String() string {
	if k < eventKinds {
		return eventNames[k]
	}
	return "event " + strconv.Itoa(int(k))
}

// Event is a change of the address space of a process.
type Event struct {
	Kind     EventKind
	PID, TID int32
	Parent   int32   // of Fork: the process that was copied
	Name     string  // of Exec and Comm
	Mapping  Mapping // of Map
}

// Mapping is a piece of a file in an address space.
type Mapping struct {
	Start, Size uint64 // addresses [Start, Start+Size)
	Offset      uint64 // in the file, of what is at Start
	Path        string // "[vdso]" and the like if it is not a file
	BuildID     string // in lower-case hexadecimal, "" if not known
	// Exec says that the mapping can be executed. It is true if not known.
	Exec bool
	// Linked says that Offset is the link-time address of Start, not an offset in the file: the input has addresses of
	// files, not of a process.
	Linked bool
}

// End returns the address after the mapping.
func (m *Mapping) End() uint64 { return m.Start + m.Size }

// Contains reports whether an address is in the mapping.
func (m *Mapping) Contains(addr uint64) bool { return addr-m.Start < m.Size }

// FileOffset returns the offset in the file of the byte mapped at addr.
func (m *Mapping) FileOffset(addr uint64) uint64 { return addr - m.Start + m.Offset }

// Source is an open input of samples.
type Source interface {
	// Info describes the input. It does not change while batches are read.
	Info() *Info
	// Batches yields the records in order. It can be called once. Stats are complete after its end.
	Batches(ctx context.Context) iter.Seq2[*Batch, error]
	// Stats returns the counts so far. It must be called only in the loop or after it, not while a batch is
	// being made.
	Stats() *Stats
}

// Kind is the kind of samples of an input.
type Kind uint8

// The kinds of inputs.
const (
	Nothing  Kind = iota // no samples
	Stacks               // stacks only
	Branches             // branches only
	Hybrid               // stacks and branches
	kinds
)

var kindNames = [kinds]string{"no samples", "stacks", "branches", "stacks and branches"}

func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// HasStacks reports whether samples of a kind have stacks.
func (k Kind) HasStacks() bool { return k == Stacks || k == Hybrid }

// HasBranches reports whether they have branches.
func (k Kind) HasBranches() bool { return k == Branches || k == Hybrid }

// Info describes an input.
type Info struct {
	File    string   // as messages name it
	Format  string   // "perf script text", "perf.data"
	Kind    Kind     // as far as the beginning shows it
	Size    int64    // bytes
	Events  []string // names of what was counted, "" where not known
	HasPIDs bool     // samples name their process
	AllPIDs bool     // all samples do
	Command string   // what was recorded, "" if not known
	// Simpleperf: Android's simpleperf recorded it, whose flags differ from perf's.
	Simpleperf bool
	Host       string // where, "" if not known
	// Whole: stacks have the caller in prologues and epilogues too, where a walk of frame pointers misses it.
	Whole bool
	// Copies: the stacks of samples were copied, see UserState.
	Copies bool
	// BuildIDs are those of files that the input has apart from its mappings.
	BuildIDs map[string]string // by path
	// Notes are sentences that a user should read: what may be missing and why.
	Notes []string
}

// Stats are sums over the input read so far.
type Stats struct {
	Bytes    int64  // of the input
	Samples  uint64 // moments, repeated ones included
	Records  uint64 // of which each can stand for several moments
	Frames   uint64 // of their stacks
	Branches uint64
	Copies   uint64 // moments of which the stack was copied, see UserState
	// ByDepth counts moments by the number of their branches; the last counts
	// those with more.
	ByDepth [MaxDepth + 2]uint64
	// Lost is the number of records that the kernel says it could not write.
	Lost uint64
	// WrongPath is the number of branches that a processor recorded on a path that it had predicted and then gave up.
	// They did not happen, and samples do not have them.
	WrongPath uint64
	Trace     TraceLoss // what was lost of a trace of the processor
	Damage    []*Damage // what could not be read, one of each kind
}

// TraceLoss is what the kernel says of losses in a trace, by pieces that it copied. It does not say how many
// records were lost in each.
type TraceLoss struct {
	Pieces     uint64 // that the kernel describes
	Lossy      uint64 // pieces with one of the losses below, or several
	Truncated  uint64 // the buffer was full
	Partial    uint64 // tracing stopped meanwhile
	Collisions uint64 // an operation was sampled before the one before was recorded
	Undecoded  uint64 // bytes of traces that cairn does not decode, as of Intel PT
}

func (l *TraceLoss) add(other *TraceLoss) {
	l.Pieces += other.Pieces
	l.Lossy += other.Lossy
	l.Truncated += other.Truncated
	l.Partial += other.Partial
	l.Collisions += other.Collisions
	l.Undecoded += other.Undecoded
}

// MaxDepth is the number of branches that the deepest hardware remembers: 32 with
// Intel's LBR and 64 with Arm's BRBE.
const MaxDepth = 64

// Add adds a sample to the sums.
func (s *Stats) Add(x *Sample) {
	s.Samples += x.Count
	s.Records++
	s.Frames += x.Count * uint64(len(x.Stack))
	s.Branches += x.Count * uint64(len(x.Branches))
	if x.User != nil {
		s.Copies += x.Count
	}
	s.ByDepth[min(len(x.Branches), MaxDepth+1)] += x.Count
}

// Merge adds the sums of another part of the same input, which comes after s.
func (s *Stats) Merge(other *Stats) {
	s.Bytes += other.Bytes
	s.Samples += other.Samples
	s.Records += other.Records
	s.Frames += other.Frames
	s.Branches += other.Branches
	s.Copies += other.Copies
	s.Lost += other.Lost
	s.WrongPath += other.WrongPath
	s.Trace.add(&other.Trace)
	for i, n := range other.ByDepth {
		s.ByDepth[i] += n
	}
	for _, d := range other.Damage {
		s.damaged(*d)
	}
}

// Damaged counts a place that could not be read. Damage of the same kind is
// counted together, under the first place.
func (s *Stats) Damaged(what string, file string, line, offset int64) {
	s.damaged(Damage{What: what, Count: 1, File: file, Line: line, Offset: offset})
}

func (s *Stats) damaged(d Damage) {
	for _, known := range s.Damage {
		if known.What == d.What {
			known.Count += d.Count
			return
		}
	}
	s.Damage = append(s.Damage, &d)
}

// Damage is a part of an input that could not be read and was skipped.
type Damage struct {
	What   string // what is wrong, and what was done about it
	Count  uint64 // number of places
	File   string
	Line   int64 // of the first place, counted from 1; 0 if the input has no lines
	Offset int64 // of the first place, in the file or in what it decompresses to
}

func (d *Damage) Error() string {
	where := fmt.Sprintf("offset %#x", d.Offset)
	if d.Line > 0 {
		where = fmt.Sprintf("line %d", d.Line)
	}
	if d.Count > 1 {
		return fmt.Sprintf("%s: %s: %s (%d such places, this is the first)", d.File, where, d.What, d.Count)
	}
	return fmt.Sprintf("%s: %s: %s", d.File, where, d.What)
}
