package probe

import (
	"strconv"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/aarch64"
)

// aarch64Probes are the probes of AArch64, as gcc and clang write it.
//
// A probe is 12 bytes where it sets a byte and 20 where it counts:
//
//	cover, block        count, full            order, block+order
//	adrp x16, rec       adrp x16, rec          adrp x16, rec
//	mov  w17, 1         ldr  w17, [x16, lo12]  ldrb w17, [x16, lo12]
//	strb w17, [x16, lo12]  cbz w17, S          cbz  w17, S
//	                    sub  w17, w17, 1
//	                    str  w17, [x16, lo12]
//
// x16 and x17 belong to the linker's veneers: no compiler keeps a value in them across a call, so at an entry
// they are free, even with -fipa-ra. Inside a function they are ordinary registers (package aarch64). Probes do
// not change the flags.
//
// The stub of a first call saves the return address, which its own call overwrites:
//
//	S:  add  x16, x16, :lo12:rec
//	    stp  x16, x30, [sp, -16]!
//	    bl   __cairn_first_count
//	    ldp  x16, x30, [sp], 16
//	    b    back
type aarch64Probes struct{}

func (aarch64Probes) relocNone() string { return aarch64.RelocNone }

func (aarch64Probes) entryRow() string { return "\t.cfi_def_cfa 31, 0\n" }

// setByte returns a probe that sets a byte with two registers.
func setByte(base, value int, rec position) string {
	b, v, r := strconv.Itoa(base), strconv.Itoa(value), rec.String()
	return "\tadrp\tx" + b + ", " + r + "\n\tmov\tw" + v + ", 1\n\tstrb\tw" + v + ", [x" + b + ", :lo12:" + r + "]\n"
}

func (m aarch64Probes) entryProbe(o *Options, p *entryProbe) (probe, stub string) {
	rec, num := p.rec.String(), strconv.Itoa(p.number)
	first := firstCall(o.Mode)
	if first == "" {
		return setByte(16, 17, p.rec), ""
	}
	toStub, back := "\tcbz\tw17, .Lcairn_s"+num+"\n", ".Lcairn_r"+num+":\n"
	page := "\tadrp\tx16, " + rec + "\n"
	address := "\tadd\tx16, x16, :lo12:" + rec + "\n"
	switch {
	case o.Mode.HasSlots():
		probe = page + "\tldrb\tw17, [x16, :lo12:" + rec + "]\n" + toStub + back
	case o.Atomic && aarch64.HasLSE(p.features):
		// The old value: 0 at the first call.
		probe = page + address + "\tmov\tw17, -1\n\tldadd\tw17, w17, [x16]\n" + toStub + back
		first, address = first+"_atomic", ""
	case o.Atomic:
		probe = page + address + exclusiveCount(num, p.unwind) + "\tcmn\tw17, 1\n\tb.eq\t.Lcairn_s" + num + "\n" + back
		first, address = first+"_atomic", ""
	default:
		probe = page + "\tldr\tw17, [x16, :lo12:" + rec + "]\n" + toStub +
			"\tsub\tw17, w17, 1\n\tstr\tw17, [x16, :lo12:" + rec + "]\n" + back
	}
	return probe, ".Lcairn_s" + num + ":\n" + address + "\tstp\tx16, x30, [sp, -16]!\n\tbl\t" + first +
		"\n\tldp\tx16, x30, [sp], 16\n\tb\t.Lcairn_r" + num + "\n"
}

// exclusiveCount counts at x16 with a pair of exclusive accesses, which needs a third register.
func exclusiveCount(num string, unwind bool) string {
	down, up := "", ""
	if unwind {
		down, up = "\t.cfi_adjust_cfa_offset 16\n", "\t.cfi_adjust_cfa_offset -16\n"
	}
	return "\tstr\tx15, [sp, -16]!\n" + down + ".Lcairn_l" + num + ":\n\tldxr\tw17, [x16]\n\tsub\tw17, w17, 1\n\tstxr\tw15, w17, [x16]\n" +
		"\tcbnz\tw15, .Lcairn_l" + num + "\n\tldr\tx15, [sp], 16\n" + up
}

// blocks accepts functions whose branches and tables can be extended over the probes.
func (aarch64Probes) blocks(r *Rewriter, fn *asm.Function, implied [][]int) (blockProbes, bool) {
	places := r.probePlaces(fn, implied)
	return places, r.reachBlocks(fn, implied, places.size)
}
