// Package detour plans hooks in the functions of an existing program: the bytes to write over each function's
// start, and the trampoline with the same effect as the overwritten instructions. A plan is made outside the
// process; internal/runtime/nativert/c/hook/detour.c, in the process, copies the bytes and fills in
// distances. All of it is for x86-64; internal/instrument/detourfile refuses modules for other machines.
//
// The first five bytes become a jump, which is not always possible. A function is refused if anything in the
// module can lead to one of these bytes but the first: branches, landing pads, jump tables, and words of data
// that hold such an address. A function that cannot be decoded to its end is refused, too.
//
//	site:        jmp trampoline              was: the function's first instructions
//	trampoline:  .quad site
//	      entry: call *slot(%rip)            the hook, see c/hook/hook.h
//	             the first instructions      with distances adjusted
//	             jmp site + their length
//
// Trampolines are in one piece of memory, blob, which starts with slot and is placed within reach of the whole
// module. In a program for Windows a second slot follows, which the trampoline of longjmp calls: its function notes what
// may leave calls.
package detour

import "github.com/cairnprof/cairn/internal/binary/ehframe"

// Section is a part of a module that is in memory, with its contents.
type Section struct {
	Addr uint64 // link-time address, as all here
	Data []byte
	Code bool
	// Functions reports that the section may have hooks: it is code that the linker did not generate.
	Functions bool
}

// Function is a function of a module.
type Function struct {
	Name     string
	Addr     uint64
	Size     uint64 // bytes
	Resolver bool   // the loader calls it to choose another one
	// Unwind is, in a program for Windows, the head of its unwind information, with all codes; nil: its form is unknown.
	Unwind []byte
}

// Module is the input of a plan.
type Module struct {
	Sections  []Section
	Functions []Function // in any order; several may be at one address
	Frames    []ehframe.Frame
	Pads      []uint64 // landing pads of exceptions
	Entry     uint64   // where the program starts, 0 for none
	End       uint64   // end of its memory, which may be after all sections
	// Referenced makes only functions be hooked that are called, jumped to by name, or whose address is somewhere: the others
	// may be parts of functions, such as handlers of exceptions.
	Referenced bool
	Exports    []uint64 // addresses that other modules are given by name
}

// Options chooses functions.
type Options struct {
	// Chosen says which functions are to be hooked, by name; nil: all.
	Chosen func(name string) bool
	// Small leaves out functions with fewer instructions and no loop.
	Small int
}

// Reason is why a function is not hooked.
type Reason string

// The reasons. The first group is choice, the second impossibility.
const (
	NotChosen Reason = "excluded by --only or --skip"
	Quick     Reason = "small and without a loop, see --small"

	NoFrame    Reason = "no unwind information: may not be a function"
	Unwinds    Reason = "unwind information of an unknown form"
	Unknown    Reason = "nothing refers to it: may be a part of a function"
	NotCalled  Reason = "part of a function, or where a program or thread starts"
	Resolves   Reason = "an ifunc resolver, which the loader calls"
	Intimate   Reason = "uses its own return address"
	Twice      Reason = "returns twice, or to another stack"
	Unreadable Reason = "an unknown instruction, or data in the code"
	Short      Reason = "shorter than a jump"
	Entered    Reason = "a jump into its first bytes"
	Looped     Reason = "a loop starts with its first instruction"
	Calls      Reason = "a call in its first bytes that would return there"
	ShortOnly  Reason = "loop, jrcxz or xbegin in its first bytes"
	Outside    Reason = "its first bytes refer to something outside the module"
	Traps      Reason = "a breakpoint or trap in its first bytes"
	Faults     Reason = "its first bytes may fault, and it has a handler of exceptions"
	Probed     Reason = "it begins with a probe of cairn, which is read when it first runs"
)

// Site is a function that will be hooked.
type Site struct {
	Name     string
	Func     uint64  // where the function starts
	At       uint64  // address of the jump: after an endbr64
	Entry    uint32  // of its trampoline, offset in the blob
	Original [5]byte // what the jump replaces
	// Inner has, for each byte after the first, the offset from Entry of the trampoline's copy of the
	// instruction that starts there; 0: none does. A thread that is stopped at the instruction continues at the
	// copy.
	Inner [4]uint8
	// Size is that of the trampoline from Entry on, in bytes.
	Size uint32
	// steps has the end of each instruction that was moved.
	steps  []step
	unwind []byte
}

// step is the end of an instruction, from the function's start, and that of its copy, from the trampoline's entry.
type step struct{ from, to int }

// Kind is the way to fill in a place in the blob.
type Kind uint32

// The kinds. Distances are from the end of their four bytes.
const (
	Distance Kind = iota // four bytes: to Target in the module
	Address              // eight bytes: Target, where the module is loaded
)

// Fixup is a place in the blob that depends on load addresses.
type Fixup struct {
	At     uint32
	Kind   Kind
	Target uint64
}

// Refusal is a function that is left alone.
type Refusal struct {
	Name   string
	Addr   uint64
	Reason Reason
}

// Plan is the change of one module.
type Plan struct {
	Lo, Hi  uint64 // of the module
	Sites   []Site // ascending
	Fixups  []Fixup
	Blob    []byte
	Refused []Refusal // ascending by address
}

const (
	patchSize = 5 // jmp
	slotSize  = 8
)

// Make plans the hooks of a module.
func Make(m *Module, o Options) *Plan {
	s := newScan(m)
	s.readFunctions()
	s.readData()
	p := &Plan{Blob: make([]byte, slotSize)}
	if m.Referenced {
		p.Blob = make([]byte, 2*slotSize)
	}
	p.Lo, p.Hi = m.bounds()
	for i := range s.funcs {
		f := &s.funcs[i]
		reason := s.refusal(f, o)
		if reason == "" {
			reason = p.hook(s, f)
		}
		if reason != "" {
			p.Refused = append(p.Refused, Refusal{f.Name, f.Addr, reason})
		}
	}
	return p
}

func (m *Module) bounds() (lo, hi uint64) {
	lo, hi = ^uint64(0), m.End
	for _, s := range m.Sections {
		lo, hi = min(lo, s.Addr), max(hi, s.Addr+uint64(len(s.Data)))
	}
	return min(lo, hi), hi
}

// refusal returns the reason not to hook f, apart from its first instructions.
func (s *scan) refusal(f *function, o Options) Reason {
	frame, ok := s.frames[f.Addr]
	switch {
	case o.Chosen != nil && !o.Chosen(f.Name) && !s.raises(f):
		return NotChosen
	case f.Resolver:
		return Resolves
	case special(f.Name) != "" && !s.raises(f):
		return special(f.Name)
	case !ok:
		return NoFrame
	case f.Addr != s.module.Entry && s.module.Referenced && f.Unwind == nil: // that of its copy could not be made
		return Unwinds
	case f.intimate:
		return Intimate
	case !frame.Called || f.Addr == s.module.Entry || f.jumpedTo:
		return NotCalled
	case s.module.Referenced && !f.referenced:
		return Unknown
	case f.unreadable:
		return Unreadable
	case f.insns < o.Small && !f.loops && !s.raises(f):
		return Quick
	case f.entered:
		return Entered
	case f.looped:
		return Looped
	case s.probed(f):
		return Probed
	}
	return ""
}
