package asm

import (
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/msname"
)

// Fragment is a piece of code under a function symbol of its own.
type Fragment struct {
	Name    string
	Sec     *Section
	Parent  *Function
	Arch    string // operand of the last directive that chose an architecture
	Machine any    // what the Reader of its machine found
	Marks
	Contents
	Traits

	State   blockState
	entered bool // probe is final
	again   bool // the next block follows a call that may return again
}

// Marks are places in the text of a fragment, as offsets.
type Marks struct {
	Label    int // after the line of its label
	Probe    int // for the entry probe
	Stub     int // for the first-call stub before it, or -1
	SizeLine int // after its .size line, or -1
	Behind   int // after its .size line and the end of its unwind entry, or -1
	End      int // after its last code
	Anchor   int // plus one, of the first label that must stay with the next code; 0: none
}

// Contents is what a fragment consists of.
type Contents struct {
	Blocks []Block
	Labels []BlockLabel
	Calls  []call
	Lines  []CodeLine
	Locs   []lineEntry
	Pads   []Pad
	Insns  int
}

// Traits are properties of a fragment that decide what can be done with it.
type Traits struct {
	HasAsm   bool
	Sleds    bool // it has places that XRay overwrites
	Compiled bool // has an instruction that a naked function cannot have
	Short    bool // has a branch with a reach of 127 bytes
	Unwind   bool // it is within an unwind entry
	Indirect bool // its compact unwind entry would be wrong behind a probe; of Mach-O
}

// blockState is the relation of the next code in a fragment to its blocks.
type blockState uint8

const (
	inBlock    blockState = iota // continues the open block
	StartBlock                   // begins a block
	Unreached                    // belongs to none: no label leads to it
)

// Block is a basic block; block 0 of a function's first fragment is the entry
// block, which has no probe of its own.
type Block struct {
	Probe  int    // offset for its probe
	Used   bool   // there is code in it
	leaves bool   // it may be left in the middle: by a computed call, or in inline assembly
	traps  bool   // it ends in a trap, or in a jump to an unknown target
	again  bool   // it follows a call that may return again, or the unwinder calls it
	twice  bool   // it is that call alone, which returns at least once
	Last   Flow   // how it ends
	Target []byte // local label its last instruction names

	Way  *Way   // the edge that it is the block of, or nil
	Over string // label behind the block of the edge of a jump
}

// Pad is an alignment, or data among the code.
type Pad struct {
	At   int // offset of its line
	Size int // bytes at most; -1 if not known
}

// CodeLine is a line of code.
type CodeLine struct {
	At, Next int32 // offsets of the line and after it
	Block    int32 // index into the fragment's blocks, or -1
	App      bool  // inline assembly
}

// BlockLabel is a local label and the index of the block it leads to.
type BlockLabel struct {
	Name  []byte
	Block int
}

type call struct {
	Block  int // index into the fragment's blocks
	Callee string
	tail   bool // it ends the block
}

// Function is a symbol with an entry, and its fragments.
type Function struct {
	Name   string
	Frags  []*Fragment
	Orphan bool // a cold fragment whose function is not here
}

// Main returns the fragment of the entry.
func (f *Function) Main() *Fragment { return f.Frags[0] }

// ColdName matches the names of code that gcc and clang move out of a function: f.cold, f.cold.3, and
// f.part.0.cold, as f.part.0 is a function.
var ColdName = lazyregexp.New(`^(.+)\.cold(?:\.\d+)?$`)

// movedFrom returns the name of the function that has code under a name of its own, "" for a function.
func (p *Parser) movedFrom(name string) string {
	if m := ColdName().FindStringSubmatch(name); m != nil {
		return m[1]
	}
	if of, ok := msname.HandlerOf(name); ok && p.handlers {
		return of
	}
	return ""
}

// Enter fixes the place of the entry probe: before pos.
func (f *Fragment) Enter(pos int) {
	if !f.entered {
		f.Probe, f.entered = pos, true
	}
}

// Code records bytes of code in [pos, next) and opens a block if necessary.
func (f *Fragment) Code(pos, next int) {
	if at := f.Anchor; at > 0 {
		pos, f.Anchor = at-1, 0
	}
	f.Enter(pos)
	if f.State == StartBlock {
		f.Blocks = append(f.Blocks, Block{Probe: pos, again: f.again})
		f.State, f.again = inBlock, false
	}
	if f.State == inBlock {
		f.Blocks[len(f.Blocks)-1].Used = true
	}
	f.End = next
}

// Note records a line of code.
func (f *Fragment) Note(pos, next int, app bool) {
	block := int32(-1)
	if f.State == inBlock {
		block = int32(len(f.Blocks) - 1)
	}
	f.Lines = append(f.Lines, CodeLine{int32(pos), int32(next), block, app})
}

