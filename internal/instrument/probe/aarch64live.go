package probe

import (
	"math/bits"
	"strconv"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/aarch64"
)

// Problem: the probe of a block needs two registers, and inside a function any may be live.
//
// Choice: liveness of x0 to x17 over the flow graph. A register counts as read unless it is known to be
// overwritten first. A call is assumed to read x0 to x8 and to overwrite only x16 and x17: with -fipa-ra a
// caller keeps values in registers that it has seen its callee preserve, but not in a register that this
// function overwrites on all paths from a block. Functions whose text contains neither x16 nor x17, nine of
// ten, need no analysis. Where too few registers are free, others are saved on the stack: on SQLite by clang
// -O2 at 1.7 % of the probes.

// aarch64Blocks are the registers for the probes of blocks; nil: x16 and x17 everywhere.
type aarch64Blocks []aarch64Place

// aarch64Place is the place of a probe.
type aarch64Place struct {
	free    aarch64.Set // registers that are not live
	onStack bool        // the CFA is relative to the stack pointer
}

// spills reports whether the place has fewer than n free registers.
func (p aarch64Place) spills(n int) bool { return bits.OnesCount32(uint32(p.free)) < n }

func (p aarch64Blocks) probe(block int, rec position) string {
	if p == nil {
		return setByte(16, 17, rec)
	}
	return p[block].with(2, func(r []int) string { return setByte(r[0], r[1], rec) })
}

// size returns the bytes of the probe of a block.
func (p aarch64Blocks) size(block int) int {
	if p == nil {
		return 12
	}
	return 12 + p[block].spillSize(2)
}

// with returns code that changes n registers, two or three: those that are free, and others that it saves on the stack.
func (p aarch64Place) with(n int, code func(registers []int) string) string {
	var use []int
	for free := p.free; free != 0 && len(use) < n; free &^= 1 << use[len(use)-1] {
		use = append(use, aarch64.Highest(free))
	}
	var saved []int // ascending
	for r := aarch64.Highest(aarch64.TrackedRegs); len(use)+len(saved) < n; r-- {
		if p.free>>r&1 == 0 {
			saved = append([]int{r}, saved...)
		}
	}
	text := code(append(use, saved...))
	for ; len(saved) > 0; saved = saved[min(2, len(saved)):] {
		text = p.save(saved[:min(2, len(saved))], text)
	}
	return text
}

// spillSize returns the bytes that with adds to code for n registers.
func (p aarch64Place) spillSize(n int) int {
	saved := max(0, n-bits.OnesCount32(uint32(p.free)))
	return 8 * ((saved + 1) / 2)
}

// save returns code between instructions that save one or two registers, and restore them.
func (p aarch64Place) save(registers []int, code string) string {
	down, up := "", ""
	if p.onStack {
		down, up = "\t.cfi_adjust_cfa_offset 16\n", "\t.cfi_adjust_cfa_offset -16\n"
	}
	store, load, names := "str", "ldr", "x"+strconv.Itoa(registers[0])
	if len(registers) == 2 {
		store, load, names = "stp", "ldp", names+", x"+strconv.Itoa(registers[1])
	}
	return "\t" + store + "\t" + names + ", [sp, -16]!\n" + down + code + "\t" + load + "\t" + names + ", [sp], 16\n" + up
}

// onStack reports whether, at a place in f, the CFA is relative to the stack pointer.
func (r *Rewriter) onStack(f *asm.Fragment, at int) bool {
	return f.Unwind && asm.CFAOnStack(r.Unit.Src[f.Label:max(f.Label, at)], "31", "sp", "wsp")
}

// usesVeneers reports whether the text of fn has x16 or x17.
func (r *Rewriter) usesVeneers(fn *asm.Function) bool {
	for _, f := range fn.Frags {
		if aarch64.Mentioned(r.Unit.Src[f.Label:f.End])&aarch64.VeneerRegs != 0 {
			return true
		}
	}
	return false
}

// probePlaces returns the places of the probes of the blocks of fn, nil if x16 and x17 are free in all of it.
func (r *Rewriter) probePlaces(fn *asm.Function, implied [][]int) aarch64Blocks {
	if !r.usesVeneers(fn) {
		return nil
	}
	live := aarch64.Live(r.Unit, fn)
	places := make(aarch64Blocks, len(implied))
	first := 0
	for _, f := range fn.Frags {
		for i := range f.Blocks {
			p := &places[first+i]
			p.free = aarch64.TrackedRegs &^ live[first+i]
			p.onStack = p.spills(2) && r.onStack(f, f.Blocks[i].Probe)
		}
		first += len(f.Blocks)
	}
	return places
}
