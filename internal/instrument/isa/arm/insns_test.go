package arm_test

import (
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/asmtest"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/internal/instrument/isa/arm"
)

func TestArmClassify(t *testing.T) {
	t.Parallel()
	asmtest.CheckClassify(t, arm.Machine{}, []asmtest.Classified{
		{"b .L2", asm.FlowJump, ".L2"},
		{"b.w .L2", asm.FlowJump, ".L2"},
		{"beq .LBB0_1 @ comment, with commas", asm.FlowBranch, ".LBB0_1"},
		{"bls.n .L4", asm.FlowBranch, ".L4"},
		{"bl puts(PLT)", asm.FlowCall, "puts(PLT)"},
		{"bleq puts", asm.FlowCall, "puts"},
		{"ble .L3", asm.FlowBranch, ".L3"},
		{"blt .L3", asm.FlowBranch, ".L3"},
		{"blx r3", asm.FlowCall, ""},
		{"bx lr", asm.FlowEnd, ""},
		{"bxeq lr", asm.FlowBranch, ""},
		{"bx r3", asm.FlowJump, ""},
		{"bic r0, r1, r2", asm.FlowNext, ""},
		{"bfi r0, r1, #2, #3", asm.FlowNext, ""},
		{"bkpt #0", asm.FlowNext, ""},
		{"cbz r0, .L4", asm.FlowBranch, ".L4"},
		{"cbnz r3, .LBB1_2", asm.FlowBranch, ".LBB1_2"},
		{"pop {r4, pc}", asm.FlowEnd, ""},
		{"popne {r4, r5, pc}", asm.FlowBranch, ""},
		{"pop {r4, lr}", asm.FlowNext, ""},
		{"ldmfd sp!, {r4-r6, pc}", asm.FlowEnd, ""},
		{"ldr pc, [sp], #4", asm.FlowEnd, ""},
		{"ldrls pc, [pc, r0, lsl #2]", asm.FlowBranch, ""},
		{"ldr pc, [r0]", asm.FlowJump, ""},
		{"mov pc, lr", asm.FlowEnd, ""},
		{"addls pc, pc, r0, asl #2", asm.FlowBranch, ""},
		{"tbb [pc, r0]", asm.FlowJump, ""},
		{"tbh [pc, r0, lsl #1]", asm.FlowJump, ""},
		{"udf #254", asm.FlowEnd, ""},
		{"trap", asm.FlowEnd, ""},
		{"str pc, [r0]", asm.FlowNext, ""},
		{"nop", asm.FlowNop, ""},
	})
}

// TestArmEffect checks which registers instructions read and overwrite.
func TestArmEffect(t *testing.T) {
	t.Parallel()
	regs := func(list ...int) (set arm.Set) {
		for _, r := range list {
			set |= 1 << r
		}
		return set
	}
	for line, want := range map[string][2]arm.Set{
		"add r3, r2, r1":             {regs(2, 1), regs(3)},
		"adds r3, #1":                {regs(3), 0},
		"movt r3, #1":                {regs(3), 0},
		"movw r3, #1":                {0, regs(3)},
		"moveq r3, #1":               {regs(3), 0},
		"ldr r3, [r2], #4":           {regs(2), regs(3)},
		"ldreq r3, [r2]":             {regs(3, 2), 0},
		"str r3, [r2, r1, lsl #2]":   {regs(1, 2, 3), 0},
		"ldrd r2, r3, [r1]":          {regs(1), regs(2, 3)},
		"strd r2, r3, [sp, #8]":      {regs(2, 3), 0},
		"strd r2, [sp]":              {regs(2, 3), 0},
		"strdne r0, [r2]":            {regs(0, 1, 2), 0},
		"strexd r0, r2, [r1]":        {regs(0, 1, 2, 3), 0},
		"ldrd r2, [r1], #8":          {regs(1, 2, 3), 0},
		"ldrhs r3, [r2]":             {regs(2, 3), 0},
		"ldrh r3, [r2]":              {regs(2), regs(3)},
		"ldm r0, {r1, r2}":           {regs(0), regs(1, 2)},
		"ldmia r0!, {r1-r3}":         {regs(0), regs(1, 2, 3)},
		"push {r0-r3, r4, lr}":       {regs(0, 1, 2, 3, 14), 0},
		"pop {r3, r4, r5, pc}":       {regs(0, 1, 2), regs(3)},
		"pop {r4, lr}":               {0, regs(14)},
		"bl foo":                     {regs(0, 1, 2, 3), regs(12, 14)},
		"blx r3":                     {regs(0, 1, 2, 3, 12), regs(12, 14)},
		"b foo":                      {regs(0, 1, 2, 3, 14), 0},
		"b .L3":                      {0, 0},
		"bx lr":                      {regs(0, 1, 2, 3, 14), 0},
		"cmp r3, #4 @ r2 is not it":  {regs(3), 0},
		"vmov r2, r3, d0":            {0, regs(2, 3)},
		"vmov d0, r2, r3":            {regs(2, 3), 0},
		"vmov.f32 s0, s1":            {0, 0},
		"umull r0, r1, r2, r3":       {regs(2, 3), regs(0, 1)},
		"umlal r0, r1, r2, r3":       {regs(0, 1, 2, 3), 0},
		"mla r0, r1, r2, r3":         {regs(1, 2, 3), regs(0)},
		"bfi r0, r1, #2, #3":         {regs(0, 1), 0},
		"svc 0":                      {arm.Tracked, 0},
		"ldrex r0, [r1]":             {regs(1), regs(0)},
		"strex r0, r1, [r2]":         {regs(0, 1, 2), 0},
		"add ip, sp, r0, lsl #2":     {regs(0), regs(12)},
		"mrc p15, 0, r0, c13, c0, 3": {regs(0), 0},
	} {
		if use, kill := arm.Effect([]byte("\t"+line+"\n"), false); kill != want[1] || use != want[0] {
			t.Errorf("%s: reads %b and overwrites %b, want %b and %b", line, use, kill, want[0], want[1])
		}
	}
}

// TestArmRefused checks for which targets no probe can be made.
func TestArmRefused(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		".arch armv6":             "movw and movt",
		".arch armv5te":           "movw and movt",
		".arch armv7e-m":          "without an operating system",
		".eabi_attribute 6, 6":    "before Armv7",
		".eabi_attribute\t7, 77":  "without an operating system",
		".arch armv7-a":           "",
		".arch armv8-a+crc":       "",
		".eabi_attribute\t6, 10":  "",
		".eabi_attribute\t6, 14":  "",
		".eabi_attribute\t28, 1":  "",
		".cpu cortex-a9 @ -mtune": "",
	} {
		_, err := isa.Parse([]byte("\t"+line+"\n"), machine.Arm)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}
