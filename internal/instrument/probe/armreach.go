package probe

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/arm"
)

// Problem: many references in Arm's code have limited reach: cbz 126 bytes, a table of bytes 510, literals and
// their addresses 4,095, those of the floating-point unit 1,020. Assemblers correct only branches. Probes in
// between increase the distance.
//
// Choice: the sizes of instructions are known to within two bytes, so the greatest distance is known as well.
// What might be out of reach is written in another way that does not change the flags:
//
//	cbz r0, .L3          ->  cbnz r0, 1f; b .L3; 1:
//	tbb [pc, r0]         ->  tbh [pc, r0, lsl #1], with entries of two bytes
//	ldr r0, .L5          ->  movw, movt, add for the address; ldr r0, [r0]
//	adr r0, .L5          ->  movw, movt, add
//	vldr.64 d7, .L5      ->  the same with r3, which is saved on the stack
//
// A function with something else that might be out of reach gets only the entry probe.

const (
	armReachCBZ    = 126
	armReachByte   = 2 * 255
	armReachHalf   = 2 * 65535
	armReachNear   = 255 // of halfwords and pairs in the Arm state
	armReachFloat  = 1020
	armReachData   = 4095
	armReachMargin = 8 // alignments between, and the distance of the program counter
)

// armGrown is the maximum size of such an instruction in its other form.
const armGrown = 28

// armReach makes the edits of one fragment.
type armReach struct {
	r       *Rewriter
	f       *asm.Fragment
	grown   map[int]bool // by offset of a line
	wide    map[*arm.CaseTable]bool
	labels  map[string]int
	layout  *layout
	changed bool
}

// reachArm makes the edits that keep all references of fn in reach, or returns false.
func (r *Rewriter) reachArm(fn *asm.Function, implied [][]int, places *armBlocks) bool {
	return r.reachFragments(fn, implied, armBytes, places.size, func(f *asm.Fragment, inserted []asm.Pad) (edits []Edit, ok bool) {
		edits, r.spans[f], ok = r.ReachArm(f, inserted)
		return edits, ok
	})
}

// armUnknown is the maximum size of a fragment with something of unknown size.
const armUnknown = 1 << 30

// ReachArm returns the edits for a fragment with its insertions, and its maximum size then. It is not ok if something cannot be
// kept in reach.
func (r *Rewriter) ReachArm(f *asm.Fragment, inserted []asm.Pad) (edits []Edit, size int, ok bool) {
	a := &armReach{r: r, f: f, grown: map[int]bool{}, wide: map[*arm.CaseTable]bool{}, labels: map[string]int{}}
	for _, l := range arm.Of(f).Places {
		a.labels[l.Name] = l.At
	}
	for a.changed = true; a.changed; {
		a.changed = false
		a.lay(inserted)
		for i := range f.Lines {
			if !a.line(&f.Lines[i]) {
				return nil, 0, false
			}
		}
		for _, c := range arm.Of(f).Cases {
			if !a.cases(c) {
				return nil, 0, false
			}
		}
	}
	size = a.layout.sum[len(a.layout.size)]
	if a.layout.odd && (len(a.grown) > 0 || len(f.Lines) > 0 && size > armReachFloat) {
		return nil, 0, false
	}
	if a.layout.odd {
		size = armUnknown
	}
	return a.edits(), size, true
}

// lay computes the greatest offset of everything.
func (a *armReach) lay(inserted []asm.Pad) {
	l := &layout{}
	for _, p := range inserted {
		l.add(p.At, p.Size)
	}
	for i := range a.f.Lines {
		line := &a.f.Lines[i]
		switch text := a.text(line); {
		case a.grown[int(line.At)]:
			l.add(int(line.At), armGrown)
		case line.App:
			l.add(int(line.At), armAppSize(text))
		case arm.Of(a.f).Thumb:
			l.add(int(line.At), thumbSize(text))
		default:
			l.add(int(line.At), 4)
		}
	}
	for _, p := range a.f.Pads {
		l.add(p.At, p.Size)
	}
	for c := range a.wide {
		for _, e := range c.Entries {
			l.add(int(e.At), 1)
		}
	}
	l.settle()
	a.layout = l
}

func (a *armReach) text(line *asm.CodeLine) []byte {
	return arm.Code(bytes.TrimRight(a.r.Unit.Src[line.At:line.Next], "\r\n"))
}

