package native

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/prof"
)

// arm is the assembly of Armv7-A in both of its states, as gcc and clang write it. The probes at entries are in
// armentry.go.
//
// The probe of a block that sets a byte takes 14 bytes in the Thumb state and 16 in the Arm state:
//
//	movw r3, #:lower16:(near-(1f+4))
//	movt r3, #:upper16:(near-(1f+4))
//	1: add r3, pc
//	strb r3, [r3, #distance]
//
// near is an address that ends in 01, less than 4,096 bytes below the byte to set: so the register also holds
// the value. Records have such an address nearby if their area begins at a multiple of 256, which is worth it
// for many records. In a small area the address is that of the byte, and another register holds the 1.
//
// Inside a function a probe does not change the flags and uses registers that are not live (armlive.go).
type arm struct{}

var syntaxArm = syntax{mark: "%", address: ".long", upper: ", 0"}

func (arm) syntax() *syntax { return &syntaxArm }

func (arm) relocNone() string { return "R_ARM_NONE" }

func (arm) entryRow() string { return "\t.cfi_def_cfa 13, 0\n" }

// dialect returns nil: functions are not split.
func (arm) dialect() *dialect { return nil }

func (arm) refuse(directive string, rest []byte) string {
	switch directive {
	case ".arch", ".cpu":
		return refuseArch(string(bytes.TrimSpace(armCode(rest))))
	case ".eabi_attribute":
		return refuseAttribute(armOperands(rest))
	}
	return ""
}

// refuseArch returns why code for an architecture is not supported, or "". Directives that name a processor
// also name an architecture.
func refuseArch(name string) string {
	base, _, _ := strings.Cut(name, "+")
	switch {
	case !strings.HasPrefix(base, "armv"):
		return ""
	case strings.HasSuffix(base, "-m") || strings.Contains(base, "-m.") || base == "armv7e-m" || base == "armv6s-m":
		return "code for " + base + ", a processor without an operating system, is not supported: Armv7-A is"
	case strings.HasPrefix(base, "armv7"), strings.HasPrefix(base, "armv8"), strings.HasPrefix(base, "armv9"), base == "armv6t2":
		return ""
	}
	return "code for " + base + " is not supported, which has no movw and movt: compile with -march=armv7-a or later"
}

// refuseAttribute handles the attributes that clang writes instead of .arch.
func refuseAttribute(ops [][]byte) string {
	if len(ops) != 2 {
		return ""
	}
	switch value := string(ops[1]); string(ops[0]) {
	case "6": // Tag_CPU_arch
		switch n, err := strconv.Atoi(value); {
		case err == nil && n < 10 && n != 8:
			return "code for a processor before Armv7 is not supported, which has no movw and movt: compile with -march=armv7-a or later"
		case n >= 11 && n <= 13, n == 16, n == 17, n == 21:
			return refuseArch("armv7-m")
		}
	case "7": // Tag_CPU_arch_profile
		if value == "77" {
			return refuseArch("armv7-m")
		}
	}
	return ""
}

// wideAlign is the alignment of areas with addresses that end in 01 near all records.
const wideAlign = 256

// wideFrom is the minimum number of probe bytes of an area that is aligned like that.
const wideFrom = 48

// nearReach is the distance between the labels of an area: an address in an instruction has 15 bits for the
// offset from a symbol, and a store has the same reach.
const nearReach = 4096

// wideAreas returns the keys of the areas that are worth their alignment.
func (r *rewriter) wideAreas() map[string]bool {
	bytes := map[string]int{}
	for _, fn := range r.unit.funcs {
		n := 1
		if r.opts.Mode.HasBlocks() {
			for _, f := range fn.frags {
				n += len(f.blocks)
			}
		}
		bytes[areaKey(fn.main().sec)] += n
	}
	wide := map[string]bool{}
	for key, n := range bytes {
		wide[key] = n >= wideFrom && (r.opts.Mode.HasBlocks() || r.opts.Mode == prof.ModeCover)
	}
	return wide
}

// appendNear appends an area of a size with its labels.
func appendNear(out []byte, area, size int) []byte {
	for at := 0; at < size; at += nearReach {
		out = append(out, nearLabel(area, at)+":\n\t.zero\t"+strconv.Itoa(min(nearReach, size-at))+"\n"...)
	}
	return out
}

func nearLabel(area, at int) string {
	return ".Lcairn_d" + strconv.Itoa(area) + "_" + strconv.Itoa(at/nearReach)
}

// armAsm writes instructions of one of the two states.
type armAsm struct{ thumb bool }

