package native

import (
	"github.com/cairnprof/cairn/internal/lazyregexp"
)

// fragment is a piece of code under a function symbol of its own.
type fragment struct {
	name     string
	sec      *section
	parent   *function
	label    int // offset after the line of its label
	probe    int // offset for the entry probe
	stub     int // offset for the first-call stub before it, or -1
	sizeLine int // offset after its .size line, or -1
	behind   int // offset after its .size line and the end of its unwind entry, or -1
	end      int // offset after its last code
	blocks   []block
	labels   []blockLabel
	calls    []call
	lines    []codeLine
	locs     []lineEntry
	insns    int
	state    blockState
	entered  bool // probe is final
	hasAsm   bool
	sleds    bool // it has places that XRay overwrites
	compiled bool // has an instruction that a naked function cannot have
	short    bool // has a branch with a reach of 127 bytes
	pads     []pad
	unwind   bool   // it is within an unwind entry
	indirect bool   // its compact unwind entry would be wrong behind a probe; of Mach-O
	arch     string // operand of the last directive that chose an architecture
	anchor   int    // offset, plus one, of the first label that must stay with the next code; 0: none
	Machine  any    // what the Reader of its machine found
}

// blockState is the relation of the next code in a fragment to its blocks.
type blockState uint8

const (
	inBlock    blockState = iota // continues the open block
	startBlock                   // begins a block
	unreached                    // belongs to none: no label leads to it
)

// block is a basic block; block 0 of a function's first fragment is the entry
// block, which has no probe of its own.
type block struct {
	probe  int    // offset for its probe
	used   bool   // there is code in it
	leaves bool   // it may be left in the middle: by a computed call, or in inline assembly
	traps  bool   // it ends in a trap, or in a jump to an unknown target
	last   flow   // how it ends
	target []byte // local label its last instruction names

	way  *way   // the edge that it is the block of, or nil
	over string // label behind the block of the edge of a jump
}

// pad is an alignment, or data among the code.
type pad struct {
	at   int // offset of its line
	size int // bytes at most; -1 if not known
}

// codeLine is a line of code.
type codeLine struct {
	at, next int32 // offsets of the line and after it
	block    int32 // index into the fragment's blocks, or -1
	app      bool  // inline assembly
}

// blockLabel is a local label and the index of the block it leads to.
type blockLabel struct {
	name  []byte
	block int
}

type call struct {
	block  int // index into the fragment's blocks
	callee string
	tail   bool // it ends the block
}

// function is a symbol with an entry, and its fragments.
type function struct {
	name   string
	frags  []*fragment
	orphan bool // a cold fragment whose function is not here
}

// main returns the fragment of the entry.
func (f *function) main() *fragment { return f.frags[0] }

// coldName matches the names of code that gcc and clang move out of a function: f.cold, f.cold.3, and
// f.part.0.cold, as f.part.0 is a function.
var coldName = lazyregexp.New(`^(.+)\.cold(?:\.\d+)?$`)

// enter fixes the place of the entry probe: before pos.
func (f *fragment) enter(pos int) {
	if !f.entered {
		f.probe, f.entered = pos, true
	}
}

// code records bytes of code in [pos, next) and opens a block if necessary.
func (f *fragment) code(pos, next int) {
	if at := f.anchor; at > 0 {
		pos, f.anchor = at-1, 0
	}
	f.enter(pos)
	if f.state == startBlock {
		f.blocks = append(f.blocks, block{probe: pos})
		f.state = inBlock
	}
	if f.state == inBlock {
		f.blocks[len(f.blocks)-1].used = true
	}
	f.end = next
}

// note records a line of code.
func (f *fragment) note(pos, next int, app bool) {
	block := int32(-1)
	if f.state == inBlock {
		block = int32(len(f.blocks) - 1)
	}
	f.lines = append(f.lines, codeLine{int32(pos), int32(next), block, app})
}

// leave records that the open block may be left in the middle.
func (f *fragment) leave() {
	if f.state == inBlock {
		f.blocks[len(f.blocks)-1].leaves = true
	}
}

// transfer records the effect of an instruction on the flow of control. name is the symbol that target names,
// or "".
func (f *fragment) transfer(kind flow, target []byte, name string, isTrap bool) {
	if kind == flowShort {
		f.short = true
	}
	if f.state == unreached {
		return
	}
	b := &f.blocks[len(f.blocks)-1]
	switch kind {
	case flowCall, flowBranch, flowJump:
		if !isLocal(target) {
			if name != "" {
				f.calls = append(f.calls, call{len(f.blocks) - 1, name, kind != flowCall})
			}
		}
	}
	switch kind {
	case flowBranch, flowShort:
		f.state = startBlock
	case flowJump, flowEnd:
		b.traps = kind == flowEnd && isTrap || kind == flowJump && !isLocal(target) && name == ""
		f.state = unreached
	default:
		return
	}
	b.last = kind
	if isLocal(target) {
		b.target = target
	}
}

// assignCold assigns cold fragments to the functions they came from. A cold fragment without its function becomes a
// function without probes: the blocks that it jumps to have an unknown predecessor.
//
// Code that is entered by calls is a function, whatever its name. gcc makes f.part.0 of a function whose first
// test it inlines elsewhere, and clang makes f.cold.1 of code that it outlines: callers of both need never
// enter f.
func (p *parser) assignCold() {
	called := p.called()
	kept := p.unit.funcs[:0]
	for _, fn := range p.unit.funcs {
		m := coldName().FindStringSubmatch(fn.name)
		if m == nil || called[fn.name] {
			kept = append(kept, fn)
			continue
		}
		parent := p.parentOf(m[1])
		if parent != nil && parent != fn && parent.main().sec.group == fn.main().sec.group {
			fn.join(parent)
			continue
		}
		kept = append(kept, fn)
		fn.orphan = true
		for _, b := range fn.main().blocks {
			p.taken[string(b.target)] = true
		}
	}
	p.unit.funcs = kept
}

// called returns the cold fragments that the unit calls.
func (p *parser) called() map[string]bool {
	called := map[string]bool{}
	for _, fn := range p.unit.funcs {
		for _, fr := range fn.frags {
			for _, c := range fr.calls {
				if !c.tail && coldName().MatchString(c.callee) {
					called[c.callee] = true
				}
			}
		}
	}
	return called
}

// join moves the fragments of fn to parent. Its entry block becomes a normal
// block, or is dropped if a label precedes all code.
func (fn *function) join(parent *function) {
	f := fn.main()
	for _, fr := range fn.frags {
		fr.parent = parent
	}
	parent.frags = append(parent.frags, fn.frags...)
	f.blocks[0].probe = f.probe
	if f.blocks[0].used {
		return
	}
	f.blocks = f.blocks[1:]
	for i := range f.labels {
		f.labels[i].block--
	}
	for i := range f.calls {
		f.calls[i].block--
	}
	for i := range f.lines {
		f.lines[i].block = max(f.lines[i].block-1, -1)
	}
}

// parentOf returns the function that contained the code under the symbol name, or nil. Code moved out of moved
// code belongs to the same function.
func (p *parser) parentOf(name string) *function {
	if fn := p.byName[name]; fn != nil {
		return fn.main().parent
	}
	if m := coldName().FindStringSubmatch(name); m != nil {
		return p.parentOf(m[1])
	}
	return nil
}

// way is an edge that gets a block.
type way struct {
	block int  // index into the blocks of its fragment: the one that ends with the jump
	taken bool // the edge of the jump, not the one to the next block
	jump  codeLine
	word  string // the opposite jump
}