// armAppSize returns the maximum size of a line of inline assembly, as gcc computes it, or -1.
func armAppSize(text []byte) int {
	size := 0
	for part := range bytes.SplitSeq(text, []byte(";")) {
		switch part = bytes.TrimSpace(part); {
		case len(part) == 0 || part[0] == '@' || part[len(part)-1] == ':':
		case part[0] == '.' && !bytes.HasPrefix(part, []byte(".inst")) && !bytes.HasPrefix(part, []byte(".syntax")):
			return -1
		case part[0] >= '0' && part[0] <= '9' && bytes.IndexByte(part, ':') > 0, bytes.HasPrefix(part, []byte("ldr")) && bytes.IndexByte(part, '=') > 0:
			size += 8
		default:
			size += 4
		}
	}
	return size
}

// thumbSize returns the maximum size of an instruction of the Thumb state.
func thumbSize(text []byte) int {
	s := asm.ParseLine(text)
	word := string(s.Word)
	if strings.HasSuffix(word, ".w") {
		return 4
	}
	ops := arm.Operands(s.Rest)
	low := arm.Registers(bytes.Join(ops, []byte(",")))&^(1<<8-1) == 0
	switch word {
	case "bx", "nop", "cbz", "cbnz", "it", "itt", "ite", "ittt", "itte", "itet", "itee", "itttt":
		return 2
	case "push", "pop":
		if list := arm.Registers(arm.Code(s.Rest)); word == "push" && list&^(1<<8-1|arm.LR) == 0 || word == "pop" && list&^(1<<8-1|1<<15) == 0 {
			return 2
		}
	case "mov":
		if len(ops) == 2 && arm.IsRegister(ops[0]) && arm.IsRegister(ops[1]) {
			return 2
		}
	case "add":
		if len(ops) == 2 && arm.IsRegister(ops[0]) && arm.IsRegister(ops[1]) {
			return 2
		}
	case "cmp":
		if len(ops) == 2 && low && (arm.IsRegister(ops[1]) || smallNumber(ops[1], 255)) {
			return 2
		}
	case "movs":
		if len(ops) == 2 && low && smallNumber(ops[1], 255) {
			return 2
		}
	case "adds", "subs":
		if len(ops) == 3 && low && smallNumber(ops[2], 7) || len(ops) == 3 && low && string(ops[0]) == string(ops[1]) && smallNumber(ops[2], 255) ||
			len(ops) == 2 && low && smallNumber(ops[1], 255) {
			return 2
		}
	case "uxtb", "uxth", "sxtb", "sxth":
		if len(ops) == 2 && low {
			return 2
		}
	case "lsls", "lsrs", "asrs":
		if len(ops) == 3 && low && smallNumber(ops[2], 31) {
			return 2
		}
	}
	return 4
}

// smallNumber reports whether an operand is a number from 0 to most.
func smallNumber(op []byte, most int) bool {
	n, err := strconv.Atoi(string(bytes.TrimPrefix(op, []byte("#"))))
	return err == nil && n >= 0 && n <= most
}

// line rewrites an instruction that might be out of reach, and returns false if it cannot.
func (a *armReach) line(line *asm.CodeLine) bool {
	if line.App || a.grown[int(line.At)] {
		return true
	}
	text := a.text(line)
	if bytes.IndexByte(text, '.') < 0 {
		return true
	}
	s := asm.ParseLine(text)
	reach, target, ok := a.reach(string(s.Word), arm.Operands(s.Rest))
	if reach == 0 {
		return true
	}
	name, beyond, known := armOffset(target)
	to, here := a.labels[name]
	if !here || known && a.layout.distance(int(line.At), to)+beyond+armReachMargin <= reach {
		return true
	}
	if !ok {
		return false
	}
	a.grown[int(line.At)], a.changed = true, true
	return true
}

// armOffset returns the label in an operand such as .L5+12, the offset after it, and whether that is known.
func armOffset(target string) (name string, beyond int, known bool) {
	i := strings.IndexAny(target, "+-")
	if i < 0 {
		return target, 0, true
	}
	n, err := strconv.Atoi(strings.TrimSpace(target[i+1:]))
	return strings.TrimSpace(target[:i]), max(n, -n), err == nil && max(n, -n) < 1<<20
}

