package stackcopy

import (
	"testing"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/sample"
)

// TestMemory checks that a remembered rule is that of its process and of its time, and that it is used.
func TestMemory(t *testing.T) {
	t.Parallel()
	u := &sample.UserState{Mask: 1<<x86FP | 1<<x86SP | 1<<x86IP, Regs: []uint64{0, base, at(0x110)}, Stack: words(at(0x210), 1, 2, 3, at(0x510))}
	var m Memory
	asked := 0
	count := func(pc uint64) *Table { asked++; return code(pc) }
	walk := func(table func(uint64) *Table) (frames int) {
		stack, _ := m.Walk(nil, u, machine.X86_64, table)
		return len(stack)
	}
	want, _ := Walk(nil, u, machine.X86_64, code)
	m.Enter(7)
	if n := walk(count); n != len(want) || asked == 0 {
		t.Fatalf("%d frames, want %d; asked %d times", n, len(want), asked)
	}
	asked = 0
	if n := walk(count); n != len(want) || asked != 0 {
		t.Errorf("%d frames, want %d; asked %d times for what was remembered", n, len(want), asked)
	}
	other := func(uint64) *Table {
		return &Table{Rules: NewRules([]ehframe.Row{{PC: 0x100, CFA: ehframe.CFAStack, Offset: 8, Return: ehframe.ReturnNone}}), Bias: bias}
	}
	m.Enter(8)
	if n := walk(other); n != 1 {
		t.Errorf("another process has %d frames, want 1", n)
	}
	m.Forget()
	if n := walk(count); n != len(want) {
		t.Errorf("after other mappings: %d frames, want %d", n, len(want))
	}
	m.round = ^uint32(0)
	m.keep(at(0x110), &ehframe.Row{})
	m.Forget()
	if m.round != 1 || m.at(at(0x110)) != nil {
		t.Errorf("round %d remembers what came before", m.round)
	}
}

// TestAhead checks that what is asked for is in the copy, whatever the frames of the last walk were.
func TestAhead(t *testing.T) {
	t.Parallel()
	u := &sample.UserState{Mask: 1<<x86FP | 1<<x86SP | 1<<x86IP, Regs: []uint64{0, base, at(0x110)}, Stack: words(at(0x210), 1, 2, 3, at(0x510))}
	var m Memory
	m.Ahead(u)
	m.Enter(7)
	if stack, _ := m.Walk(nil, u, machine.X86_64, code); m.left == 0 || int(m.left) > len(stack) {
		t.Errorf("%d frames were left of a stack of %d", m.left, len(stack))
	}
	end := base + uint64(len(u.Stack))
	for i, cfa := range []uint64{0, base - 1, base, base + 1, base + word, end, end + 1, ^uint64(0)} {
		m.outer[i] = cfa
	}
	m.Ahead(u)
	m.Ahead(&sample.UserState{})
	m.Ahead(&sample.UserState{Mask: 1<<armPC | 1<<armSP, Regs: []uint64{base, at(0x110)}, Stack: u.Stack})
}
