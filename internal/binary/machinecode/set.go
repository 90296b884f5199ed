package machinecode

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// Set holds the instructions of the binaries of a run. It does not change, and is safe for concurrent use, unless it is lazy.
type Set struct {
	binaries []*Binary
	machine  machine.Kind

	// For instruction firstRef+i. Together they take 9 bits and 4 bytes.
	offsets []uint32 // from the start of its section
	shapes  []shape
	// barriers are the instructions that end a sequence of instructions, dubious those at
	// which a stack may lack a frame.
	barriers, dubious bitset
	entries           bitset // where functions are entered
	framesOnce        sync.Once
	framed, frameless bitset // see Frame, which makes them

	leaving  []Ref // direct jumps out of their range of code, ascending unless the set is lazy
	computed []Ref // indirect jumps, likewise

	lazy

	callersOnce sync.Once
	callers     *Callers
}

// shape is the class of an instruction and its length.
type shape uint8

// departing is the bit of jumps at which a stack lacks a frame.
const departing shape = 1 << 7

func newShape(c controlflow.Class, size uint8) shape { return shape(c)<<4 | shape(size) }

func (s shape) class() controlflow.Class { return controlflow.Class(s &^ departing >> 4) }
func (s shape) size() uint64             { return uint64(s & 15) }

// errTooMany reports that the number of instructions exceeds the range of Ref.
var errTooMany = errors.New("the binaries have more than 1 GB of code together")

const maxInstructions = 1 << 30 // unwinding needs a bit of Ref for itself

// NewSet disassembles programs.
func NewSet(programs ...*objfile.Program) (*Set, error) { return newSet(false, programs) }

func newSet(isLazy bool, programs []*objfile.Program) (*Set, error) {
	s := &Set{lazy: lazy{on: isLazy}}
	s.reserve(programs)
	for _, p := range programs {
		bytes := 0
		for _, c := range p.Code {
			bytes += len(c.Data)
		}
		if bytes > maxInstructions-len(s.shapes) {
			return nil, errTooMany
		}
		if first := programs[0]; p.Machine != first.Machine {
			return nil, fmt.Errorf("%s is for %v, and %s for %v: no run has both", first.Path, first.Machine, p.Path, p.Machine)
		}
		arch, err := For(p.Machine)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Path, err)
		}
		s.machine = p.Machine
		s.binaries = append(s.binaries, newBinary(s, p, arch))
	}
	if s.on {
		return s, nil
	}
	s.barriers.cut(len(s.shapes))
	s.dubious.cut(len(s.shapes))
	s.entries = newBitset(len(s.shapes))
	s.markDubious()
	s.barriers.count()
	return s, nil
}

// reserve takes memory for the instructions of programs: pages that are not needed are not touched.
func (s *Set) reserve(programs []*objfile.Program) {
	const shortest = 3 // bytes that instructions have on average, or more
	bytes := 0
	for _, p := range programs {
		for _, c := range p.Code {
			bytes += len(c.Data)
		}
	}
	bytes = min(bytes, maxInstructions)
	if s.on {
		s.shapes = make([]shape, 0, bytes)
		return
	}
	s.offsets, s.shapes = make([]uint32, 0, bytes/shortest), make([]shape, 0, bytes/shortest)
	s.barriers, s.dubious = newBitset(bytes), newBitset(bytes)
}

// markBranch marks an instruction of a class from Call to Conditional: if it ends a sequence, and if it is a return, at which
// frame pointers do not show all frames, with the instruction before, which removes the frame.
func (s *Set) markBranch(i uint32, class controlflow.Class) {
	if endsRange(class) {
		s.barriers.set(i)
	}
	if class == controlflow.Return {
		s.dubious.set(i)
		s.dubious.set(max(i, 1) - 1)
	}
}

// markDubious marks function entries, and the other instructions at which frame pointers do not show
// all frames: the first two of a function, which create the frame.
func (s *Set) markDubious() {
	for _, b := range s.binaries {
		for i := range b.ranges {
			r := b.From(b.ranges[i].Lo)
			if x := &b.ranges[i]; (x.Entry || x.Start) && r < b.End {
				s.entries.set(uint32(r - firstRef))
			}
			for range 2 {
				if r < b.End {
					s.dubious.set(uint32(r - firstRef))
				}
				r++
			}
		}
	}
}

func (s *Set) end() Ref { return firstRef + Ref(len(s.shapes)) }

// Machine returns the machine of the binaries.
func (s *Set) Machine() machine.Kind { return s.machine }

// Binaries returns the binaries in their order.
func (s *Set) Binaries() []*Binary { return s.binaries }

// Len returns a number greater than all Refs of the set.
func (s *Set) Len() int { return int(s.end()) }

// Binary returns the binary that contains an instruction, or nil if r is none.
func (s *Set) Binary(r Ref) *Binary {
	if !r.IsInstruction() {
		return nil
	}
	if len(s.binaries) == 1 {
		return s.binaries[0]
	}
	i, found := slices.BinarySearchFunc(s.binaries, r, func(b *Binary, r Ref) int { return cmp.Compare(b.First, r) })
	if !found {
		i--
	}
	for i+1 < len(s.binaries) && s.binaries[i+1].First == r {
		i++ // a binary without instructions has the same first number as the next
	}
	return s.binaries[i]
}

// Address returns the link-time address of an instruction.
func (s *Set) Address(r Ref) uint64 {
	t := s.Binary(r).textOf(r)
	return t.addr + uint64(s.offset(t, r))
}

// Class returns the class of an instruction, or Other if r is none.
func (s *Set) Class(r Ref) controlflow.Class {
	if !r.IsInstruction() {
		return controlflow.Other
	}
	return s.shapes[r-firstRef].class()
}

// Size returns the size of an instruction in bytes.
func (s *Set) Size(r Ref) uint64 { return s.shapes[r-firstRef].size() }

// Target returns the target of a direct call or jump, conditional ones included: the link-time
// address in its binary.
func (s *Set) Target(r Ref) (uint64, bool) {
	switch s.Class(r) {
	case controlflow.Call, controlflow.Jump, controlflow.Conditional:
		t := s.Binary(r).textOf(r)
		off := s.offset(t, r)
		inst, err := s.Binary(r).arch.Decode(t.data[off:], t.addr+uint64(off))
		return inst.Target, err == nil
	}
	return 0, false
}

// CallBefore returns the call whose return address is r: the instruction before r if that is a
// call, otherwise None. For External it is External.
func (s *Set) CallBefore(r Ref) Ref {
	if r == External {
		return External
	}
	if before := s.previous(r); s.Class(before).IsCall() {
		return before
	}
	return None
}

// Runs reports whether control can go from first to last without a taken branch.
func (s *Set) Runs(first, last Ref) bool {
	s.whole("Runs")
	if first > last || !first.IsInstruction() {
		return false
	}
	from, _ := s.barriers.rank(uint32(first - firstRef))
	to, _ := s.barriers.rank(uint32(last - firstRef))
	return from == to
}

// Dubious reports whether a stack that was walked by frame pointers at this instruction may
// lack a frame, by LLVM's rules.
func (s *Set) Dubious(r Ref) bool {
	s.whole("Dubious")
	return s.dubious.has(uint32(r - firstRef))
}

// Departs reports whether the instruction is a jump right after the caller's frame pointer was
// restored, as in tail calls. A stack lacks a frame there too, which LLVM does not consider.
func (s *Set) Departs(r Ref) bool { return s.shapes[r-firstRef]&departing != 0 }
