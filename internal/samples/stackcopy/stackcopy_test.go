package stackcopy

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/sample"
)

const (
	base = 0x7ffd_0000_1000 // of copies
	bias = 0x5500_0000_0000 // of code
)

// rules are those of a program: each function begins at a multiple of 0x100.
var rules = []ehframe.Row{
	{PC: 0x100, CFA: ehframe.CFAStack, Offset: 8},                                               // leaf
	{PC: 0x200, CFA: ehframe.CFAStack, Offset: 32},                                              // with two words of its own
	{PC: 0x300, CFA: ehframe.CFAFrame, Offset: 16, Frame: ehframe.FrameAtCFA, FrameOffset: -16}, // with a frame pointer
	{PC: 0x400, CFA: ehframe.CFAAtFrame, Offset: -8, Frame: ehframe.FrameAtFrame},               // with an aligned stack
	{PC: 0x500, CFA: ehframe.CFAStack, Offset: 8, Return: ehframe.ReturnNone},                   // the outermost
	{PC: 0x600, CFA: ehframe.CFASignal},                                                         // the return from a signal handler
	{PC: 0x700, CFA: ehframe.CFAPLT, Offset: 11},                                                // stubs
	{PC: 0x800}, // no rule
	{PC: 0x900, CFA: ehframe.CFAStack, Offset: 8, Return: ehframe.ReturnComputed},                               //
	{PC: 0xa00, CFA: ehframe.CFAStack, Offset: 0, Return: ehframe.ReturnRegister},                               // of AArch64: a leaf
	{PC: 0xb00, CFA: ehframe.CFAStack, Offset: 16, Return: ehframe.ReturnAtCFA, ReturnOffset: -8, Signed: true}, // and one that saves its link register
	{PC: 0xc00, CFA: ehframe.CFAStack, Offset: 8, Frame: ehframe.FrameAtCFA, FrameOffset: -24},                  // an epilogue: the register is restored
	{PC: 0xd00, CFA: ehframe.CFAStack, Offset: -8},                                                              // damaged
	{PC: 0xe00}, // the end of the system call that makes a thread
	{PC: 0xe10, CFA: ehframe.CFAStack, Offset: 8, Return: ehframe.ReturnNone}, // where it begins
}

func code(pc uint64) *Table {
	if pc-bias >= 0x1000 {
		return nil
	}
	return &Table{Rules: NewRules(rules), Bias: bias}
}

// at is an address of the code, copied one of the copy.
func at(off uint64) uint64     { return bias + off }
func copied(word int) uint64   { return base + 8*uint64(word) }
func words(w ...uint64) []byte { return slices.Concat(each(w)...) }
func each(w []uint64) (out [][]byte) {
	for _, x := range w {
		out = append(out, binary.LittleEndian.AppendUint64(nil, x))
	}
	return out
}

func TestWalk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		pc, fp uint64
		stack  []byte
		want   []uint64
		end    End
	}{
		{"a leaf in a function with words of its own", at(0x110), 0, words(at(0x210), 1, 2, 3, at(0x510)), []uint64{at(0x110), at(0x210), at(0x510)}, Whole},
		{"a call that has been made", at(0x210), 0, words(at(0x215), 1, 2, 3, at(0x310)), []uint64{at(0x210), at(0x310)}, Short},
		{"a call that has been made by the outermost function", at(0x510), 0, words(at(0x518)), []uint64{at(0x510)}, Whole},
		{"frame pointers", at(0x310), copied(2), words(7, 7, copied(5), at(0x310), 7, 0, at(0x510)), []uint64{at(0x310), at(0x310), at(0x510)}, Whole},
		{"a frame pointer that a leaf keeps", at(0x110), copied(2), words(at(0x310), 7, 0, at(0x510)), []uint64{at(0x110), at(0x310), at(0x510)}, Whole},
		{"an aligned stack", at(0x410), copied(2), words(7, copied(5), copied(9), 7, at(0x510), 7), []uint64{at(0x410), at(0x510)}, Whole},
		{"a call at the end of a function", at(0x110), 0, words(at(0x300), 1, 2, 3, at(0x510)), []uint64{at(0x110), at(0x300), at(0x510)}, Whole},
		{"a stub before its push", at(0x700), 0, words(at(0x510)), []uint64{at(0x700), at(0x510)}, Whole},
		{"a stub after its push", at(0x70b), 0, words(5, at(0x510)), []uint64{at(0x70b), at(0x510)}, Whole},
		{"an epilogue", at(0xc10), copied(2), words(at(0x310), 7, 0, at(0x510)), []uint64{at(0xc10), at(0x310), at(0x510)}, Whole},
		{"a zero ends it", at(0x110), 0, words(0), []uint64{at(0x110)}, Whole},
		{"the copy ends", at(0x110), 0, words(at(0x210), 1, 2, 3), []uint64{at(0x110), at(0x210)}, Short},
		{"the copy is empty", at(0x110), 0, nil, []uint64{at(0x110)}, Short},
		{"no table", at(0x110), 0, words(12), []uint64{at(0x110), 12}, NoTable},
		{"no rule", at(0x110), 0, words(at(0x810)), []uint64{at(0x110), at(0x810)}, NoRule},
		{"a computed return", at(0x910), 0, words(1), []uint64{at(0x910)}, NoRule},
		{"a frame pointer outside of the copy", at(0x310), 12, words(1), []uint64{at(0x310)}, Short},
		{"frames that go back", at(0x110), 0, words(at(0x310), copied(0), at(0x310)), []uint64{at(0x110), at(0x310)}, Short},
		{"a thread that begins", at(0xe08), 0, words(at(0x200), 1), []uint64{at(0xe08)}, Whole},
		{"a thread that begins with an empty stack", at(0xe08), 0, nil, []uint64{at(0xe08)}, Whole},
		{"a thread that begins with other data", at(0xe08), 0, words(12), []uint64{at(0xe08)}, Whole},
		{"the thread that made it", at(0xe08), 0, words(at(0x210), 1, 2, 3, at(0x510)), []uint64{at(0xe08), at(0x210), at(0x510)}, Whole},
		{"a caller in such a gap", at(0x110), 0, words(at(0xe08)), []uint64{at(0x110), at(0xe08)}, NoRule},
		{"a frame of negative size", at(0xd10), 0, words(1, 2), []uint64{at(0xd10)}, Short},
	} {
		u := &sample.UserState{Mask: 1<<x86FP | 1<<x86SP | 1<<x86IP, Regs: []uint64{c.fp, base, c.pc}, Stack: c.stack}
		got, end := Walk(nil, u, machine.X86_64, code)
		if !slices.Equal(got, c.want) || end != c.end {
			t.Errorf("%s: %#x, ends by %d; want %#x, %d", c.name, got, end, c.want, c.end)
		}
	}
}

