// Package percpu makes the counters of a linked Go program for Linux on x86-64 those of the
// processor that runs the goroutine, so that counts are exact without atomic instructions, and
// processors do not share cache lines.
//
// The probes of package rewrite compare 16 bits of a count, and change 64: both instructions have
// a prefix for the size of their operand, in whose place this package puts the prefix for segment
// gs:
//
//	CMPW $0, record(IP)   66 83 3d …   becomes   CMPL $0, GS:record(IP)   65 83 3d …
//	DECQ record(IP)       48 ff 0d …   becomes   DECL GS:record(IP)       65 ff 0d …
//
// As the sizes differ, the compiler does not keep the count in a register from one probe to the
// next, where the goroutine can be on another processor.
//
// The base of gs is the distance of the processor's copy from the records; see percpu.txt in
// package goruntime. While it is 0, all processors use the records themselves. An interrupt, and
// thus the kernel's or the runtime's change to another thread or goroutine, is before or after
// an instruction. The kernel does the same with its counters (this_cpu_dec).
package percpu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/x86"
	"github.com/cairnprof/cairn/internal/gobuild/image"
	"github.com/cairnprof/cairn/internal/gobuild/rewrite"
)

// Prefix replaces the prefixes of the instructions.
type Prefix byte

const (
	// Own makes the counters those of the processor, by segment gs.
	Own Prefix = 0x65
	// Shared leaves one counter for all processors: segment ds begins at 0.
	Shared Prefix = 0x3e
)

// Range is a range of addresses: the records of a package.
type Range struct{ From, To uint64 }

// RecordSize is the size of a record that can be changed: the count, and the word after it.
const RecordSize = 8

// ErrForm is returned for instructions that cannot be changed.
var ErrForm = errors.New("the compiler made an instruction that cairn does not know of a probe")

// setGS is the function whose code is replaced by one that sets the base of gs.
const setGS = "runtime.cairnSetGS"

var setGSCode = []byte{0xf3, 0x48, 0x0f, 0xae, 0xd8, 0xc3} // WRGSBASE RAX; RET

// Change changes the instructions of a program in memory that use the records in ranges, which
// are sorted. If it fails, the program must not record anything. The time is linear in the size of
// the code.
func Change(file image.Image, symbols []image.Symbol, ranges []Range, prefix Prefix) error {
	if len(ranges) == 0 {
		return nil
	}
	c := changer{done: map[uint64]bool{}, from: ranges[0].From, to: ranges[len(ranges)-1].To, ranges: ranges, prefix: byte(prefix)}
	set := false
	for _, s := range symbols {
		code := file.At(s.Addr)
		if !s.Func || uint64(len(code)) < s.Size {
			continue
		}
		code = code[:s.Size]
		if s.Name == setGS {
			set = copy(code, setGSCode) == len(setGSCode)
			continue
		}
		if err := c.function(s, code); err != nil {
			return err
		}
	}
	if prefix == Own && !set {
		return fmt.Errorf("no function %s", setGS)
	}
	return nil
}

type changer struct {
	from, to uint64 // of all ranges
	ranges   []Range
	prefix   byte
	// done has the addresses of what was changed: two symbols may be at one address, as those of functions that a
	// program exports for plugins.
	done map[uint64]bool
}

// in reports whether an address is in a record, and its place there.
func (c *changer) in(addr uint64) (place uint64, ok bool) {
	if addr < c.from || addr >= c.to {
		return 0, false
	}
	for _, r := range c.ranges {
		if addr >= r.From && addr < r.To {
			return (addr - r.From) % RecordSize, true
		}
	}
	return 0, false
}

