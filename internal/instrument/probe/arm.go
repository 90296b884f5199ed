package probe

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/arm"
)

// armProbes are the probes of Armv7-A in both of its states, as gcc and clang write it. The probes at entries are in
// armentry.go.
//
// The probe of a block that sets a flag takes 12 bytes in the Thumb state, 14 with a high register, and 16 in the
// Arm state:
//
//	movw r3, #:lower16:(odd-(1f+4))
//	movt r3, #:upper16:(odd-(1f+4))
//	1: add r3, pc
//	strb r3, [r3, #0 or #1]
//
// odd is the address of the flag, or, if that is even, the one before. The store writes the low byte of this
// address, which is not 0 because it is odd, so that no second register is needed for a value, and two bytes
// are enough for the store. Readers know the value (wire.OddFlag). Areas of flags begin at a multiple of 2.
//
// Inside a function a probe does not change the flags and uses registers that are not live (package arm).
type armProbes struct{}

var syntaxArm = syntax{mark: "%", address: ".long", upper: ", 0", flagAlign: 2}

func (armProbes) syntax() *syntax { return &syntaxArm }

func (armProbes) relocNone() string { return arm.RelocNone }

func (armProbes) entryRow() string { return "\t.cfi_def_cfa 13, 0\n" }

// nearReach is the distance between the labels of an area: an address in an instruction has 15 bits for the
// offset from a symbol.
const nearReach = 4096

// appendArea appends the bytes of an area with its labels.
func (armProbes) appendArea(out []byte, a *area) []byte {
	for at := 0; at < a.size; at += nearReach {
		out = append(out, nearLabel(a.index, at)+":\n\t.zero\t"+strconv.Itoa(min(nearReach, a.size-at))+"\n"...)
	}
	return out
}

func nearLabel(area, at int) string {
	return ".Lcairn_d" + strconv.Itoa(area) + "_" + strconv.Itoa(at/nearReach)
}

// armAsm writes instructions of one of the two states.
type armAsm struct{ thumb bool }

// near returns the address of a record, or of the byte before one.
func near(rec position) string {
	at := max(rec.off, 0)
	what := nearLabel(rec.area, at)
	if rest := rec.off - at&^(nearReach-1); rest != 0 {
		what += fmt.Sprintf("%+d", rest)
	}
	return what
}

// recordLabel labels the instruction that adds the program counter to the distance of a record.
func recordLabel(rec position) string {
	return ".Lcairn_a" + strconv.Itoa(rec.area) + "_" + strconv.Itoa(rec.off)
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

// oddBefore returns the last odd address that is not behind a flag.
func oddBefore(flag position) position { return position{flag.area, (flag.off - 1) | 1} }

// setFlag returns code that sets a flag with one register.
func (a armAsm) setFlag(reg string, flag position) string {
	return arm.Address(a.thumb, reg, near(oddBefore(flag)), recordLabel(flag)) + storeFlag(reg, flag)
}

// storeFlag returns the store of a flag, with a register that has oddBefore.
func storeFlag(reg string, flag position) string {
	if flag.off == oddBefore(flag).off {
		return "\tstrb\t" + reg + ", [" + reg + "]\n"
	}
	return "\tstrb\t" + reg + ", [" + reg + ", #1]\n"
}

// armFar reports whether a conditional branch at the entry might not reach the stub of a function: the stub is
// after a function of a million bytes.
func (r *Rewriter) armFar(f *asm.Fragment) bool {
	return f.Stub < 0 && f.End-f.Label > 1<<20
}

// armBytes is the most that the probe of an entry takes.
const armBytes = 64

// blocks accepts functions in which all references of limited reach can be extended.
func (armProbes) blocks(r *Rewriter, fn *asm.Function, implied [][]int) (blockProbes, bool) {
	places := r.armPlaces(fn, implied)
	return places, r.reachArm(fn, implied, places)
}

// armPlace is the place of a probe.
type armPlace struct {
	free   arm.Set
	thumb  bool
	unwind bool // there are unwind directives to update
}

// armBlocks are the registers for the probes of blocks.
type armBlocks struct {
	places []armPlace
}

// probe saves registers on the stack if too few are free.
func (b *armBlocks) probe(block int, rec position) string {
	at := b.places[block]
	a := armAsm{at.thumb}
	reg, live := at.register()
	text := a.setFlag(arm.Name(reg), rec)
	if live {
		text = a.push(at.unwind, arm.Name(reg)) + text + a.pop(at.unwind, arm.Name(reg))
	}
	return text
}

// register returns the register of a probe, and whether it is live.
func (at *armPlace) register() (reg int, live bool) {
	for _, n := range arm.Order {
		if at.free&(1<<n) != 0 {
			return n, false
		}
	}
	return 0, true
}

// size returns the most bytes that the probe of a block takes.
func (b *armBlocks) size(block int) int {
	at := b.places[block]
	reg, live := at.register()
	size := 16 // movw, movt, add, strb
	switch {
	case at.thumb && reg < 8:
		size = 12
	case at.thumb:
		size = 14
	}
	if live {
		size += 8
	}
	return size
}