// address returns code that sets a register to an address, with a label of its own. It does not change the
// flags.
func (a armAsm) address(reg, what, label string) string {
	ahead, add := "8", "\tadd\t"+reg+", pc, "+reg+"\n"
	if a.thumb {
		ahead, add = "4", "\tadd\t"+reg+", pc\n"
	}
	from := what + "-(" + label + "+" + ahead + "))\n"
	return "\tmovw\t" + reg + ", #:lower16:(" + from + "\tmovt\t" + reg + ", #:upper16:(" + from + label + ":\n" + add
}

// record is address for a record; use distinguishes the uses of one record.
func (a armAsm) record(reg string, rec position, use string) string {
	what := nearLabel(rec.area, rec.off)
	if rest := rec.off % nearReach; rest > 0 {
		what += "+" + strconv.Itoa(rest)
	}
	return a.address(reg, what, a.label(rec, use))
}

func (a armAsm) label(rec position, use string) string {
	return ".Lcairn_" + use + strconv.Itoa(rec.area) + "_" + strconv.Itoa(rec.off)
}

// push and pop return code that saves and restores registers on the stack, with unwind directives if the
// function has any.
func (a armAsm) push(unwind bool, regs ...string) string {
	text := "\tpush\t{" + strings.Join(regs, ", ") + "}\n"
	if unwind {
		text += "\t.cfi_adjust_cfa_offset " + strconv.Itoa(4*len(regs)) + "\n"
	}
	return text
}

func (a armAsm) pop(unwind bool, regs ...string) string {
	text := "\tpop\t{" + strings.Join(regs, ", ") + "}\n"
	if unwind {
		text += "\t.cfi_adjust_cfa_offset -" + strconv.Itoa(4*len(regs)) + "\n"
	}
	return text
}

// setNear returns code that sets the byte of a record in an aligned area with one register.
func (a armAsm) setNear(reg string, rec position) string {
	at := rec.off &^ (nearReach - 1)
	what := nearLabel(rec.area, at) + "+1"
	return a.address(reg, what, a.label(rec, "a")) + "\tstrb\t" + reg + ", [" + reg + ", #" + strconv.Itoa(rec.off-at-1) + "]\n"
}

// setByte returns code that sets the byte of a record with two registers, the second of which gets 1.
func (a armAsm) setByte(base, value string, rec position) string {
	return a.record(base, rec, "a") + "\tmov\t" + value + ", #1\n\tstrb\t" + value + ", [" + base + "]\n"
}

// armFar reports whether a conditional branch at the entry might not reach the stub of a function: the stub is
// after a function of a million bytes.
func (r *rewriter) armFar(f *fragment) bool {
	return f.stub < 0 && f.end-f.label > 1<<20
}

// armBytes is the most that the probe of an entry takes.
const armBytes = 64

// blocks accepts functions in which all references of limited reach can be extended.
func (arm) blocks(r *rewriter, fn *function, implied [][]int) (blockProbes, bool) {
	places := r.armPlaces(fn, implied)
	return places, r.reachArm(fn, implied, places)
}

// armPlace is the place of a probe.
type armPlace struct {
	free   armSet
	thumb  bool
	unwind bool // there are unwind directives to update
}

// armBlocks are the registers for the probes of blocks.
type armBlocks struct {
	places []armPlace
	wide   bool // one register is enough
}

// probe saves registers on the stack if too few are free.
func (b *armBlocks) probe(block int, rec position) string {
	at := b.places[block]
	a := armAsm{at.thumb}
	regs, spilled := b.registers(at)
	text := ""
	if b.wide {
		text = a.setNear(regs[0], rec)
	} else {
		text = a.setByte(regs[0], regs[1], rec)
	}
	if len(spilled) > 0 {
		text = a.push(at.unwind, spilled...) + text + a.pop(at.unwind, spilled...)
	}
	return text
}

// registers returns the registers of a probe, and which of them are live.
func (b *armBlocks) registers(at armPlace) (regs, spilled []string) {
	need := 2
	if b.wide {
		need = 1
	}
	for _, n := range armOrder {
		if at.free&(1<<n) != 0 && len(regs) < need {
			regs = append(regs, armName(n))
		}
	}
	for n := 0; len(regs) < need; n++ {
		if name := armName(n); !slices.Contains(regs, name) {
			regs, spilled = append(regs, name), append(spilled, name)
		}
	}
	return regs, spilled
}

// size returns the most bytes that the probe of a block takes.
func (b *armBlocks) size(block int) int {
	at := b.places[block]
	_, spilled := b.registers(at)
	size := 16 // movw, movt, add, strb
	if at.thumb {
		size = 14
	}
	if !b.wide {
		size += 4
	}
	if len(spilled) > 0 {
		size += 8
	}
	return size
}