// TestSignal has a handler that called a function. The code that it interrupted is not after a
// call: the first instruction of a function has the rule of that function.
func TestSignal(t *testing.T) {
	t.Parallel()
	context := make([]uint64, 5+17)
	context[5+10], context[5+15], context[5+16] = 77, copied(len(context)+1), at(0x200)
	stack := slices.Concat(words(at(0x610)), words(context...), words(1, 2, 3, at(0x510)))
	u := &sample.UserState{Mask: 1<<x86FP | 1<<x86SP | 1<<x86IP, Regs: []uint64{0, base, at(0x110)}, Stack: stack}
	got, end := Walk(nil, u, machine.X86_64, code)
	if want := []uint64{at(0x110), at(0x610), at(0x200), at(0x510)}; !slices.Equal(got, want) || end != Whole {
		t.Errorf("%#x, ends by %d; want %#x", got, end, want)
	}
}

func TestLinkRegister(t *testing.T) {
	t.Parallel()
	u := &sample.UserState{Mask: 1<<armFP | 1<<armLR | 1<<armSP | 1<<armPC, Regs: []uint64{0, at(0xb10), base, at(0xa10)}}
	u.Stack = words(7, at(0x510)|0x7b<<48)
	got, end := Walk(nil, u, machine.AArch64, code)
	if want := []uint64{at(0xa10), at(0xb10), at(0x510)}; !slices.Equal(got, want) || end != Whole {
		t.Errorf("%#x, ends by %d; want %#x", got, end, want)
	}
	u.Regs[1] = at(0xa20) // a leaf cannot have called another one
	if got, end := Walk(nil, u, machine.AArch64, code); end != Damaged || len(got) != 2 {
		t.Errorf("%#x, ends by %d", got, end)
	}
	u.Mask = 1 << armPC
	if got, end := Walk(nil, u, machine.AArch64, code); end != Damaged || len(got) != 0 {
		t.Errorf("without registers: %#x, ends by %d", got, end)
	}
}

// FuzzWalk checks that a walk ends, and that its addresses after the first are in the copy or in
// a register.
func FuzzWalk(f *testing.F) {
	f.Add(at(0x110), uint64(base), uint64(0), words(at(0x210), 1, 2, 3, at(0x510)), true)
	f.Add(at(0x310), uint64(base), copied(2), words(7, 7, copied(5), at(0x310), 7, 0, at(0x510)), true)
	f.Add(at(0xa10), uint64(base), at(0xb10), words(7, at(0x510)), false)
	f.Add(at(0x610), ^uint64(0), ^uint64(0), make([]byte, 300), true)
	f.Fuzz(func(t *testing.T, pc, sp, fp uint64, stack []byte, x86 bool) {
		u := &sample.UserState{Mask: 1<<x86FP | 1<<x86SP | 1<<x86IP, Regs: []uint64{fp, sp, pc}, Stack: stack}
		of := machine.X86_64
		if !x86 {
			u.Mask, u.Regs, of = 1<<armFP|1<<armLR|1<<armSP|1<<armPC, []uint64{fp, fp, sp, pc}, machine.AArch64
		}
		got, end := Walk(nil, u, of, code)
		if len(got) == 0 || got[0] != pc || len(got) > maxFrames || end >= Ends {
			t.Fatalf("%#x, ends by %d", got, end)
		}
	})
}