// leave records that the open block may be left in the middle.
func (f *Fragment) leave() {
	if f.State == inBlock {
		f.Blocks[len(f.Blocks)-1].leaves = true
	}
}

// Transfer records the effect of an instruction on the flow of control. name is the symbol that target names,
// or "".
func (f *Fragment) Transfer(kind Flow, target []byte, name string, isTrap bool) {
	if kind == FlowShort {
		f.Short = true
	}
	if f.State == Unreached {
		return
	}
	b := &f.Blocks[len(f.Blocks)-1]
	switch kind {
	case FlowCall, FlowBranch, FlowJump:
		if !IsLocal(target) {
			if name != "" {
				f.Calls = append(f.Calls, call{len(f.Blocks) - 1, name, kind != FlowCall})
			}
		}
	}
	switch kind {
	case FlowBranch, FlowShort:
		f.State = StartBlock
	case FlowJump, FlowEnd:
		b.traps = kind == FlowEnd && isTrap || kind == FlowJump && !IsLocal(target) && name == ""
		f.State = Unreached
	default:
		return
	}
	b.Last = kind
	if IsLocal(target) {
		b.Target = target
	}
}

// assignCold assigns cold fragments to the functions they came from. A cold fragment without its function becomes a
// function without probes: the blocks that it jumps to have an unknown predecessor.
//
// So do the handlers of exceptions of MSVC's system, which its unwinder calls, if the modes have them as parts of functions.
//
// Code that is entered by calls is a function, whatever its name. gcc makes f.part.0 of a function whose first
// test it inlines elsewhere, and clang makes f.cold.1 of code that it outlines: callers of both need never
// enter f.
func (p *Parser) assignCold() {
	called := p.called()
	kept := p.Unit.Funcs[:0]
	for _, fn := range p.Unit.Funcs {
		of := p.movedFrom(fn.Name)
		if of == "" || called[fn.Name] {
			kept = append(kept, fn)
			continue
		}
		parent := p.parentOf(of)
		if parent != nil && parent != fn && parent.Main().Sec.Group == fn.Main().Sec.Group {
			fn.join(parent)
			if _, handler := msname.HandlerOf(fn.Name); handler && len(fn.Main().Blocks) > 0 {
				fn.Main().Blocks[0].again = true
			}
			continue
		}
		kept = append(kept, fn)
		fn.Orphan = true
		for _, b := range fn.Main().Blocks {
			p.taken[string(b.Target)] = true
		}
	}
	p.Unit.Funcs = kept
}

// called returns the cold fragments that the unit calls.
func (p *Parser) called() map[string]bool {
	called := map[string]bool{}
	for _, fn := range p.Unit.Funcs {
		for _, fr := range fn.Frags {
			for _, c := range fr.Calls {
				if !c.tail && ColdName().MatchString(c.Callee) {
					called[c.Callee] = true
				}
			}
		}
	}
	return called
}

// join moves the fragments of fn to parent. Its entry block becomes a normal
// block, or is dropped if a label precedes all code.
func (fn *Function) join(parent *Function) {
	f := fn.Main()
	for _, fr := range fn.Frags {
		fr.Parent = parent
	}
	parent.Frags = append(parent.Frags, fn.Frags...)
	f.Blocks[0].Probe = f.Probe
	if f.Blocks[0].Used {
		return
	}
	f.Blocks = f.Blocks[1:]
	for i := range f.Labels {
		f.Labels[i].Block--
	}
	for i := range f.Calls {
		f.Calls[i].Block--
	}
	for i := range f.Lines {
		f.Lines[i].Block = max(f.Lines[i].Block-1, -1)
	}
}

// parentOf returns the function that contained the code under the symbol name, or nil. Code moved out of moved
// code belongs to the same function.
func (p *Parser) parentOf(name string) *Function {
	if fn := p.byName[name]; fn != nil {
		return fn.Main().Parent
	}
	if of := p.movedFrom(name); of != "" {
		return p.parentOf(of)
	}
	return nil
}

// Way is an edge that gets a block.
type Way struct {
	Block int  // index into the blocks of its fragment: the one that ends with the jump
	Taken bool // the edge of a conditional jump, not the one to the next block
	Jump  CodeLine
	Word  string // the opposite jump, up to where it leads
	// Before is set if the block of the edge is in front of the jump, which is unconditional.
	Before bool
}

// At returns the offset of the block of the edge.
func (w *Way) At() int {
	if w.Before {
		return int(w.Jump.At)
	}
	return int(w.Jump.Next)
}
