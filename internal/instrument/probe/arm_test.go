package probe

import (
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asmtest"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/prof"
)

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
		asmtest.AssembleArm(t, name+" before", []byte(src))
		unit, err := isa.Parse([]byte(src), machine.Arm)
		if err != nil {
			t.Fatal(err)
		}
		out, result := Rewrite(unit, Options{Mode: prof.ModeBlock})
		if len(result.EntryOnly) > 0 || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: entry only %v, or no %q in\n%.1500s", name, result.EntryOnly, test.want, out)
		}
		asmtest.AssembleArm(t, name, out)
	}
}
