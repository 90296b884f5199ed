package lbr

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// Module describes a program or a library for Plan. Addresses are link-time addresses.
type Module struct {
	Number    int       // 0 is the program; less than MaxModules
	Sections  []Section // executable ones, ascending, without overlaps
	Mapped    []Range   // executable segments, ascending; empty: from the first section to the last
	Functions []uint64  // where functions begin, ascending
	Fixed     bool      // it is loaded at its link-time addresses
	Relocated bool      // the dynamic linker changes its code, so no copy of the file's is right
}

// Section is code.
type Section struct {
	Addr uint64
	Data []byte
}

// Range is addresses, from Lo up to Hi.
type Range struct{ Lo, Hi uint64 }

// ModuleOf returns the description of a program.
func ModuleOf(p *objfile.Program) Module {
	m := Module{Fixed: len(p.Segments) > 0 && p.Segments[0].Addr != 0, Relocated: p.TextRelocations}
	for _, c := range p.Code {
		m.Sections = append(m.Sections, Section{Addr: c.Addr, Data: c.Data})
	}
	for _, s := range p.Segments {
		if s.Exec && s.Size > 0 {
			m.Mapped = append(m.Mapped, Range{s.Addr, s.Addr + s.Size})
		}
	}
	for _, s := range p.Symbols {
		if s.Func {
			m.Functions = append(m.Functions, s.Addr)
		}
	}
	slices.Sort(m.Functions)
	m.Functions = slices.Compact(m.Functions)
	return m
}

// Bounds of what can be planned. An event has 28 bits for an address in the code.
const (
	maxText = 1 << 28
	page    = 4096
)

// The distance of the copy from the original. The heap follows a program that is loaded at a
// fixed address; the memory before others is free.
const (
	aboveFixed = 1 << 30
	belowPIE   = -(1 << 30)
)

// MaxModules is the maximum number of modules of a process with copies, as in c/lbr.h.
const MaxModules = 64

// ErrTooLarge: a module has more code than events have addresses.
var ErrTooLarge = errors.New("more than 256 MiB of code")

// Image is the copy of a module's code with the tables for the runtime.
type Image struct {
	Lo, Hi    uint64 // of the original, in whole pages
	Number    int    // of the module
	Relocated bool   // Module.Relocated: the runtime does not load it
	Distance  int64  // from the original to the copy, if there is room
	Code      []byte // the copy, loaded at Lo + Distance
	// Words are loaded after Code. The first two are the addresses of the runtime's
	// routines for computed branches and for system calls. There follows one for each
	// call: its return address in the original, to which the module's bias is added.
	Words []uint64
	// Far are the ends of displacements, in Code, that refer to outside of the copy. They
	// must be adjusted if it is at another distance. Nearest and Farthest are the least
	// and the greatest displacement, or 0.
	Far               []uint32
	Nearest, Farthest int64
	// Entry has, for each byte from Lo to Hi, the offset in Code of the copy of the
	// instruction that begins there, plus one, or 0.
	Entry     []uint32
	Mapped    []uint32 // pairs: start and end of executable pages of the original, relative to Lo
	Functions []uint32 // starts of functions, relative to Lo, ascending
	// Starts are the addresses of instructions, relative to Lo, ascending: events have the
	// numbers of instructions, which are indexes of it. Ranks find the number of the
	// instruction at an address.
	Starts []uint32
	Ranks  []Rank

	Instructions, Branches int
	Unknown                int // bytes that are no instruction, and have no copy
}

// Rank has, for 64 bytes of code, a bit for each byte at which an instruction begins, and the
// number of instructions before.
type Rank struct{ Bits, Before uint64 }

// InstructionAt returns the number of the instruction at an address, relative to Lo. It
// reports false, and the number of the next one, if none begins there.
func (m *Image) InstructionAt(at uint32) (uint32, bool) {
	if int(at/64) >= len(m.Ranks) {
		return 0, false
	}
	r := m.Ranks[at/64]
	bit := uint64(1) << (at % 64)
	return uint32(r.Before) + uint32(bits.OnesCount64(r.Bits&(bit-1))), r.Bits&bit != 0
}

// rank fills in Starts and Ranks.
func (p *planner) rank() {
	p.Ranks = make([]Rank, (p.Hi-p.Lo)/64)
	p.Starts = make([]uint32, len(p.insns))
	for i := range p.insns {
		at := p.insns[i].at
		p.Starts[i] = at
		p.Ranks[at/64].Bits |= 1 << (at % 64)
	}
	before := 0
	for i := range p.Ranks {
		p.Ranks[i].Before = uint64(before)
		before += bits.OnesCount64(p.Ranks[i].Bits)
	}
}

// planner is the state of Plan.
type planner struct {
	*Image
	insns    []instruction
	links    []link
	wordRefs []wordRef
	starts   map[uint32]bool // functions
}

// instruction is one of the original.
type instruction struct {
	x86.Inst
	at     uint32 // relative to Lo
	number uint32
	bytes  []byte
}

// link is a 32-bit displacement in Code that ends at end and refers to the copy of the
// instruction at to; to stray if that has no copy.
type link struct {
	end, to uint32
}

// wordRef is a 32-bit displacement in Code that ends at end and refers to a word.
type wordRef struct {
	end  uint32
	word int
}