// reach returns an instruction's reach to a label, 0 if it is unlimited or there is no label, its operand with
// the label, and whether it can be rewritten.
func (a *armReach) reach(word string, ops [][]byte) (reach int, target string, ok bool) {
	word = strings.TrimSuffix(strings.TrimSuffix(word, ".w"), ".n")
	if len(ops) < 2 {
		return 0, "", false
	}
	label := bytes.TrimSpace(ops[len(ops)-1])
	if !asm.IsLocal(label) {
		return 0, "", false
	}
	target = string(label)
	plain := arm.One(ops[0]) != 0 && arm.One(ops[0])&(1<<13|1<<15) == 0
	switch word {
	case "cbz", "cbnz":
		return armReachCBZ, target, true
	case "ldr", "ldrb":
		return armReachData, target, plain
	case "ldrh", "ldrsh", "ldrsb":
		return a.near(armReachData), target, plain
	case "adr":
		if arm.Of(a.f).Thumb {
			return armReachData, target, plain
		}
		return armReachFloat, target, plain
	case "ldrd":
		if arm.Of(a.f).Thumb {
			return armReachFloat, target, plain && len(ops) == 3
		}
		return armReachNear, target, plain && len(ops) == 3
	case "vldr", "vldr.64", "vldr.32", "vldr.16":
		return armReachFloat, target, true
	}
	switch {
	case strings.HasPrefix(word, "vldr"):
		return armReachFloat, target, false
	case strings.HasPrefix(word, "ldrd"):
		return armReachNear, target, false
	case strings.HasPrefix(word, "ldrh"), strings.HasPrefix(word, "ldrsh"), strings.HasPrefix(word, "ldrsb"):
		return a.near(armReachData), target, false
	case strings.HasPrefix(word, "ldr"):
		return armReachData, target, false
	case strings.HasPrefix(word, "adr"):
		return armReachFloat, target, false
	}
	return 0, "", false
}

// near returns the reach of halfwords, which in the Arm state is less.
func (a *armReach) near(thumb int) int {
	if arm.Of(a.f).Thumb {
		return thumb
	}
	return armReachNear
}

// cases turns a table of bytes that might be out of reach into one of halfwords, and returns false if that is
// not enough.
func (a *armReach) cases(c *arm.CaseTable) bool {
	reach := armReachByte
	if c.Half || a.wide[c] {
		reach = armReachHalf
	}
	for i, name := range c.Targets {
		to, here := a.labels[name]
		if !here {
			return false
		}
		if a.layout.distance(c.At, to)+armReachMargin <= reach {
			continue
		}
		if reach == armReachHalf || string(asm.ParseLine(a.text(&c.Entries[i])).Word) != ".byte" {
			return false
		}
		a.wide[c], a.changed = true, true
		return true
	}
	return true
}

// edits returns the edits for all that grew.
func (a *armReach) edits() (out []Edit) {
	for i := range a.f.Lines {
		line := &a.f.Lines[i]
		if !a.grown[int(line.At)] {
			continue
		}
		s := asm.ParseLine(a.text(line))
		out = append(out, Edit{at: int(line.At), text: []byte(a.instead(string(s.Word), arm.Operands(s.Rest))), drop: int(line.Next - line.At)})
	}
	for _, c := range arm.Of(a.f).Cases {
		if !a.wide[c] {
			continue
		}
		index := arm.FirstOperand(asm.ParseLine(a.text(&asm.CodeLine{At: int32(c.At), Next: int32(c.Next)})).Rest)
		out = append(out, Edit{at: c.At, text: []byte("\ttbh\t" + strings.TrimSuffix(string(index), "]") + ", lsl #1]\n"), drop: c.Next - c.At})
		for i := range c.Entries {
			e := &c.Entries[i]
			rest := asm.ParseLine(a.text(e)).Rest
			out = append(out, Edit{at: int(e.At), text: []byte("\t.2byte\t" + string(bytes.TrimSpace(rest)) + "\n"), drop: int(e.Next - e.At)})
		}
	}
	return out
}

// instead returns the other form of an instruction that is out of reach.
func (a *armReach) instead(word string, ops [][]byte) string {
	code, label := armAsm{arm.Of(a.f).Thumb}, a.r.NewLabel()
	reg, target := string(ops[0]), string(ops[len(ops)-1])
	word = strings.TrimSuffix(strings.TrimSuffix(word, ".w"), ".n")
	switch {
	case word == "cbz":
		return "\tcbnz\t" + reg + ", " + label + "\n\tb\t" + target + "\n" + label + ":\n"
	case word == "cbnz":
		return "\tcbz\t" + reg + ", " + label + "\n\tb\t" + target + "\n" + label + ":\n"
	case word == "adr":
		return arm.Address(code.thumb, reg, target, label)
	case word == "ldrd":
		return arm.Address(code.thumb, reg, target, label) + "\tldrd\t" + reg + ", " + string(ops[1]) + ", [" + reg + "]\n"
	case strings.HasPrefix(word, "vldr"):
		return code.push(false, "r3") + arm.Address(code.thumb, "r3", target, label) + "\t" + word + "\t" + reg + ", [r3]\n" + code.pop(false, "r3")
	}
	return arm.Address(code.thumb, reg, target, label) + "\t" + word + "\t" + reg + ", [" + reg + "]\n"
}
