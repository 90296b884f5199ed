package probe

import (
	"bytes"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/x86"
)

// A counter is an increment in memory, which changes the flags. At the beginning of one block in ten of SQLite at -O2 the
// flags are live: the next instruction is a second jump of the same comparison. There a register is used that is not
// live, and that the function overwrites anyway; where there is none, or the increment has to be locked, the flags are
// saved on the stack, above what the function may have below the stack pointer (the red zone of the System V ABI).
//
//	incq rec(%rip)      movq rec(%rip), %rcx      leaq -128(%rsp), %rsp
//	                    leaq 1(%rcx), %rcx        pushfq
//	                    movq %rcx, rec(%rip)      incq rec(%rip)
//	                                              popfq
//	                                              leaq 128(%rsp), %rsp

// A block that runs at most once in each call is counted in the low half of its counter, by an instruction that is a byte
// shorter: it runs no more often than the function is called, which is counted in 32 bits, and a call count that wrapped
// makes the function's counts inexact.

// x86Counters are the places of the counters of a function.
type x86Counters struct {
	r      *Rewriter
	live   []x86.Set // at the beginning of each block of the function
	free   x86.Set   // registers that may be used where they are not live
	places []x86Place
}

// x86Place is the place of a counter.
type x86Place struct {
	live    x86.Set
	onStack bool // the CFA is relative to the stack pointer
	once    bool // it runs at most once in each call
}

// count leaves alone what has a branch of short reach, which counters might move out of reach.
func (x86Probes) count(r *Rewriter, fn *asm.Function) *counted {
	for _, f := range fn.Frags {
		if f.Short {
			return onlyCalls(fn)
		}
	}
	return r.planCounters(fn, &x86Counters{r: r, live: x86.Live(r.Unit, fn), free: x86.Written(r.Unit, fn)})
}

func (c *x86Counters) dear(block int) bool { return c.live[block]&x86.Flags != 0 }

func (c *x86Counters) add(f *asm.Fragment, at, block int, once bool) {
	p := x86Place{live: c.live[block], once: once}
	if c.dear(block) {
		p.onStack = f.Unwind && asm.CFAOnStack(c.r.Unit.Src[f.Label:max(f.Label, at)], "7", "%rsp", "rsp")
	}
	c.places = append(c.places, p)
}

func (c *x86Counters) probe(block int, rec position) string {
	atomic := c.r.Opts.Atomic
	p := &c.places[block]
	count := "\tincq\t" + rec.String() + "(%rip)\n"
	if p.once {
		count = "\tincl\t" + rec.String() + "(%rip)\n"
	}
	if atomic {
		count = "\tlock " + count[1:]
	}
	if p.live&x86.Flags == 0 {
		return count
	}
	if reg := x86.Name(c.free &^ p.live); reg != "" && !atomic {
		return "\tmovq\t" + rec.String() + "(%rip), %" + reg + "\n\tleaq\t1(%" + reg + "), %" + reg + "\n\tmovq\t%" + reg + ", " + rec.String() + "(%rip)\n"
	}
	cfa := func(change string) string {
		if !p.onStack {
			return ""
		}
		return "\t.cfi_adjust_cfa_offset " + change + "\n"
	}
	return "\tleaq\t-128(%rsp), %rsp\n" + cfa("128") + "\tpushfq\n" + cfa("8") + count +
		"\tpopfq\n" + cfa("-8") + "\tleaq\t128(%rsp), %rsp\n" + cfa("-128")
}

// x86Branches are the jumps of x86-64.
var x86Branches = branching{
	jump: "jmp",
	opposite: func(line, label []byte) (string, bool) {
		words := x86Words(line)
		if len(words) != 2 || !bytes.Equal(words[1], label) {
			return "", false
		}
		word, ok := x86.Inverse[string(words[0])]
		return word + "\t", ok
	},
	jumps: func(line, label []byte) bool {
		words := x86Words(line)
		return len(words) == 2 && bytes.Equal(words[1], label) && (string(words[0]) == "jmp" || string(words[0]) == "jmpq")
	},
}

// x86Words returns the words of a line.
func x86Words(line []byte) [][]byte {
	code, _, _ := bytes.Cut(line, []byte("#"))
	return bytes.Fields(code)
}
