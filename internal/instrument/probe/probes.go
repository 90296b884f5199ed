package probe

import (
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// probes are the probes of one machine, and how its assembly is written as far as they need that. What its
// instructions do, asm.Machine has.
type probes interface {
	// syntax returns the syntax of directives.
	syntax() *syntax
	// relocNone is the relocation that keeps its target alive and has no other effect.
	relocNone() string
	// entryRow is the directive for the CFA at the entry of a function.
	entryRow() string
	// entryProbe returns the probe at the entry of a function and its first-call stub, or
	// "" if the mode has none. It may move the probe, within the first block.
	entryProbe(o *Options, p *entryProbe) (probe, stub string)
	// appendArea appends the bytes of an area.
	appendArea(out []byte, a *area) []byte
	// count returns the counters of a function in mode edge.
	count(r *Rewriter, fn *asm.Function) *counted
	// countsBlocks reports whether they count more than calls.
	countsBlocks() bool
	// blocks returns the probes of the blocks of a function that are not implied by others,
	// or false if the function can have none but that of its entry.
	blocks(r *Rewriter, fn *asm.Function, implied [][]int) (blockProbes, bool)
}

// entryProbe describes the probe at an entry.
type entryProbe struct {
	number   int // of the function, in the names of labels
	at       int // offset of the probe
	rec      position
	unwind   bool   // the function has unwind directives
	features string // operand of the last directive that chose an architecture
	r        *Rewriter
	f        *asm.Fragment
}

// syntax is how the directives of a machine's assembly are written.
type syntax struct {
	mark    string // before the type of a section
	address string // directive for an address of eight bytes
	upper   string // after that address: what fills the eight bytes, or ""

	flagAlign int // alignment of areas whose records have no counter
}

var syntax64 = syntax{mark: "@", address: ".quad", flagAlign: 1}

func (x86Probes) syntax() *syntax { return &syntax64 }

func (aarch64Probes) syntax() *syntax { return &syntax64 }

func (x86Probes) countsBlocks() bool { return true }

func (aarch64Probes) countsBlocks() bool { return true }

func (armProbes) countsBlocks() bool { return false }

func (armProbes) count(_ *Rewriter, fn *asm.Function) *counted { return onlyCalls(fn) }

func (x86Probes) appendArea(out []byte, a *area) []byte { return zeros(out, a.size) }

func (aarch64Probes) appendArea(out []byte, a *area) []byte { return zeros(out, a.size) }

// quad returns the directive for an address of eight bytes.
func (s *syntax) quad(at string) string { return "\t" + s.address + "\t" + at + s.upper + "\n" }

// blockProbes are the probes of one function's blocks.
type blockProbes interface {
	// probe returns the probe of a block, which counts through all fragments.
	probe(block int, rec position) string
}

// machines have probes.
var machines = map[machine.Kind]probes{machine.X86_64: x86Probes{}, machine.AArch64: aarch64Probes{}, machine.Arm: armProbes{}}