// Plan makes the copy.
func Plan(m Module) (*Image, error) {
	p := &planner{Image: &Image{Number: m.Number, Relocated: m.Relocated, Words: make([]uint64, wordReturns)}, starts: map[uint32]bool{}}
	if m.Number < 0 || m.Number >= MaxModules {
		return nil, fmt.Errorf("module %d: at most %d modules are supported", m.Number, MaxModules)
	}
	if len(m.Sections) == 0 {
		return nil, errors.New("no code")
	}
	last := m.Sections[len(m.Sections)-1]
	p.Lo = m.Sections[0].Addr &^ (page - 1)
	p.Hi = (last.Addr + uint64(len(last.Data)) + page - 1) &^ (page - 1)
	if p.Hi <= p.Lo || p.Hi-p.Lo > maxText {
		return nil, ErrTooLarge
	}
	p.mapped(m.Mapped)
	p.Distance = belowPIE
	if m.Fixed {
		p.Distance = aboveFixed
	}
	for _, f := range m.Functions {
		if f >= p.Lo && f < p.Hi {
			p.starts[uint32(f-p.Lo)] = true
			p.Functions = append(p.Functions, uint32(f-p.Lo))
		}
	}
	for i := range m.Sections {
		p.decode(&m.Sections[i])
	}
	p.Instructions = len(p.insns)
	p.rank()
	if err := p.emit(); err != nil {
		return nil, err
	}
	return p.Image, p.resolve()
}

// mapped records the pages of the module: between its segments other memory may be mapped.
func (p *planner) mapped(ranges []Range) {
	if len(ranges) == 0 {
		ranges = []Range{{p.Lo, p.Hi}}
	}
	for _, r := range ranges {
		lo, hi := max(r.Lo&^(page-1), p.Lo), min((r.Hi+page-1)&^(page-1), p.Hi)
		if lo >= hi {
			continue
		}
		from, to := uint32(lo-p.Lo), uint32(hi-p.Lo)
		if n := len(p.Mapped); n > 0 && p.Mapped[n-1] >= from {
			p.Mapped[n-1] = max(p.Mapped[n-1], to)
			continue
		}
		p.Mapped = append(p.Mapped, from, to)
	}
}

// decode finds the instructions of a section. It skips unknown instructions byte by byte;
// at the start of a function there is an instruction.
func (p *planner) decode(s *Section) {
	base := uint32(s.Addr - p.Lo)
	for at := 0; at < len(s.Data); {
		in, err := x86.Decode(s.Data[at:])
		n := int(in.Len)
		if err != nil || p.straddles(base+uint32(at), n) {
			p.Unknown++
			at++
			continue
		}
		p.insns = append(p.insns, instruction{in, base + uint32(at), uint32(len(p.insns)), s.Data[at : at+n]})
		at += n
	}
}

// straddles reports whether a function begins inside an instruction.
func (p *planner) straddles(at uint32, n int) bool {
	i, _ := slices.BinarySearch(p.Functions, at+1)
	return i < len(p.Functions) && p.Functions[i] < at+uint32(n)
}

// emit writes the copy of each instruction.
func (p *planner) emit() error {
	p.Entry = make([]uint32, p.Hi-p.Lo)
	for i := range p.insns {
		in := &p.insns[i]
		before := p.mark()
		err := p.instruction(in)
		switch {
		case errors.Is(err, errFar):
			// Data between functions that looks like a branch to a distant target.
			p.back(before)
			p.Unknown += int(in.Len)
			err = p.leave(in.number, int64(in.at), Jump)
		case err == nil:
			p.Entry[in.at] = uint32(before.code) + 1
			end := in.at + uint32(in.Len)
			if !in.Class.Ends() && (i+1 == len(p.insns) || p.insns[i+1].at != end) {
				err = p.leave(in.number, int64(end), Jump)
			}
		}
		if err != nil {
			return fmt.Errorf("instruction at %#x: %w", p.Lo+uint64(in.at), err)
		}
	}
	if len(p.Code) > maxText<<2 {
		return ErrTooLarge
	}
	return nil
}

// mark is a state of the copy.
type mark struct{ code, words, far, links, wordRefs, branches int }

func (p *planner) mark() mark {
	return mark{len(p.Code), len(p.Words), len(p.Far), len(p.links), len(p.wordRefs), p.Branches}
}

// back discards the code that was emitted since.
func (p *planner) back(m mark) {
	p.Code, p.Words, p.Far = p.Code[:m.code], p.Words[:m.words], p.Far[:m.far]
	p.links, p.wordRefs, p.Branches = p.links[:m.links], p.wordRefs[:m.wordRefs], m.branches
}

// resolve fills in the links between the parts of the copy.
func (p *planner) resolve() error {
	// Links to code without a copy go to code that jumps to the original.
	strays := map[uint32]uint32{}
	for _, l := range p.links {
		to, ok := uint32(0), false
		if int(l.to) < len(p.Entry) && p.Entry[l.to] != 0 {
			to, ok = p.Entry[l.to]-1, true
		} else if to, ok = strays[l.to]; !ok {
			to = uint32(len(p.Code))
			strays[l.to] = to
			number, _ := p.InstructionAt(l.to) // or of the next one
			if err := p.leave(number, int64(l.to), Jump); err != nil {
				return err
			}
		}
		put32(p.Code[l.end-4:], to-l.end)
	}
	for len(p.Code)%page != 0 {
		p.Code = append(p.Code, 0xcc)
	}
	// The words follow the code, whose length is known now.
	for _, r := range p.wordRefs {
		put32(p.Code[r.end-4:], uint32(len(p.Code)+8*r.word)-r.end)
	}
	return nil
}
