package timing

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/prof"
)

// TestMachOCost compares what a call executes with the same function for Linux: code for Apple's systems also tests whether the runtime
// has started, as methods +load run before it.
func TestMachOCost(t *testing.T) {
	t.Parallel()
	bodies := map[machine.Kind]string{
		machine.X86_64:  "\t.cfi_startproc\n\tpushq\t%rbp\n\tmovq\t%rsp, %rbp\n\tpushq\t%rbx\n\tpushq\t%rax\n\tcallq\t_g\n\taddq\t$8, %rsp\n\tpopq\t%rbx\n\tpopq\t%rbp\n\tretq\n\t.cfi_endproc\n",
		machine.AArch64: "\t.cfi_startproc\n\tstp\tx29, x30, [sp, #-16]!\n\tmov\tx29, sp\n\tbl\t_g\n\tldp\tx29, x30, [sp], #16\n\tret\n\t.cfi_endproc\n",
	}
	for _, test := range []struct {
		name  string
		opts  probe.Options
		extra map[machine.Kind]int
	}{
		{"spike", probe.Options{Mode: prof.ModeSpike}, map[machine.Kind]int{machine.X86_64: 4, machine.AArch64: 2}},
		{"flight", probe.Options{Mode: prof.ModeSpike, Timing: probe.Timing{Flight: true}}, map[machine.Kind]int{machine.X86_64: 6, machine.AArch64: 6}},
		{"stacks", probe.Options{Mode: prof.ModeStacks}, map[machine.Kind]int{machine.X86_64: 8, machine.AArch64: 8}},
		{"trace", probe.Options{Mode: prof.ModeTrace}, map[machine.Kind]int{machine.X86_64: 8, machine.AArch64: 6}},
	} {
		for kind, body := range bodies {
			cost := func(object asm.Object, text string) (insns int) {
				unit, err := isa.ParseAs(asm.ParseOptions{Object: object}, []byte(text), kind)
				if err != nil {
					t.Fatal(err)
				}
				test.opts.Object = object
				out, _ := Rewrite(unit, test.opts)
				_, out, _ = bytes.Cut(out, []byte("f:\n"))
				for line := range bytes.Lines(out) { // stubs are behind the return
					s := asm.ParseLine(bytes.TrimRight(line, "\n"))
					if s.Kind != asm.LineInsn {
						continue
					}
					if insns++; strings.HasPrefix(string(s.Word), "ret") {
						break
					}
				}
				return insns
			}
			mach := cost(asm.MachO, "\t.section\t__TEXT,__text,regular,pure_instructions\n\t.globl\t_f\n\t.p2align\t4\n_f:\n"+body+"\t.subsections_via_symbols\n")
			elf := cost(asm.ELF, "\t.text\n\t.globl\tf\n\t.type\tf, @function\nf:\n"+strings.ReplaceAll(body, "_g", "g")+"\t.size\tf, .-f\n\t.ident\t\"clang version 22\"\n")
			t.Logf("%s, %v: %d instructions, for Linux %d", test.name, kind, mach, elf)
			if mach-elf != test.extra[kind] || elf < 12 {
				t.Errorf("%s, %v: %d instructions, for Linux %d: %d more, want %d", test.name, kind, mach, elf, mach-elf, test.extra[kind])
			}
		}
	}
}
