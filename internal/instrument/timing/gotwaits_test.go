package timing

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/isa"
)

// TestGOTWaits: a call by a register is one of a function that waits if the register has nothing else on any way to it.
func TestGOTWaits(t *testing.T) {
	t.Parallel()
	const load = "movq usleep@GOTPCREL(%rip), %rbx\n"
	const arm = "adrp x21, :got:usleep\nldr x21, [x21, :got_lo12:usleep]\n"
	for _, test := range []struct {
		kind       machine.Kind
		body, want string
	}{
		{machine.X86_64, load + "call *%rbx\nret", "usleep"},
		{machine.X86_64, load + ".L1:\nmovl %ebx, %eax\ncall *%rbx\ntestl %eax, %eax\njne .L1\nret", "usleep"},
		{machine.X86_64, load + ".L1:\ncall *%rbx\nmovq pause@GOTPCREL(%rip), %rbx\njmp .L1", ""},
		{machine.X86_64, load + "testl %edi, %edi\njne .L1\nmovq poll@GOTPCREL(%rip), %rbx\n.L1:\ncall *%rbx\nret", ""},
		{machine.X86_64, "testl %edi, %edi\njne .L1\n" + load + ".L1:\ncall *%rbx\nret", ""},
		{machine.X86_64, load + "addl $1, %ebx\ncall *%rbx\nret", ""},
		{machine.X86_64, load + "popq %rbx\njmp *%rbx # sibcall", ""},
		{machine.X86_64, load + "cpuid\ncall *%rbx\nret", ""},
		{machine.X86_64, load + "call *8(%rbx)\nret", ""},
		{machine.X86_64, "movq usleep, %rbx\ncall *%rbx\nret", ""}, // a variable
		{machine.X86_64, load + "movq usleep, %rbx\ncall *%rbx\nret", ""},
		{machine.X86_64, load + "#APP\nnop\n#NO_APP\ncall *%rbx\nret", ""},
		{machine.X86_64, load + "movq %rbx, %rax\npopq %rbx\njmpq *%rax # TAILCALL", "usleep"},
		{machine.X86_64, load + "movq %rbx, %rax\nmull %ecx\njmpq *%rax # TAILCALL", ""},
		{machine.X86_64, load + "movq %rbx, %rax\ncall g\ncall *%rax\nret", ""},
		{machine.X86_64, "movq close@GOTPCREL(%rip), %rbx\ncall *%rbx\nret", ""},
		{machine.AArch64, arm + ".L1:\nmov w0, 1\nblr x21\ncbnz w0, .L1\nret", "usleep"},
		{machine.AArch64, arm + "mov x16, x21\nldp x21, x22, [sp], 16\nbr x16", "usleep"},
		{machine.AArch64, arm + "ldp x21, x22, [sp], 16\nbr x21", ""},
		{machine.AArch64, arm + "mov x1, x21\nbl g\nblr x1\nret", ""},
		{machine.AArch64, arm + "str x0, [x21], 8\nblr x21\nret", ""},
		{machine.AArch64, "adrp x0, _GLOBAL_OFFSET_TABLE_\nldr x0, [x0, #:gotpage_lo15:pause]\nblr x0\nret", "pause"},
	} {
		unit, err := isa.Parse([]byte("\t.text\n\t.globl\tf\n\t.type\tf, @function\nf:\n"+test.body+"\n\t.size\tf, .-f\n"), test.kind)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(slices.Sorted(maps.Values(gotWaits(unit))), " "); got != test.want {
			t.Errorf("%s: calls %q, want %q", test.body, got, test.want)
		}
	}
}
