// Package prof holds the data types of profiles: the contents of a linked module (Map,
// Func, Fragment, Call) and the results of its runs (Profile, Module, Counts, Site). It
// has no I/O, no formats and no policy; the codecs live in format/..., the algorithms in
// internal/....
//
// The vocabulary follows LLVM's Machine IR Profile (MIP): a function's record
// is the handful of bytes in the program's memory that its probes write; the
// map relates records to names and addresses and never ships with the program;
// a profile is a map with the sum of many raw files.
package prof

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// BuildID is a module's ELF build id, as raw bytes. It is the identity that
// ties a binary, its map and its raw files together.
type BuildID string

// String returns the build id in lower-case hexadecimal, as readelf -n prints it.
func (id BuildID) String() string { return hex.EncodeToString([]byte(id)) }

// Short returns a short form of a build id for messages: enough to distinguish builds.
func (id BuildID) Short() string {
	const digits = 12
	s := id.String()
	return s[:min(len(s), digits)]
}

// Mode is what a function's record holds. The numbers are part of the file formats.
type Mode uint8

// The modes of records, from the cheapest to the most detailed.
const (
	ModeCover Mode = 1 // one byte: has the function run
	ModeBlock Mode = 2 // one byte per basic block, the entry block's first
	ModeCount Mode = 3 // call count and first-execution index
	ModeFull  Mode = 4 // ModeCount, first caller, one byte per non-entry block

	ModeOrder      Mode = 5 // ModeCover, and a slot in the buffer of first executions
	ModeBlockOrder Mode = 6 // ModeBlock, and a slot in the buffer of first executions

	// The timed modes also have code at every exit, and logs of their own: no record, map, raw file or profile
	// is of these modes.

	ModeSpike  Mode = 7 // a stamp for each call, compared when it ends
	ModeStacks Mode = 8 // a tree of calls
	ModeTrace  Mode = 9 // an event for each entry and exit

	ModeEdge Mode = 10 // ModeCount, and counters from which the executions of all blocks and branches follow

	// ModeSampled is not recorded: a build without probes has a map of its blocks, which are those of ModeEdge, and
	// their executions are estimated from samples. What was not sampled may have run.
	ModeSampled Mode = 11
)

var modeNames = [...]string{
	ModeCover: "cover", ModeBlock: "block", ModeCount: "count", ModeFull: "full",
	ModeOrder: "order", ModeBlockOrder: "block+order",
	ModeSpike: "spike", ModeStacks: "stacks", ModeTrace: "trace",
	ModeEdge: "edge", ModeSampled: "sampled",
}

// String returns the mode's name as the command line spells it.
func (m Mode) String() string {
	if m.Valid() {
		return modeNames[m]
	}
	return "invalid"
}

// Valid reports whether m is one of the modes.
func (m Mode) Valid() bool { return m >= ModeCover && m <= ModeSampled }

// Timed reports whether m measures the time of calls.
func (m Mode) Timed() bool { return m >= ModeSpike && m <= ModeTrace }

// HasBlocks reports whether records of this mode hold block coverage.
func (m Mode) HasBlocks() bool {
	return m == ModeBlock || m == ModeFull || m == ModeBlockOrder || m.HasEdges()
}

// HasEdges reports whether it is known of this mode how often blocks ran, and how often control went from each to
// those that follow it.
func (m Mode) HasEdges() bool { return m == ModeEdge || m == ModeSampled }

// Estimated reports whether the counts of this mode are estimates: 0 does not say that something did not run.
func (m Mode) Estimated() bool { return m == ModeSampled }

// HasCalls reports whether records of this mode hold call counts and, unless they are estimated,
// first-execution indexes.
func (m Mode) HasCalls() bool { return m == ModeCount || m == ModeFull || m.HasEdges() }

// HasSlots reports whether first executions of this mode go to a buffer of
// their own instead of the records.
func (m Mode) HasSlots() bool { return m == ModeOrder || m == ModeBlockOrder }

// HasOrder reports whether a run of this mode records in which order functions
// were first executed.
func (m Mode) HasOrder() bool { return m.HasCalls() && !m.Estimated() || m.HasSlots() }

// ParseMode returns the mode that name spells and whether there is one.
func ParseMode(name string) (Mode, bool) {
	for m, s := range modeNames {
		if s == name && s != "" {
			return Mode(m), true
		}
	}
	return 0, false
}

