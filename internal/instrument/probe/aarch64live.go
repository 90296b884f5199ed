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
// ten, need no analysis. Where fewer than two registers are free, one is saved on the stack: on SQLite by clang
// -O2 at 1.7 % of the probes.

// aarch64Blocks are the registers for the probes of blocks; nil: x16 and x17 everywhere.
type aarch64Blocks []aarch64Place

// aarch64Place is the place of a probe.
type aarch64Place struct {
	free    aarch64.Set // registers that are not live
	onStack bool        // the CFA is relative to the stack pointer
}

// spills reports whether the place has fewer than two free registers.
func (p aarch64Place) spills() bool { return bits.OnesCount32(uint32(p.free)) < 2 }

func (p aarch64Blocks) probe(block int, rec position) string {
	if p == nil {
		return setByte(16, 17, rec)
	}
	at := p[block]
	if at.spills() {
		return at.spill(rec)
	}
	base := aarch64.Highest(at.free)
	return setByte(base, aarch64.Highest(at.free&^(1<<base)), rec)
}

// size returns the bytes of the probe of a block.
func (p aarch64Blocks) size(block int) int {
	if p != nil && p[block].spills() {
		return 20
	}
	return 12
}

// spill returns the probe for a place with one free register or none: it saves another on the stack.
func (p aarch64Place) spill(rec position) string {
	down, up := "", ""
	if p.onStack {
		down, up = "\t.cfi_adjust_cfa_offset 16\n", "\t.cfi_adjust_cfa_offset -16\n"
	}
	if p.free == 0 {
		return "\tstp\tx16, x17, [sp, -16]!\n" + down + setByte(16, 17, rec) + "\tldp\tx16, x17, [sp], 16\n" + up
	}
	base := aarch64.Highest(p.free)
	value := aarch64.Highest(aarch64.VeneerRegs &^ p.free)
	v := strconv.Itoa(value)
	return "\tstr\tx" + v + ", [sp, -16]!\n" + down + setByte(base, value, rec) + "\tldr\tx" + v + ", [sp], 16\n" + up
}

// probePlaces returns the places of the probes of the blocks of fn, nil if x16 and x17 are free in all of it.
func (r *Rewriter) probePlaces(fn *asm.Function, implied [][]int) aarch64Blocks {
	used := false
	for _, f := range fn.Frags {
		used = used || aarch64.Mentioned(r.Unit.Src[f.Label:f.End])&aarch64.VeneerRegs != 0
	}
	if !used {
		return nil
	}
	live := aarch64.Live(r.Unit, fn)
	places := make(aarch64Blocks, len(implied))
	first := 0
	for _, f := range fn.Frags {
		for i := range f.Blocks {
			p := &places[first+i]
			p.free = aarch64.TrackedRegs &^ live[first+i]
			p.onStack = p.spills() && f.Unwind && asm.CFAOnStack(r.Unit.Src[f.Label:max(f.Label, f.Blocks[i].Probe)], "31", "sp", "wsp")
		}
		first += len(f.Blocks)
	}
	return places
}
