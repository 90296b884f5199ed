package prove

import (
	"os"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/prof"
)

// counterFaults are faults that counters could have, each as a replacement in the code of testdata/counters.s in mode
// edge, and what is found.
var counterFaults = []struct{ name, old, new, why string }{
	{"live flags", "\tmovq\t.Lcairn_d0+8(%rip), %rax\n\tleaq\t1(%rax), %rax\n\tmovq\t%rax, .Lcairn_d0+8(%rip)\n", "\tincl\t.Lcairn_d0+8(%rip)\n", "flags that are read later"},
	{"live flags, locked", "\tmovq\t.Lcairn_d0+8(%rip), %rax\n\tleaq\t1(%rax), %rax\n\tmovq\t%rax, .Lcairn_d0+8(%rip)\n", "\tlock incl\t.Lcairn_d0+8(%rip)\n", "flags that are read later"},
	{"flags live behind a jump", "\tmovl\t$2, %eax\n", "\tincl\t.Lcairn_d0+8(%rip)\n\tmovl\t$2, %eax\n", "flags that are read later"},
	{"a live register", "\tmovq\t.Lcairn_d0+8(%rip), %rax\n\tleaq\t1(%rax), %rax\n\tmovq\t%rax,", "\tmovq\t.Lcairn_d0+8(%rip), %r8\n\tleaq\t1(%r8), %r8\n\tmovq\t%r8,", "register that is read later"},
	{"a register of the caller", "\tmovq\t.Lcairn_d0+8(%rip), %rax\n\tleaq\t1(%rax), %rax\n\tmovq\t%rax,", "\tmovq\t.Lcairn_d0+8(%rip), %r9\n\tleaq\t1(%r9), %r9\n\tmovq\t%r9,", "register that is read later"},
	{"a register that calls preserve", "\tmovq\t.Lcairn_d0+8(%rip), %rax\n\tleaq\t1(%rax), %rax\n\tmovq\t%rax,", "\tmovq\t.Lcairn_d0+8(%rip), %rbx\n\tleaq\t1(%rbx), %rbx\n\tmovq\t%rbx,", "no probe"},
	{"two are added", "leaq\t1(%rax), %rax", "leaq\t2(%rax), %rax", "no probe"},
	{"another register is added to", "leaq\t1(%rax), %rax", "leaq\t1(%rcx), %rax", "no probe"},
	{"the sum is stored elsewhere", "movq\t%rax, .Lcairn_d0+8(", "movq\t%rax, .Lcairn_d0+16(", "no probe"},
	{"another register is stored", "movq\t%rax, .Lcairn_d0+8(", "movq\t%rcx, .Lcairn_d0+8(", "no probe"},
	{"four bytes are loaded", "movq\t.Lcairn_d0+8(%rip), %rax", "movl\t.Lcairn_d0+8(%rip), %eax", ""},
	{"decl", "incl\t.Lcairn_d0+16(", "decl\t.Lcairn_d0+16(", ""},
	{"incw", "incl\t.Lcairn_d0+16(", "incw\t.Lcairn_d0+16(", ""},
	{"half of another counter", "incl\t.Lcairn_d0+16(", "incl\t.Lcairn_d0+20(", "record of another one"},
	{"counted twice", "\tincl\t.Lcairn_d0+16(%rip)\n", "\tincl\t.Lcairn_d0+16(%rip)\n\tincl\t.Lcairn_d0+16(%rip)\n", "record of another one"},
	{"the flags are not restored", "\tpopfq\n", "\tpopq\t%rax\n", "does not restore"},
	{"the stack pointer is not restored", "leaq\t128(%rsp), %rsp", "leaq\t120(%rsp), %rsp", "does not restore"},
	{"the red zone is overwritten", "leaq\t-128(%rsp), %rsp", "leaq\t-64(%rsp), %rsp", ""},
	{"the frame of the saved flags", "\t.cfi_adjust_cfa_offset 8\n", "", "unwind table"},
	{"the frame below the red zone", "\t.cfi_adjust_cfa_offset 128\n", "\t.cfi_adjust_cfa_offset 136\n", "unwind table"},
	{"the frame of a counter before its directive", "\tpopq\t%rcx\n\t.cfi_def_cfa_offset 8\n.Lcairn_b19:\n\tnop\n\tincl\t.Lcairn_d0+96(%rip)\n", "\tpopq\t%rcx\n.Lcairn_b19:\n\tnop\n\tincl\t.Lcairn_d0+96(%rip)\n\t.cfi_def_cfa_offset 8\n", "unwind table"},
	{"a branch that is not inverted", "\tjne\t.Lcairn_w", "\tje\t.Lcairn_w", ""},
	{"the inverse of another branch", "\tjne\t.Lcairn_w", "\tjl\t.Lcairn_w", "another one"},
	{"the edge leads elsewhere", "\tjmp\t.L41\n", "\tjmp\t.L40\n", "leads elsewhere"},
	{"the edge does not jump", "\tjmp\t.L41\n", "", "no block of an edge"},
	{"the branch leads into the edge", "\tjmp\t.L41\n.Lcairn_w", "\tjmp\t.L41\n\tjmp\t.L41\n.Lcairn_w", "no block of an edge"},
	{"an edge without a counter", "\tnop\n\tincq\t.Lcairn_d0+56(%rip)\n\tjmp", "\tnop\n\tjmp", "no block of an edge"},
	{"an edge with other code", "\tnop\n\tincq\t.Lcairn_d0+56(%rip)\n\tjmp", "\tnop\n\tincq\t.Lcairn_d0+56(%rip)\n\tincl\t%eax\n\tjmp", "no block of an edge"},
	{"a branch into an edge", "\tjle\t.L40\n", "\tjle\t.Lcairn_b13\n", "leads elsewhere"},
}