// MarshalText returns the name of a mode.
func (m Mode) MarshalText() ([]byte, error) {
	if !m.Valid() {
		return nil, fmt.Errorf("%d is not a mode", m)
	}
	return []byte(m.String()), nil
}

// UnmarshalText reads the name of a mode.
func (m *Mode) UnmarshalText(name []byte) error {
	mode, ok := ParseMode(string(name))
	if !ok {
		return fmt.Errorf("unknown mode %q", name)
	}
	*m = mode
	return nil
}

// Fragment is one contiguous piece of a function's code. The first fragment of
// a function starts at its entry; others are the .cold and .part pieces that
// the compiler split off.
type Fragment struct {
	Addr uint64 // link-time address
	Size uint32 // bytes
	// Blocks are the offsets from Addr, ascending, of the fragment's basic
	// blocks; the function's entry block is left out. Empty without block
	// instrumentation.
	Blocks []uint32
}

// Implied is a block without a probe of its own: its coverage follows from that
// of others.
type Implied struct {
	Block uint32 // not the entry block
	// By are blocks with probes, ascending, at least one: the block ran if and
	// only if one of them did. Empty in modes with edges, where it follows from Func.Flow.
	By []uint32
}

// Flow is where control goes from a block, and from where it comes if not from another block.
type Flow struct {
	// Next are blocks to which it goes on, ascending and distinct.
	Next []uint32
	// Entered reports that control may come in other ways than from a block that goes on to this one: a call, for
	// the entry block; a jump table; the landing of an exception.
	Entered bool
	// Leaves reports that control may go elsewhere than to Next: it returns, the jump is computed, a call in the
	// block may not return.
	Leaves bool
}

// Call is a direct call (or tail call) in the code.
type Call struct {
	Block  uint32 // index of the block that holds it; 0 is the entry block
	Callee string // symbol name, mangled
}

// Func is one instrumented function of a module.
type Func struct {
	Name      string // symbol name, mangled
	File      string // source file as the compiler named it, "" if unknown
	Mode      Mode
	Atomic    bool       // calls are counted with locked instructions: no thread's is lost
	Plain     bool       // compiled without optimisation: each line has its code, and all of it
	Signature uint32     // hash of the control-flow graph; equal code shape, equal signature
	Record    uint64     // offset in bytes of its record in the module's raw section
	Fragments []Fragment // at least one
	Implied   []Implied  // ascending by Block; empty without block instrumentation
	Flow      []Flow     // by block, the entry block first; only in modes with edges
	Calls     []Call     // in code order; only with ModeFull and ModeEdge
}

// Addr returns the link-time address of the function's entry.
func (f *Func) Addr() uint64 { return f.Fragments[0].Addr }

// Size returns the code size in bytes, all fragments together.
func (f *Func) Size() uint64 {
	var n uint64
	for i := range f.Fragments {
		n += uint64(f.Fragments[i].Size)
	}
	return n
}

// NumBlocks returns the number of basic blocks, the entry block included.
// Without block instrumentation it is 1.
func (f *Func) NumBlocks() int {
	n := 1
	for i := range f.Fragments {
		n += len(f.Fragments[i].Blocks)
	}
	return n
}

// NumProbes returns the number of blocks that have a probe of their own.
func (f *Func) NumProbes() int { return f.NumBlocks() - len(f.Implied) }

// BlockAddr returns the link-time address of block i, where 0 is the entry.
func (f *Func) BlockAddr(i int) uint64 {
	if i == 0 {
		return f.Addr()
	}
	i--
	for k := range f.Fragments {
		fr := &f.Fragments[k]
		if i < len(fr.Blocks) {
			return fr.Addr + uint64(fr.Blocks[i])
		}
		i -= len(fr.Blocks)
	}
	panic("prof: block index out of range")
}

// Map describes the instrumented functions of one linked module.
type Map struct {
	BuildID BuildID
	Module  string // base name of the binary the map was taken from
	RawAddr uint64 // link-time address of the raw section
	RawSize uint64 // bytes
	Machine string // machine of its code, as package machine names it; "" if unknown
	Funcs   []Func // ascending by Addr, then by Record
	// Absent are functions that were compiled for the module and that Funcs lacks, in the order of Compare, distinct.
	Absent []Absent
}

