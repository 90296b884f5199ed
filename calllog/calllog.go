// Package calllog is the model of logs of calls: the enters and exits of functions in a program, from any
// recorder. Readers of logs (format/xray) return a Log; accounting, conversions and drawings use it,
// independent of formats.
//
// A log is replayed thread by thread. The events of a thread are in parts that can be read separately, so that
// a log is never in memory as a whole and several cores can work on one thread.
//
// Damage does not end a log: it is yielded as a *Damage between the batches, and the good events around it
// follow. Any other error is the last value yielded.
package calllog

import (
	"fmt"
	"iter"
	"math/bits"
	"strconv"
)

// FuncID is the number of a function in a log. It is meaningful only together with the program that wrote the
// log. The top 8 bits are the number of the object, 0 for the main program, as XRay packs them.
type FuncID uint32

const objectShift = 24

// MakeFuncID returns the id of function number index, counted from 1, of an object.
func MakeFuncID(object uint8, index uint32) FuncID {
	return FuncID(object)<<objectShift | FuncID(index)&(1<<objectShift-1)
}

// Object returns the number of the object that id is in, 0 for the main program.
func (id FuncID) Object() uint8 { return uint8(id >> objectShift) }

// Index returns the number of the function within its object.
func (id FuncID) Index() uint32 { return uint32(id) & (1<<objectShift - 1) }

// Kind is the kind of an event.
type Kind uint8

// The kinds of events.
const (
	Enter     Kind = iota // a call begins
	Exit                  // it returns
	TailExit              // it ends by a jump to another function
	EnterArgs             // a call begins, and its payload has arguments
	Custom                // data that the program logged
	Typed                 // the same, with a number for its type
	Arrive                // control is back in a call, by an exception or a longjmp: those above it are left
	// Suspend and Resume are before and after a call that continues on another stack. In place of the function
	// they have a number for the stack pointer there.
	Suspend
	Resume
	kinds
)

var kindNames = [kinds]string{"enter", "exit", "tail exit", "enter with arguments", "custom event", "typed event", "arrival", "left stack", "continued stack"}

func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// IsEnter reports whether a call begins.
func (k Kind) IsEnter() bool { return k == Enter || k == EnterArgs }

// IsExit reports whether a call ends.
func (k Kind) IsExit() bool { return k == Exit || k == TailExit }

// Event is one record of a thread.
type Event struct {
	Time    uint64 // in ticks of the log's clock
	Func    FuncID // 0 for custom and typed events
	Payload uint32 // 1 + index into the batch's Payloads, 0 for none
	CPU     uint16
	Kind    Kind
}

// Payload is the data of an event besides its time.
type Payload struct {
	Args []uint64 // of EnterArgs
	Data []byte   // of Custom and Typed
	Type uint16   // of Typed: the number that the program registered
}

// Batch is a run of events of one thread, in the order of recording. Its memory is reused for the next one.
type Batch struct {
	Events   []Event
	Payloads []Payload
	// Break says that events of the thread may be missing between the previous batch and this one: a log's
	// block begins here.
	Break bool
}

// Thread is a thread with events in a log.
type Thread struct {
	PID, TID uint32 // PID is 0 where the log does not name it
	Stack    uint32 // which of the thread's stacks, where each is a thread of the log: 0 is its own
	Name     string // what to call it, "" if the log does not say
	// Starters are the functions that started it, the outermost first: the stack in which a goroutine
	// was started, and those of the goroutines before. Their calls are in other threads.
	Starters []FuncID
	// View reports that other threads have the same time: a processor of an execution trace, on which goroutines
	// ran. Sums over threads leave it out.
	View bool
	// Parts is the number of pieces that can be read separately, and Bytes their total size. All parts of a
	// thread have about the same size.
	Parts int
	Bytes int64
}

// Log is an open trace. Its methods may be called from several goroutines.
type Log interface {
	Info() *Info
	// Threads returns the threads, ascending by process, then by id.
	Threads() []Thread
	// Batches yields the events of the parts [from, to) of Threads()[thread] in
	// order. A batch never spans two parts. Damage is in the Damage of Info too
	// if it was seen when the log was opened, and here otherwise.
	Batches(thread, from, to int) iter.Seq2[*Batch, error]
}

