package probe

import (
	"strconv"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/x86"
)

// x86Probes are the probes of x86-64 in AT&T syntax.
type x86Probes struct{}

func (x86Probes) relocNone() string { return x86.RelocNone }

func (x86Probes) entryRow() string { return "\t.cfi_def_cfa 7, 8\n" }

func (x86Probes) entryProbe(o *Options, p *entryProbe) (probe, stub string) {
	first := firstCall(o.Mode)
	if first == "" {
		return "\tmovb\t$1, " + p.rec.String() + "(%rip)\n", ""
	}
	probe = "\tsubl\t$1, " + p.rec.String() + "(%rip)\n\tjc\t"
	if o.Mode.HasSlots() {
		probe = "\tcmpb\t$0, " + p.rec.String() + "(%rip)\n\tje\t"
	} else if o.Atomic {
		probe = "\tlock subl\t$1, " + p.rec.String() + "(%rip)\n\tjc\t"
	}
	num := strconv.Itoa(p.number)
	probe += ".Lcairn_s" + num + "\n.Lcairn_r" + num + ":\n"
	return probe, ".Lcairn_s" + num + ":\n\tcall\t" + first + "\n\tjmp\t.Lcairn_r" + num + "\n"
}

// blocks accepts all but functions with a branch of short reach, which probes might move
// out of reach.
func (x86Probes) blocks(_ *Rewriter, fn *asm.Function, implied [][]int) (blockProbes, bool) {
	for _, f := range fn.Frags {
		if f.Short {
			return nil, false
		}
	}
	return x86Blocks{}, true
}

type x86Blocks struct{}

func (x86Blocks) probe(_ int, rec position) string { return "\tmovb\t$1, " + rec.String() + "(%rip)\n" }