// Go reports whether the map is of a Go program that cairn go built.
func (m *Map) Go() bool {
	return len(m.Funcs) > 0 && !slices.ContainsFunc(m.Funcs, func(f Func) bool { return !strings.HasSuffix(f.File, ".go") })
}

// Machine returns the machine of the modules, "" if none knows.
func (p *Profile) Machine() string {
	for i := range p.Modules {
		if m := p.Modules[i].Machine; m != "" {
			return m
		}
	}
	return ""
}

// Counts is the result of the merged runs of a module for one function.
type Counts struct {
	Runs     uint64 // raw files in which the function ran
	Calls    uint64 // calls in all runs, saturating; 0 if the mode does not count
	OrderSum uint64 // sum over Runs of the first-execution index, which starts at 1
	// Inexact is set if Calls may be too low: the function ran in a process that is not known to have had only
	// one thread, and was not counted by locked instructions, or a 32-bit counter wrapped.
	Inexact bool
	// Blocks holds, for each non-entry block in the order of
	// Func.BlockAddr(1...), the number of raw files in which it ran. Nil if the
	// mode has no blocks.
	Blocks []uint64
	// Times holds, for each non-entry block, how often it ran in all raw files. Nil if the mode has no edges.
	Times []uint64
	// Callers are the return addresses of the first calls, ascending by Addr.
	Callers []Site
	// Unprobed is the number of raw files without information about the function: in a module that was joined
	// from several builds, those of the builds in which it has no probe.
	Unprobed uint64
}

// Executions returns how often each block of f ran, by its counts, the entry block first; nil if that is not recorded.
func (f *Func) Executions(c *Counts) []uint64 {
	if !f.Mode.HasEdges() {
		return nil
	}
	return append([]uint64{c.Calls}, c.Times...)
}

// Site is a place the function was first called from.
type Site struct {
	Addr uint64 // link-time return address; 0 means outside the instrumented code
	Runs uint64 // raw files that saw it
}

// MeanOrder returns the mean first-execution index over the runs in which the
// function ran, or 0 if it never did or the mode does not record it.
func (c *Counts) MeanOrder() float64 {
	if c.Runs == 0 {
		return 0
	}
	return float64(c.OrderSum) / float64(c.Runs)
}

// Module is a map with the sums of the raw files of that build.
type Module struct {
	Map
	Raws   uint64   // raw files merged
	Counts []Counts // parallel to Map.Funcs
	// Traces are the first-execution orders of single runs: all of them, or a sample if there were too many.
	// Ascending by scenario, then by key.
	Traces []Trace
	// TracesSeen is the number of runs that Traces were sampled from, at least
	// len(Traces).
	TracesSeen uint64
	Held       RunSet // runs that the sums include
}

// RunsOf returns the number of raw files that show whether the function with the counts c ran.
func (m *Module) RunsOf(c *Counts) uint64 { return m.Raws - c.Unprobed }

// RunSet records runs, so that none is summed twice. It has nothing for a raw file whose run is unknown.
type RunSet struct {
	// IDs are hashes of the identities of runs, ascending and distinct. If there are more than MaxRuns, the
	// lowest are kept.
	IDs []uint64
	// Sketch is set if IDs have only their first SketchBits bits, followed by zeros, as there were more than
	// MaxExactRuns: a few new runs may seem to be among them.
	Sketch bool
}

// Bounds of a RunSet.
const (
	MaxExactRuns = 1 << 13
	MaxRuns      = 1 << 24
	SketchBits   = 40
)

// Trace is the order in which one run first executed a module's functions.
type Trace struct {
	Scenario string // scenario of the run (CAIRN_SCENARIO); "" if none was given
	Weight   uint64 // how often this run counts, at least 1
	// Key decides whether the run is in a sample: the runs with the lowest keys are. It is a hash, so a sample
	// does not depend on who drew it.
	Key uint64
	// Funcs are indexes into Map.Funcs in the order of first execution, each
	// function at most once.
	Funcs []uint32
	// Cut is set if the buffer of the run was too small: the first functions
	// are missing from Funcs.
	Cut bool
}

// Profile is a set of modules with distinct build ids, ascending by module
// name, then by build id.
type Profile struct {
	Modules []Module
}

// Covered reports whether block i (0 is the entry) ran in any merged raw file.
func (c *Counts) Covered(i int) bool {
	if i == 0 {
		return c.Runs > 0
	}
	return i-1 < len(c.Blocks) && c.Blocks[i-1] > 0
}
