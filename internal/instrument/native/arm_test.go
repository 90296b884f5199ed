package native

import (
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/asmtest"

	"github.com/cairnprof/cairn/internal/instrument/isa/arm"

	"github.com/cairnprof/cairn/internal/instrument/asm"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/golden"
	"github.com/cairnprof/cairn/prof"
)

// assembleArm has text assembled, if there is an assembler.
func assembleArm(t *testing.T, name string, text []byte) {
	t.Helper()
	asmtest.Assemble(t, name, text, "arm-linux-gnueabihf-as", "-march=armv7-a", "-mfpu=neon", "-meabi=5")
}

// TestArmGolden rewrites what gcc and clang made of testdata for Armv7, and has it assembled.
func TestArmGolden(t *testing.T) {
	t.Parallel()
	asmtest.EachText(t, "testdata/arm/*.s", func(file string, src []byte) {
		if !asm.IsCompilerOutput(src) {
			t.Errorf("%s: not taken for a compiler's output", file)
		}
		for _, opts := range []Options{
			{Mode: prof.ModeCover},
			{Mode: prof.ModeBlock},
			{Mode: prof.ModeCount, Atomic: true},
			{Mode: prof.ModeFull},
			{Mode: prof.ModeBlockOrder},
		} {
			unit, err := Parse(src, machine.Arm)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			out, result := Rewrite(unit, opts)
			if opts.Mode.HasBlocks() && len(result.EntryOnly) > 0 {
				t.Errorf("%s: no blocks of %v", file, result.EntryOnly)
			}
			name := strings.TrimSuffix(file, ".s") + "." + opts.Mode.String()
			golden.Compare(t, name+".golden", out)
			assembleArm(t, name, out)
		}
	})
}

func TestArmClassify(t *testing.T) {
	t.Parallel()
	checkClassify(t, armProbes{}, []classified{
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

// TestArmReach checks that branches, tables and literals reach over their probes: otherwise the
// assembler rejects them.
func TestArmReach(t *testing.T) {
	t.Parallel()
	const head, tail = "\t.syntax unified\n\t.arch armv7-a\n\t.fpu neon\n\t.text\n\t.thumb\n\t.thumb_func\n\t.type f, %function\nf:\n", "\tbx\tlr\n\t.size f, .-f\n"
	// Before the probes all reach: so many blocks of one instruction, 40 cases of one.
	blocks := func(n int) string {
		var b strings.Builder
		for i := range n {
			k := strconv.Itoa(1000 + i)
			b.WriteString("\tcmp\tr0, #" + strconv.Itoa(i%200) + "\n\tbne\t.L" + k + "\n\tadds\tr0, r0, #1\n.L" + k + ":\n")
		}
		return b.String()
	}
	var table strings.Builder
	table.WriteString("\tcmp\tr0, #39\n\tbhi\t.L2\n\ttbb\t[pc, r0]\n.L4:\n")
	for i := range 40 {
		table.WriteString("\t.byte\t(.L" + strconv.Itoa(100+i) + "-.L4)/2\n")
	}
	table.WriteString("\t.p2align 1\n")
	for i := range 40 {
		table.WriteString(".L" + strconv.Itoa(100+i) + ":\n\tadds\tr0, r0, #" + strconv.Itoa(i) + "\n")
	}
	table.WriteString(".L2:\n")
	for name, test := range map[string]struct{ src, want string }{
		"cbz":     {head + "\tcbz\tr0, .L9\n" + blocks(8) + ".L9:\n" + tail, "\tcbnz\tr0, .Lcairn_x"},
		"literal": {head + "\tldr\tr0, .L9\n" + blocks(300) + tail + "\t.align 2\n.L9:\n\t.word 7\n", "\tmovw\tr0, #:lower16:(.L9-("},
		// The label is near, the literal is not.
		"far":    {head + "\tldr\tr0, .L9+80\n" + blocks(181) + tail + "\t.align 2\n.L9:\n" + strings.Repeat("\t.word 7\n", 21), "\tmovw\tr0, #:lower16:(.L9+80-("},
		"double": {head + "\tvldr.64\td0, .L9\n" + blocks(60) + "\tbx\tlr\n\t.align 3\n.L9:\n\t.word 7, 8\n\t.size f, .-f\n", "\tvldr.64\td0, [r3]\n"},
		"table":  {head + table.String() + tail, "\ttbh\t[pc, r0, lsl #1]\n"},
	} {
		src := test.src
		if name == "literal" || name == "far" { // inside of the function
			src = strings.Replace(src, "\t.size f, .-f\n", "", 1) + "\t.size f, .-f\n"
		}
		assembleArm(t, name+" before", []byte(src))
		unit, err := Parse([]byte(src), machine.Arm)
		if err != nil {
			t.Fatal(err)
		}
		out, result := Rewrite(unit, Options{Mode: prof.ModeBlock})
		if len(result.EntryOnly) > 0 || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: entry only %v, or no %q in\n%.1500s", name, result.EntryOnly, test.want, out)
		}
		assembleArm(t, name, out)
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
		_, err := Parse([]byte("\t"+line+"\n"), machine.Arm)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// FuzzArm checks that any text is either refused or rewritten, the same way twice.
func FuzzArm(f *testing.F) {
	asmtest.EachText(f, "testdata/arm/*.s", func(_ string, src []byte) { f.Add(src) })
	f.Add([]byte("\t.type f, %function\nf:\n\tpush {r4, lr}\n\tmov r4, r0\n.L1:\n\tcbz r0, .L1\n\ttbb [pc\n\t.byte (.L1-.L2)/2\n\tldr\n\tldm sp!\n\t.ltorg\n\tadr\n\tvldr\n\tpop {-}\n"))
	f.Add([]byte("\t.thumb\n\t.type f, %function\nf:\n.L1:\n\taddls pc, pc, r0\n.L2:\n\tb .L1\n\t.handlerdata\n\t.fnend\n\t.fnend\n\t.syntax divided\n@ 0 \"\" 2\n\tldrd r0, .L2\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		rewriteTwice(t, src, machine.Arm, []Options{{Mode: prof.ModeCover}, {Mode: prof.ModeBlock}, {Mode: prof.ModeFull, Atomic: true}, {Mode: prof.ModeBlockOrder}})
	})
}