// TestCounters checks that the forms of the counters of mode edge are proved, and that faults in them are found.
func TestCounters(t *testing.T) {
	t.Parallel()
	needAssembler(t)
	text, err := os.ReadFile("testdata/counters.s")
	if err != nil {
		t.Fatal(err)
	}
	plain := assemble(t, text)
	good := string(rewrite(t, text, probe.Options{Mode: prof.ModeEdge}))
	if c := Objects(plain, assemble(t, []byte(good))); len(c.Findings) > 0 || c.Probes != 14 {
		t.Fatalf("%+v", c)
	}
	atomic := rewrite(t, text, probe.Options{Mode: prof.ModeEdge, Atomic: true})
	if c := Objects(plain, assemble(t, atomic)); len(c.Findings) > 0 || c.Probes != 14 || !strings.Contains(string(atomic), "pushfq\n\t.cfi_adjust_cfa_offset 8\n\tlock incl") {
		t.Fatalf("atomic: %+v", c)
	}
	for _, f := range counterFaults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			bad := strings.Replace(good, f.old, f.new, 1)
			if bad == good {
				t.Fatalf("no %q", f.old)
			}
			c := Objects(plain, assemble(t, []byte(bad)))
			if !c.Different() || !strings.Contains(c.Findings[0].Why, f.why) {
				t.Fatalf("%+v, want one with %q", c, f.why)
			}
			t.Log(c.Findings[0].Why)
		})
	}
}

// TestLiveOnEdge checks the flags where an edge leads, not those where its branch is.
func TestLiveOnEdge(t *testing.T) {
	t.Parallel()
	needAssembler(t)
	text, err := os.ReadFile("testdata/counters.s")
	if err != nil {
		t.Fatal(err)
	}
	live := func(s string) string { return strings.Replace(s, "\taddl\t$6, %eax\n", "\tadcl\t$6, %eax\n", 1) }
	bad := live(string(rewrite(t, text, probe.Options{Mode: prof.ModeEdge})))
	c := Objects(assemble(t, []byte(live(string(text)))), assemble(t, []byte(bad)))
	if !c.Different() || !strings.Contains(c.Findings[0].Why, "flags that are read later") {
		t.Fatalf("%+v", c)
	}
}

// partsText is a function with a part in another section, to which two branches lead, and from which two ways lead back.
const partsText = `	.text
	.globl	f
	.type	f, @function
f:
	testl	%edi, %edi
	js	.L2
	je	.L2
	leal	1(%rdi), %eax
.L3:
	ret
	.section	.text.unlikely,"ax",@progbits
	.type	f.cold, @function
f.cold:
.L2:
	movl	$-1, %eax
.L4:
	testl	%esi, %esi
	je	.L3
	addl	%esi, %eax
	jmp	.L3
	.size	f.cold, .-f.cold
	.text
	.size	f, .-f
`

// TestEdgeToPart checks edges that lead to another section, as gcc -fprofile-use writes them.
func TestEdgeToPart(t *testing.T) {
	t.Parallel()
	needAssembler(t)
	plain := assemble(t, []byte(partsText))
	good := string(rewrite(t, []byte(partsText), probe.Options{Mode: prof.ModeEdge}))
	if c := Objects(plain, assemble(t, []byte(good))); len(c.Findings) > 0 || c.Probes < 3 || strings.Count(good, "\tnop\n") == 0 {
		t.Fatalf("%+v\n%s", c, good)
	}
	for _, f := range []struct{ name, old, new, why string }{
		{"leads elsewhere", "\tjmp\t.L2\n", "\tjmp\t.L4\n", "leads elsewhere"},
		{"stays", "\tjmp\t.L2\n", "\tjmp\t.L3\n", "no block of an edge"},
	} {
		bad := strings.Replace(good, f.old, f.new, 1)
		if bad == good {
			t.Fatalf("%s: no %q in\n%s", f.name, f.old, good)
		}
		c := Objects(plain, assemble(t, []byte(bad)))
		if len(c.Findings) == 0 || !strings.Contains(c.Findings[0].Why, f.why) {
			t.Errorf("%s: %+v", f.name, c.Findings)
		}
	}
}