func (c *changer) function(s image.Symbol, code []byte) error {
	indexed := isIndexed(s.Name)
	if !indexed && !c.mayUse(s.Addr, code) {
		return nil
	}
	for at := 0; at < len(code); {
		addr := s.Addr + uint64(at)
		in, err := x86.Decode(code[at:])
		if err != nil {
			if indexed || c.hasProbe(addr, code[at:]) {
				return fmt.Errorf("%w, behind %s+%#x: %w", ErrForm, s.Name, at, err)
			}
			return nil // written in assembly, without probes
		}
		place, uses := uint64(0), false
		if in.RIP {
			place, uses = c.in(in.Memory(addr))
		}
		switch {
		case c.done[addr]:
		case uses && plain(in):
		case uses && !probe(in, place):
			return fmt.Errorf("%w, at %s+%#x: % x", ErrForm, s.Name, at, code[at:][:in.Len])
		case uses, indexed && byIndex(in):
			code[at] = c.prefix
			c.done[addr] = true
		}
		at += int(in.Len)
	}
	return nil
}

// hasProbe reports whether code that cannot be decoded has bytes that look like a probe.
func (c *changer) hasProbe(addr uint64, code []byte) bool {
	for i := range code {
		in, err := x86.Decode(code[i:])
		if err != nil || !in.RIP {
			continue
		}
		if place, ok := c.in(in.Memory(addr + uint64(i))); ok && probe(in, place) {
			return true
		}
	}
	return false
}

// mayUse reports whether some four bytes of the code are the distance to a record. Few
// functions have such bytes by accident.
func (c *changer) mayUse(addr uint64, code []byte) bool {
	const maxImmediate = 4 // may follow, which shortens the distance
	size := c.to - c.from + maxImmediate
	for i := 0; i+4 <= len(code); i++ {
		rel := int64(int32(binary.LittleEndian.Uint32(code[i:])))
		if addr+uint64(i)+4+uint64(rel)-(c.from-maxImmediate) < size {
			return true
		}
	}
	return false
}

// Opcodes of the instructions that use records.
const (
	opSub     = 0x29 // SUB reg, mem
	opImm     = 0x81 // group 1
	opImmByte = 0x83 // group 1, with an immediate of a byte
	opLea     = 0x8d
	opIncDec  = 0xff // group 5
	onlyW     = 0x48 // a REX prefix with nothing but the width

	group1Sub = 5
	group1Cmp = 7
	group5Inc = 0
	group5Dec = 1

	countPlace = 0
	wordPlace  = 4
)

// plain reports whether an instruction uses the order word, which all processors share, or only
// computes the address of a record.
func plain(in x86.Inst) bool {
	return in.Map == x86.MapOne && in.Prefix == 0 && (in.Opcode == opLea || !in.Wide())
}

// probe reports whether an instruction is one of those that use a place of a record, and can be
// changed.
func probe(in x86.Inst, place uint64) bool {
	if place == wordPlace {
		return increments(in)
	}
	return place == countPlace && (compares(in) || decrements(in))
}

// compares reports whether an instruction compares 16 bits with a constant.
func compares(in x86.Inst) bool {
	return in.Map == x86.MapOne && in.Prefix == x86.PrefixData && in.Rex == 0 && in.Opcode == opImmByte && group(in) == group1Cmp
}

// decrements reports whether an instruction subtracts from 64 bits: one, several calls of
// functions that have no comparison, or what a function returned.
func decrements(in x86.Inst) bool {
	if in.Map != x86.MapOne || in.Prefix != 0 || in.Rex != onlyW {
		return false
	}
	switch in.Opcode {
	case opIncDec:
		return group(in) == group5Dec
	case opImm, opImmByte:
		return group(in) == group1Sub
	}
	return in.Opcode == opSub
}

func increments(in x86.Inst) bool {
	return in.Map == x86.MapOne && in.Prefix == 0 && in.Rex == onlyW && in.Opcode == opIncDec && group(in) == group5Inc
}

// group returns the operation of an instruction whose opcode has several.
func group(in x86.Inst) uint8 { return in.ModRM >> 3 & 7 }

// isIndexed reports whether a function is one that probes call where it is not inlined, with
// the index of the record.
func isIndexed(name string) bool {
	return strings.HasSuffix(name, "."+rewrite.Counted) || strings.HasSuffix(name, "."+rewrite.CountedAlone)
}

// byIndex reports whether an instruction of such a function uses the count of a record, or the
// word after it, by an address in registers.
func byIndex(in x86.Inst) bool {
	const register = 3
	return in.HasModRM && in.Mod() != register && (compares(in) || increments(in))
}
