package aarch64_test

import (
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/asmtest"
	"github.com/cairnprof/cairn/internal/instrument/isa/aarch64"
)

func TestAArch64Classify(t *testing.T) {
	t.Parallel()
	asmtest.CheckClassify(t, aarch64.Machine{}, []asmtest.Classified{
		{"b .L2", asm.FlowJump, ".L2"},
		{"b.eq .LBB0_1", asm.FlowBranch, ".LBB0_1"},
		{"bne\t.L3\t\t// 11\t[c=4 l=4]  condjump", asm.FlowBranch, ".L3"},
		{"bl puts", asm.FlowCall, "puts"},
		{"blr x1", asm.FlowCall, ""},
		{"br x16", asm.FlowJump, ""},
		{"ret", asm.FlowEnd, ""},
		{"retaa", asm.FlowEnd, ""},
		{"cbz w0, .L4", asm.FlowBranch, ".L4"},
		{"tbnz w0, #3, .LBB1_2 // comment, with commas", asm.FlowBranch, ".LBB1_2"},
		{"hint 34 // bti c", asm.FlowLanding, ""},
		{"hint #36", asm.FlowLanding, ""},
		{"bti jc", asm.FlowLanding, ""},
		{"hint 25 // paciasp", asm.FlowSign, ""},
		{"paciasp", asm.FlowSign, ""},
		{"hint 29 // autiasp", asm.FlowNext, ""},
		{"brk #0x1", asm.FlowEnd, ""},
		{"brk #0xf000", asm.FlowNext, ""},
		{"udf #0", asm.FlowEnd, ""},
		{"nop", asm.FlowNop, ""},
		{"bic w0, w1, w2", asm.FlowNext, ""},
		{"bfi w0, w1, 2, 3", asm.FlowNext, ""},
		{"tbl v0.16b, {v1.16b}, v2.16b", asm.FlowNext, ""},
		{"cbnz x3, foo", asm.FlowBranch, "foo"},
	})
}

// TestAArch64Effect checks which registers instructions read and overwrite.
func TestAArch64Effect(t *testing.T) {
	t.Parallel()
	regs := func(list ...int) (set aarch64.Set) {
		for _, r := range list {
			set |= 1 << r
		}
		return set
	}
	for line, want := range map[string][2]aarch64.Set{
		"add x16, x17, x1":             {regs(17, 1), regs(16)},
		"add x16, x16, 1":              {regs(16), regs(16)},
		"movk x16, 5, lsl 16":          {regs(16), 0},
		"ldr w17, [x16, #8]!":          {regs(16), regs(17)},
		"ldp x16, x17, [sp], 16":       {0, regs(16, 17)},
		"str x16, [x17]":               {regs(16, 17), 0},
		"mov v0.d[1], x16":             {regs(16), 0},
		"fmov x16, d0":                 {0, regs(16)},
		"bl foo":                       {aarch64.ArgumentRegs, regs(16, 17)},
		"ldxr w16, [x17]":              {regs(17), regs(16)},
		"stxr w16, w17, [x3]":          {regs(16, 17, 3), 0},
		"casal x16, x17, [x0]":         {regs(16, 17, 0), 0},
		"csel w16, w17, w2, eq":        {regs(17, 2), regs(16)},
		"ldrb w16, [x17, w16, uxtw]":   {regs(16, 17), regs(16)},
		"cmp w16, #3 // x17 is not it": {regs(16), 0},
	} {
		if use, kill := aarch64.Effect([]byte("\t"+line+"\n"), false); kill != want[1] || use&^regs(17) != want[0]&^regs(17) {
			t.Errorf("%s: reads %b and overwrites %b, want %b and %b", line, use, kill, want[0], want[1])
		}
	}
}
