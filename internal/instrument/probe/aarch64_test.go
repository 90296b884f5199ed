package probe

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asmtest"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/prof"
)

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
		for _, opts := range []Options{{Mode: prof.ModeBlock}, {Mode: prof.ModeEdge}, {Mode: prof.ModeEdge, Atomic: true}} {
			unit, err := isa.Parse([]byte(test.src), machine.AArch64)
			if err != nil {
				t.Fatal(err)
			}
			out, result := Rewrite(unit, opts)
			if len(result.EntryOnly) > 0 || !strings.Contains(string(out), test.want) {
				t.Errorf("%s %v: entry only %v, or no %q", name, opts.Mode, result.EntryOnly, test.want)
			}
			asmtest.Assemble(t, name+opts.Mode.String(), out, "aarch64-linux-gnu-as")
		}
	}
}
