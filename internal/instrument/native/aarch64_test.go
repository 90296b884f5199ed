package native

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/asmtest"

	"github.com/cairnprof/cairn/internal/instrument/isa/aarch64"

	"github.com/cairnprof/cairn/internal/instrument/asm"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/golden"
	"github.com/cairnprof/cairn/prof"
)

// TestAArch64Golden rewrites what gcc and clang made of testdata for AArch64, and has it
// assembled.
func TestAArch64Golden(t *testing.T) {
	t.Parallel()
	asmtest.EachText(t, "testdata/aarch64/*.s", func(file string, src []byte) {
		if !asm.IsCompilerOutput(src) {
			t.Errorf("%s: not taken for a compiler's output", file)
		}
		for _, opts := range []Options{
			{Mode: prof.ModeCover},
			{Mode: prof.ModeBlock},
			{Mode: prof.ModeCount, Atomic: true},
			{Mode: prof.ModeFull},
			{Mode: prof.ModeBlockOrder},
			{Mode: prof.ModeSpike},
			{Mode: prof.ModeSpike, Exact: true},
			{Mode: prof.ModeSpike, Flight: true},
			{Mode: prof.ModeStacks, Longest: true},
			{Mode: prof.ModeTrace, Depth: 3},
		} {
			unit, err := Parse(src, machine.AArch64)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			out, result := Rewrite(unit, opts)
			if opts.Mode.HasBlocks() && len(result.EntryOnly) > 0 {
				t.Errorf("%s: no blocks of %v", file, result.EntryOnly)
			}
			name := opts.Mode.String()
			switch {
			case opts.Exact:
				name = "exact"
			case opts.Flight:
				name = "flight"
			}
			golden.Compare(t, strings.TrimSuffix(file, ".s")+"."+name+".golden", out)
			if !strings.Contains(string(src), ".aeabi_subsection") {
				asmtest.Assemble(t, file+", "+name, out, "aarch64-linux-gnu-as")
			}
		}
	})
}

func TestAArch64Classify(t *testing.T) {
	t.Parallel()
	checkClassify(t, aarch64Probes{}, []classified{
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

// TestAArch64Reach checks that branches and tables reach over their probes: otherwise the
// assembler rejects them, or warns.
func TestAArch64Reach(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("aarch64-linux-gnu-as"); err != nil {
		t.Skip("needs aarch64-linux-gnu-as")
	}
	// Before the probes all reach: 3,000 blocks of one instruction, 110 cases of one.
	var far, table strings.Builder
	far.WriteString("\t.text\n\t.type f, %function\nf:\n.LFB0:\n\ttbz w0, 3, .Lend\n\tcbz w1, .Lend\n")
	for i := range 3000 {
		n := strconv.Itoa(i)
		far.WriteString("\ttbz\tw0, 1, .L" + n + "\n\tadd\tw0, w0, 1\n.L" + n + ":\n")
	}
	far.WriteString(".Lend:\n\tret\n\t.size f, .-f\n")
	table.WriteString("\t.text\n\t.type f, %function\nf:\n.LFB0:\n\tadrp x1, .L4\n\tadd x1, x1, :lo12:.L4\n\tldrb w1, [x1,w0,uxtw]\n" +
		"\tadr x0, .Lrtx4\n\tadd x1, x0, w1, sxtb #2\n\tbr x1\n.Lrtx4:\n\t.section .rodata\n\t.align 0\n\t.align 2\n.L4:\n")
	for i := range 110 {
		table.WriteString("\t.byte (.L" + strconv.Itoa(100+i) + " - .Lrtx4) / 4\n")
	}
	table.WriteString("\t.text\n")
	for i := range 110 {
		table.WriteString(".L" + strconv.Itoa(100+i) + ":\n\tadd w0, w0, " + strconv.Itoa(i) + "\n")
	}
	table.WriteString("\tret\n\t.size f, .-f\n")
	for name, test := range map[string]struct{ src, want string }{
		"branch": {far.String(), "\ttbnz\tw0, 3, .Lcairn_x"},
		"table":  {table.String(), "\tldrh\tw1, [x1,w0,uxtw #1]\n"},
	} {
		unit, err := Parse([]byte(test.src), machine.AArch64)
		if err != nil {
			t.Fatal(err)
		}
		out, result := Rewrite(unit, Options{Mode: prof.ModeBlock})
		if len(result.EntryOnly) > 0 || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: entry only %v, or no %q", name, result.EntryOnly, test.want)
		}
		asmtest.Assemble(t, name, out, "aarch64-linux-gnu-as")
	}
}

// FuzzAArch64 checks that any text is either refused or rewritten, the same way twice.
func FuzzAArch64(f *testing.F) {
	asmtest.EachText(f, "testdata/aarch64/*.s", func(_ string, src []byte) { f.Add(src) })
	f.Add([]byte("\t.type f, %function\nf:\n\ttbz w0, 1, .L1\n\tadr x1, .L1\n.L1:\n\t.p2align 4,,11\n\t.word .L1\n\tldp x16\n\tbr\n\tadr\n\tcbz\n"))
	f.Add([]byte("\t.type f, %function\nf:\n.L1:\n\tadr x1, .L1\n\tldrb w1, [x2]\n\tadd\n\t.data\n.L2:\n\t.byte (.L1-.L1)>>2\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		rewriteTwice(t, src, machine.AArch64, []Options{{Mode: prof.ModeBlock}, {Mode: prof.ModeFull, Atomic: true}, {Mode: prof.ModeSpike}, {Mode: prof.ModeStacks}, {Mode: prof.ModeTrace, Depth: 2}})
	})
}