// Info is what a log says about itself, or what was found at opening.
type Info struct {
	File   string // as messages name it
	Format string // "XRay FDR log, version 5"
	Size   int64  // bytes
	Clock  Clock
	// Duplicates is the number of blocks that occurred more than once and were read once.
	Duplicates int
	Damage     []*Damage // places that were skipped
	// Notes are sentences that a user should read: what may be missing and why.
	Notes []string
}

// Clock describes the clock of a log.
type Clock struct {
	Hz uint64 // ticks per second, 0 if not known
	// Claimed is the rate in the log's header, when Hz is another: one that was
	// estimated from pairs of ticks and wall-clock time. 0 if Hz is the header's.
	Claimed uint64
	// Start is the time of the first event; displayed times are relative to it.
	Start uint64
	// Epoch says that ticks are nanoseconds since 1970.
	Epoch bool
	// Mono says that tick 0 is at Base nanoseconds of the system's monotonic clock, and Boot
	// is the time since 1970 at which that clock was 0.
	Mono bool
	Base uint64
	Boot int64
	// Step is the time in nanoseconds between two values of the clock as the recorder read it, 0 if these are
	// ticks. The duration of a single call is known to this: it is less than recorded plus a step.
	Step uint64
}

// Nanoseconds converts ticks exactly, rounded down; without a known rate it returns ticks themselves.
func (c Clock) Nanoseconds(ticks uint64) uint64 {
	const second = 1e9
	if c.Hz == second || c.Hz == 0 {
		return ticks
	}
	hi, lo := bits.Mul64(ticks, second)
	if hi >= c.Hz {
		return 1<<64 - 1 // over 584 years
	}
	q, _ := bits.Div64(hi, lo, c.Hz)
	return q
}

// Ticks returns the least number of ticks that last that many nanoseconds; without a known rate the number
// itself.
func (c Clock) Ticks(nanoseconds uint64) uint64 {
	const second = 1e9
	if c.Hz == second || c.Hz == 0 {
		return nanoseconds
	}
	hi, lo := bits.Mul64(nanoseconds, c.Hz)
	lo, carry := bits.Add64(lo, second-1, 0)
	if hi += carry; hi >= second {
		return 1<<64 - 1
	}
	q, _ := bits.Div64(hi, lo, second)
	return q
}

// Unit returns the unit of Nanoseconds: "ns", or "ticks".
func (c Clock) Unit() string {
	if c.Hz == 0 {
		return "ticks"
	}
	return "ns"
}

// Damage is a place in a log that could not be read and was skipped.
type Damage struct {
	File   string
	Offset int64 // in the file, or in what it decompresses to
	Size   int64 // bytes skipped; 0 if what there is was read
	What   string
}

func (d *Damage) Error() string {
	text := fmt.Sprintf("%s: offset %#x: %s", d.File, d.Offset, d.What)
	switch d.Size {
	case 0:
		return text
	case 1:
		return text + "; 1 byte skipped"
	}
	return fmt.Sprintf("%s; %d bytes skipped", text, d.Size)
}

// Func describes a function that logs identify by number.
type Func struct {
	Name   string // symbol name, mangled; "" if there is none
	File   string // source file, "" if not known
	Line   int    // where the function is declared, 0 if not known
	Addr   uint64 // link-time address
	Object string // base name of the program or shared object
	// Wait is "" for a function of the program. Some logs have functions that stand for a wait of their
	// caller: it is then what the caller waited for, such as "a channel". Such a function has no source.
	Wait string
}

// Funcs are the functions of the programs that wrote a log.
type Funcs map[FuncID]Func

// Name returns the symbol of a function. Without one, the name is the address as "@(1f40)" or the number as
// "#12", as in llvm-xray.
func (f Funcs) Name(id FuncID) string {
	switch fn, ok := f[id]; {
	case ok && fn.Name != "":
		return fn.Name
	case ok && fn.Addr != 0:
		return "@(" + strconv.FormatUint(fn.Addr, 16) + ")"
	}
	return "#" + strconv.FormatUint(uint64(id), 10)
}
