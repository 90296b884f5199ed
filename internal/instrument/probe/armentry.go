package probe

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/arm"
)

// Problem: only ip and the flags are known to be free at an entry. Instructions of the Thumb state have two
// bytes for r0 to r7, and four for ip.
//
// Choice: an argument register that liveness (package arm) finds free, or, if the function begins with a push,
// one that it saves there. The probe then stands after the push, in the same block. The address of the record
// is in a literal after the function, which a load of two bytes reaches up to 1,020 bytes away; otherwise in
// movw and movt:
//
//	cover, 10 bytes          count, full, 16          order, block+order, 16
//	ldr  r3, literal         ldr  r3, literal         ldr  r3, literal
//	1: add r3, pc            1: add r3, pc            1: add r3, pc
//	strb r3, [r3, #0 or #1]  ldr  r2, [r3]            mov  ip, r3
//	                         subs r2, r2, #1          ldrb r3, [r3]
//	                         str  r2, [r3]            cmp  r3, #0
//	                         bcc  stub                beq  stub
//	literal: .word record-(1b+4)
//
// In mode cover the address is odd, as in arm.go, which says why.
// Where too few registers are free, some are saved on the stack; in a function that receives a value in ip, as
// nested functions of GNU C do, ip as well. The Arm state has no short instructions: there ip holds the
// address, from movw and movt, and another register the count.
//
// An argument register is used only if the function overwrites it on all paths to a return, so that callers
// compiled with -fipa-ra keep nothing there.
//
// The stub of a first call saves the return address, which its own call overwrites:
//
//	stub:  mov   ip, r3
//	       push  {ip, lr}
//	       bl    __cairn_first_count
//	       pop   {ip, lr}
//	       b     back

// armLiteralReach is the reach of a short load of a literal, less the literal's size and alignment.
const armLiteralReach = 1020 - 16

// armEntry is the place of the probe at an entry and the registers that it may use.
type armEntry struct {
	at    int
	free  []string // registers, the best first; r0 to r7 in the Thumb state
	chain bool     // ip is live
}

// armEntryOf finds a place with the needed number of free registers, or with the most.
func (r *Rewriter) armEntryOf(p *entryProbe, need int) armEntry {
	f := p.f
	live := arm.Live(r.Unit, f.Parent)
	e := armEntry{at: p.at, chain: live.In[asm.Nodes]&arm.IP != 0}
	e.free = armFree(arm.Args&^live.In[asm.Nodes], arm.Of(f).Thumb)
	if len(e.free) >= need || len(f.Lines) < 2 || f.Lines[0].Block != 0 || f.Lines[0].App {
		return e
	}
	saved, ok := armPushed(r.Unit.Src[f.Lines[0].At:f.Lines[0].Next])
	at := int(f.Lines[0].Next)
	if !ok || p.at > int(f.Lines[0].At) {
		return e
	}
	behind := live.Out(asm.Nodes) // liveness after the first line
	var written arm.Set           // by something other than the push
	for i := len(f.Lines) - 1; i > 0; i-- {
		line := &f.Lines[i]
		use, dead := arm.Effect(r.Unit.Src[line.At:line.Next], line.App)
		if line.Block == 0 {
			behind = behind&^dead | use
		}
		written |= armOverwritten(r.Unit.Src[line.At:line.Next], line.App)
	}
	free := arm.Args&^behind | saved&written
	if more := armFree(free, arm.Of(f).Thumb); len(more) > len(e.free) {
		e.at, e.free = r.armBehind(at), more
	}
	return e
}

// armFree lists registers for probes.
func armFree(set arm.Set, thumb bool) (free []string) {
	order := []int{3, 2, 1, 0, 4, 5, 6, 7}
	if !thumb {
		order = append(order, 8, 9, 10, 11)
	}
	for _, n := range order {
		if set&(1<<n) != 0 {
			free = append(free, arm.Name(n))
		}
	}
	return free
}

// armPushed returns the callee-saved registers that a line saves, if it is a push.
func armPushed(line []byte) (saved arm.Set, ok bool) {
	s := asm.ParseLine(arm.Code(bytes.TrimRight(line, "\r\n")))
	ops := arm.Operands(s.Rest)
	switch word := strings.TrimSuffix(string(s.Word), ".w"); {
	case s.Kind != asm.LineInsn:
		return 0, false
	case word == "push" && len(ops) == 1:
		return arm.Registers(ops[0]) & armKept, true
	case (word == "stmfd" || word == "stmdb") && len(ops) == 2 && string(ops[0]) == "sp!":
		return arm.Registers(ops[1]) & armKept, true
	}
	return 0, false
}

// armKept are the callee-saved registers.
const armKept arm.Set = 0xff << 4

// armOverwritten returns the registers that a line overwrites, of all.
func armOverwritten(line []byte, app bool) arm.Set {
	s := asm.ParseLine(arm.Code(bytes.TrimRight(line, "\r\n")))
	if app || s.Kind != asm.LineInsn {
		return 0
	}
	_, kill := arm.Insn(strings.TrimSuffix(strings.TrimSuffix(string(s.Word), ".w"), ".n"), s.Rest)
	return kill
}

// armBehind returns the offset after the directives at an offset, which describe what the previous instruction
// did to the stack.
func (r *Rewriter) armBehind(at int) int {
	for at < len(r.Unit.Src) {
		next := len(r.Unit.Src)
		if i := bytes.IndexByte(r.Unit.Src[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		s := asm.ParseLine(arm.Code(bytes.TrimRight(r.Unit.Src[at:next], "\r\n")))
		if s.Kind != asm.LineDirective {
			return at
		}
		switch word := string(s.Word); {
		case strings.HasPrefix(word, ".cfi_"), word == ".save", word == ".setfp", word == ".pad":
		default:
			return at
		}
		at = next
	}
	return at
}

// entryProbe saves the registers that a probe needs if too few are free.
func (m armProbes) entryProbe(o *Options, p *entryProbe) (probe, stub string) {
	need := armNeeds(o, p)
	e := p.r.armEntryOf(p, need)
	p.at = e.at
	a := armAsm{arm.Of(p.f).Thumb}
	var spilled []string
	first := firstCall(o.Mode)
	if first == "" && need == 1 && len(e.free) == 0 && !e.chain {
		return a.setFlag("ip", p.rec), ""
	}
	for n := 0; len(e.free) < need; n++ {
		if name := arm.Name(n); !slices.Contains(e.free, name) {
			e.free, spilled = append(e.free, name), append(spilled, name)
		}
	}
	if first == "" {
		probe = a.literal(p, e.free[0], near(oddBefore(p.rec))) + storeFlag(e.free[0], p.rec)
		if len(spilled) > 0 {
			probe = a.push(p.unwind, spilled...) + probe + a.pop(p.unwind, spilled...)
		}
		return probe, ""
	}
	probe, stub = a.counts(o, p, e, spilled, first)
	if e.chain {
		probe = a.push(p.unwind, "ip") + probe + a.pop(p.unwind, "ip")
	}
	return probe, stub
}

// armNeeds returns how many registers besides ip the probe of an entry needs.
func armNeeds(o *Options, p *entryProbe) int {
	need := 2
	switch {
	case firstCall(o.Mode) == "", o.Mode.HasSlots():
		need = 1
	case o.Atomic:
		need = 3
	}
	if !arm.Of(p.f).Thumb && firstCall(o.Mode) != "" && !o.Mode.HasSlots() {
		need-- // ip has the address
	}
	return need
}

// literal returns code that sets a register to an address, from a literal after the function if that is near.
func (a armAsm) literal(p *entryProbe, reg, what string) string {
	label := recordLabel(p.rec)
	if !a.thumb || !p.r.armShort(p.f) {
		return arm.Address(a.thumb, reg, what, label)
	}
	at := ".Lcairn_w" + strconv.Itoa(p.number)
	p.r.literal = "\t.balign\t4\n" + at + ":\n\t.word\t" + what + "-(" + label + "+4)\n"
	return "\tldr\t" + reg + ", " + at + "\n" + label + ":\n\tadd\t" + reg + ", pc\n"
}

// armShort reports whether a short load at the entry of a function reaches the text after it.
func (r *Rewriter) armShort(f *asm.Fragment) bool {
	span, ok := r.spans[f]
	if !ok {
		a := &armReach{r: r, f: f}
		a.lay([]asm.Pad{{At: f.Probe, Size: armBytes}})
		span = a.layout.sum[len(a.layout.size)]
		if a.layout.odd {
			return false
		}
	}
	return span <= armLiteralReach
}

// counts returns the probe of a mode with a path for first calls, and its stub.
func (a armAsm) counts(o *Options, p *entryProbe, e armEntry, spilled []string, first string) (probe, stub string) {
	num, base, regs := strconv.Itoa(p.number), e.free[0], e.free[1:]
	if !a.thumb {
		base, regs = "ip", e.free
	}
	when, unless := "cc", "cs"
	toIP := ""
	if base != "ip" {
		toIP = "\tmov\tip, " + base + "\n"
	}
	probe, stub = a.literal(p, base, near(p.rec)), toIP
	if len(spilled) > 0 || o.Mode.HasSlots() {
		probe, stub = probe+toIP, "" // the register will be overwritten
	}
	switch {
	case o.Mode.HasSlots():
		when, unless = "eq", "ne"
		probe += "\tldrb\t" + e.free[0] + ", [" + base + "]\n\tcmp\t" + e.free[0] + ", #0\n"
	case o.Atomic:
		probe += ".Lcairn_l" + num + ":\n\tldrex\t" + regs[0] + ", [" + base + "]\n\tsubs\t" + regs[0] + ", " + regs[0] + ", #1\n" +
			"\tstrex\t" + regs[1] + ", " + regs[0] + ", [" + base + "]\n\tteq\t" + regs[1] + ", #0\n\tbne\t.Lcairn_l" + num + "\n"
	default:
		probe += "\tldr\t" + regs[0] + ", [" + base + "]\n\tsubs\t" + regs[0] + ", " + regs[0] + ", #1\n\tstr\t" + regs[0] + ", [" + base + "]\n"
	}
	if len(spilled) > 0 {
		probe = a.push(p.unwind, spilled...) + probe + a.pop(p.unwind, spilled...)
	}
	if p.r.armFar(p.f) {
		probe += "\tb" + unless + "\t.Lcairn_r" + num + "\n\tb\t.Lcairn_s" + num + "\n.Lcairn_r" + num + ":\n"
	} else {
		probe += "\tb" + when + "\t.Lcairn_s" + num + "\n.Lcairn_r" + num + ":\n"
	}
	state := "\t.arm\n"
	if a.thumb {
		state = "\t.thumb\n"
	}
	return probe, state + ".Lcairn_s" + num + ":\n" + stub + "\tpush\t{ip, lr}\n\tbl\t" + first +
		"\n\tpop\t{ip, lr}\n\tb\t.Lcairn_r" + num + "\n"
}
