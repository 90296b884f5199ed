package timing

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/asmtest"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/prof"
)

// coffHead begins a function of gcc for Windows, whose body and epilogue follow.
const coffHead = "\t.file\t\"a.c\"\n\t.text\n\t.globl\tf\n\t.def\tf;\t.scl\t2;\t.type\t32;\t.endef\n"

// TestHandlers looks at the handler of an exception: its function goes on there, and it is no call.
func TestHandlers(t *testing.T) {
	t.Parallel()
	const (
		head  = "\t.def\tNAME;\n\t.scl\t2;\n\t.type\t32;\n\t.endef\n\t.globl\tNAME\n\t.p2align\t4\nNAME:\n.seh_proc NAME\n\t.seh_handler __CxxFrameHandler3, @unwind, @except\n"
		frame = "\tpushq\t%rbp\n\t.seh_pushreg %rbp\n\tsubq\t$64, %rsp\n\t.seh_stackalloc 64\n\tleaq\t64(%rsp), %rbp\n\t.seh_setframe %rbp, 64\n\t.seh_endprologue\n"
		body  = "\tcallq\tg\n\tnop\n.LBB0_1:\n\t.seh_startepilogue\n\taddq\t$64, %rsp\n\tpopq\t%rbp\n\t.seh_endepilogue\n\tretq\n\t.seh_endproc\n"
		enter = "\tmovq\t%rdx, 16(%rsp)\n\tpushq\t%rbp\n\t.seh_pushreg %rbp\n\tsubq\t$32, %rsp\n\t.seh_stackalloc 32\n\tleaq\t64(%rdx), %rbp\n\t.seh_endprologue\n"
		leave = "\tcallq\th\n\tleaq\t.LBB0_1(%rip), %rax\n\t.seh_startepilogue\n\taddq\t$32, %rsp\n\tpopq\t%rbp\n\t.seh_endepilogue\n\tretq\n\t.seh_endproc\n"
	)
	f, handler := strings.ReplaceAll(head, "NAME", "f"), strings.ReplaceAll(head, "NAME", `"?catch$2@?0?f@4HA"`)
	text := "\t.text\n" + f + frame + body + handler + enter + leave
	for mode, want := range map[prof.Mode]string{
		prof.ModeSpike:  "\t.seh_endprologue\n\tleaq\t8(%rbp), %r11\n\tcall\t__cairn_arrived\n\tcallq\th\n\tleaq\t.LBB0_1(%rip), %rax\n\t.seh_startepilogue\n",
		prof.ModeStacks: "\t.seh_endprologue\n\tleaq\t8(%rbp), %r11\n\tcall\t__cairn_tree_back_at\n\tcallq\th\n\tleaq\t.LBB0_1(%rip), %rax\n\t.seh_startepilogue\n",
		prof.ModeTrace:  "\tcallq\th\n\tleaq\t.LBB0_1(%rip), %rax\n\t.seh_startepilogue\n",
	} {
		unit, err := isa.ParseAs(asm.ParseOptions{Object: asm.COFF}, []byte(text), machine.X86_64)
		if err != nil {
			t.Fatal(err)
		}
		out, result := Rewrite(unit, probe.Options{Object: asm.COFF, MSVC: true, Mode: mode})
		_, after, _ := strings.Cut(string(out), "\tleaq\t64(%rdx), %rbp\n")
		if result.Functions != 1 || len(result.Skipped) != 0 || !strings.Contains(after, want) || strings.HasPrefix(after, "\t.seh_endprologue\n\tcallq") {
			t.Errorf("mode %v: %d functions, %v:\n%s", mode, result.Functions, result.Skipped, out)
		}
		// Of a function without probes, or that the handler cannot find the frame of, the handler is as it was.
		for _, other := range []string{"\t.text\n" + handler + enter + leave, strings.Replace(text, "leaq\t64(%rdx), %rbp", "movq\t%rdx, %rbp", 1)} {
			unit, err := isa.ParseAs(asm.ParseOptions{Object: asm.COFF}, []byte(other), machine.X86_64)
			if err != nil {
				t.Fatal(err)
			}
			if out, _ := Rewrite(unit, probe.Options{Object: asm.COFF, MSVC: true, Mode: mode}); !strings.Contains(string(out), "\t.seh_endprologue\n\tcallq\th\n") {
				t.Errorf("mode %v:\n%s", mode, out)
			}
		}
	}
}

// TestCOFFExits looks at where exits are checked, and what is refused.
func TestCOFFExits(t *testing.T) {
	t.Parallel()
	const (
		pushed = "\t.seh_proc\tf\nf:\n\tpushq\t%rbx\n\t.seh_pushreg\t%rbx\n\tsubq\t$32, %rsp\n\t.seh_stackalloc\t32\n\t.seh_endprologue\n"
		framed = "\t.seh_proc\tf\nf:\n\tpushq\t%rbp\n\t.seh_pushreg\t%rbp\n\tpushq\t%rbx\n\t.seh_pushreg\t%rbx\n\tsubq\t$40, %rsp\n\t.seh_stackalloc\t40\n" +
			"\tleaq\t32(%rsp), %rbp\n\t.seh_setframe\t%rbp, 32\n\t.seh_endprologue\n"
		plain = "\t.seh_proc\tf\nf:\n\t.seh_endprologue\n"
		end   = "\t.seh_endproc\n"
	)
	for _, test := range []struct{ name, text, want, refused string }{
		{"pops", pushed + "\taddq\t$32, %rsp\n\tpopq\t%rbx\n\tret\n" + end, "leal\t40(%rsp), %r11d\n\tmovl\t(%r10,%r11), %r11d\n\tsubl\t-64(%r10), %r11d\n\taddl\t-60(%r10), %r11d\n\tjs\t.Lcairn_x1\n.Lcairn_x2:\n\taddq\t$32", ""},
		{"stub", pushed + "\taddq\t$32, %rsp\n\tpopq\t%rbx\n\tret\n" + end, "\tret\n.Lcairn_x1:\n\tleaq\t40(%rsp), %r11\n\tcall\t__cairn_slow\n\tjmp\t.Lcairn_x2\n\t.seh_endproc\n", ""},
		{"alloca", framed + "\tleaq\t8(%rbp), %rsp\n\tpopq\t%rbx\n\tpopq\t%rbp\n\tret\n" + end, "leal\t24(%rbp), %r11d", ""},
		{"leaf", plain + "\tret\n" + end, "leal\t(%rsp), %r11d", ""},
		{"epilogue of clang", pushed + "\t.seh_startepilogue\n\taddq\t$32, %rsp\n\tpopq\t%rbx\n\t.seh_endepilogue\n\tretq\n" + end, ".Lcairn_x2:\n\t.seh_startepilogue\n\taddq", ""},
		{"tail call by r11", pushed + "\tmovq\t(%rcx), %r11\n\taddq\t$32, %rsp\n\tpopq\t%rbx\n\trex.W jmp\t*%r11\t # 1\t[c=0 l=3]  *sibcall\n" + end, "\tmovq\t%r11, 64(%rsp)\n\tmovq\t__cairn_base(%rip), %r10\n", ""},
		{"128 bytes", strings.ReplaceAll(pushed, "32", "128") + "\tsubq\t$-128, %rsp\n\tpopq\t%rbx\n\tret\n" + end, "leal\t136(%rsp), %r11d", ""},
		{"a pop is missing", pushed + "\taddq\t$32, %rsp\n\tret\n" + end, "", RefuseEpilogue},
		{"no epilogue", pushed + "\tret\n" + end, "", RefuseEpilogue},
		{"another frame pointer", framed + "\tleaq\t16(%rbp), %rsp\n\tpopq\t%rbx\n\tpopq\t%rbp\n\tret\n" + end, "", RefuseEpilogue},
		{"no table", "f:\n\tpushq\t%rdi\n\tpopq\t%rdi\n\tret\n", "", RefuseNoTable},
	} {
		unit, err := isa.ParseAs(asm.ParseOptions{Object: asm.COFF}, []byte(coffHead+test.text+"\t.ident\t\"GCC: (GNU) 12-posix\"\n"), machine.X86_64)
		if err != nil {
			t.Fatal(err)
		}
		out, result := Rewrite(unit, probe.Options{Object: asm.COFF, Mode: prof.ModeSpike})
		why := ""
		if len(result.Skipped) > 0 {
			why = result.Skipped[0].Reason
		}
		if why != test.refused || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: refused %q, want %q; %q must be in\n%s", test.name, why, test.refused, test.want, out)
		}
		if !strings.Contains(test.name, "clang") {
			assembleCOFF(t, test.name, out)
		}
	}
}

// TestCOFFCalls looks at the code of modes stacks and trace: exits are in front of the epilogue, what an entry jumps to is behind
// the unwind table, and trace aligns a function in front of the directive that begins that.
func TestCOFFCalls(t *testing.T) {
	t.Parallel()
	const (
		body = "\t.seh_proc\tf\nf:\n\tpushq\t%rbx\n\t.seh_pushreg\t%rbx\n\tsubq\t$32, %rsp\n\t.seh_stackalloc\t32\n\t.seh_endprologue\n\tcall\tg\n"
		exit = "\taddq\t$32, %rsp\n\tpopq\t%rbx\n"
		end  = "\t.seh_endproc\n"
	)
	for _, test := range []struct {
		name, text string
		mode       prof.Mode
		want       []string
	}{
		{"stacks", body + exit + "\tret\n" + end, prof.ModeStacks, []string{
			"\tmovq\t%gs:(%r11), %r10\n", "\tleal\t40(%rsp), %r11d\n\tmovq\t(%r10,%r11), %r11\n", "\tmovq\t%r11, %gs:(%r10)\n\taddq\t$32, %rsp\n",
			"\t.seh_endproc\n\t.long\t", "\tcall\t__cairn_tree_enter\n",
		}},
		{"trace", body + exit + "\tret\n" + end, prof.ModeTrace, []string{
			"\t.p2align\t2\n\t.seh_proc\tf\nf:\n", "\tmovl\t%r10d, -4(%r11)\n\taddq\t$32, %rsp\n", "\tret\n.Lcairn_x4:\n\tcall\t__cairn_trace_full\n",
			"\t.seh_endproc\n.Lcairn_x2:\n\tcall\t__cairn_trace_full\n",
		}},
		{"a tail call by r11", body + "\tmovq\t(%rcx), %r11\n" + exit + "\trex.W jmp\t*%r11\t # 1\t[c=0 l=3]  *sibcall\n" + end, prof.ModeTrace, []string{
			"\tmovq\t%r11, 64(%rsp)\n", "\tmovq\t64(%rsp), %r11\n\taddq\t$32, %rsp\n",
		}},
		{"a name that assemblers drop", "\t.def\tLf;\t.scl\t3;\t.type\t32;\t.endef\n" + strings.Replace(body+exit+"\tret\n"+end, "\tf\nf:", "\tLf\nLf:", 1), prof.ModeTrace, []string{"\t.def\tcairn$Lf; .scl 3; .type 32; .endef\ncairn$Lf:\n"}},
		{"a block of __except", body + ".LBB0_6:\n\tcall\tg\n" + exit + "\tret\n\t.seh_handlerdata\n.Llsda_begin1:\n\t.long\t.Ltmp4@IMGREL # LabelStart\n\t.long\t.Ltmp5@IMGREL\n\t.long\t1\n\t.long\t.LBB0_6@IMGREL\n.Llsda_end1:\n\t.text\n" + end, prof.ModeStacks, []string{
			".LBB0_6:\n\tleaq\t40(%rsp), %r11\n\tcall\t__cairn_tree_back_at\n",
		}},
		{"a thread is suspended", body + exit + "\trex.W jmp\t*__imp_SuspendThread(%rip)\t # 1\t[c=0 l=3]  *sibcall\n" + end, prof.ModeSpike, []string{"\trex.W jmp\t*__imp___cairn_suspend_thread(%rip)\t # 1"}},
		{"a critical section", body + "\tmovq\t__imp_EnterCriticalSection(%rip), %rax\n\tcall\t*%rax\n\tcall\t*__imp_TryEnterCriticalSection(%rip)\n" + exit + "\tret\n" + end, prof.ModeSpike, []string{
			"\tmovq\t__imp___cairn_enter_critical_section(%rip), %rax\n", "\tcall\t*__imp_TryEnterCriticalSection(%rip)\n",
		}},
		{"a critical section that the log needs not", body + "\tcall\t*__imp_EnterCriticalSection(%rip)\n" + exit + "\tret\n" + end, prof.ModeTrace, []string{"\tcall\t*__imp_EnterCriticalSection(%rip)\n"}},
		{"a switch of fibers", body + exit + "\trex.W jmp\t*__imp_SwitchToFiber(%rip)\t # 1\t[c=0 l=3]  *sibcall\n" + end, prof.ModeTrace, []string{"\trex.W jmp\t*__imp___cairn_switch_fiber(%rip)\t # 1"}},
		{"a wait", body + "\tmovq\t__imp_Sleep(%rip), %rax\n\tcall\t*%rax\n\tcall\tpthread_join\n\tcall\t*__imp_select(%rip)\n" + exit + "\tret\n" + end, prof.ModeStacks, []string{
			"\tmovq\t__imp___cairn_wait_Sleep(%rip), %rax\n", "\tcall\t__cairn_wait_pthread_join\n", "\tcall\t*__imp_select(%rip)\n", "\tcall\t*__imp_Sleep(%rip)\n",
			"\n__imp___cairn_wait_Sleep:\n\t.quad\t__cairn_wait_Sleep\n",
		}},
		{"a function of its own by the name of one that waits", body + "\tcall\tusleep\n" + exit + "\tret\n" + end + strings.NewReplacer("\tf\n", "\tusleep\n", "f:", "usleep:").Replace(body) + exit + "\tret\n" + end, prof.ModeStacks, []string{"\tcall\tg\n\tcall\tusleep\n"}},
		{"the end of the process", body + "\tcall\tabort\n" + end, prof.ModeStacks, []string{"\tmovl\t$1, %r11d\n\tcall\t__cairn_tree_leave\n\tcall\tabort\n"}},
	} {
		unit, err := isa.ParseAs(asm.ParseOptions{Object: asm.COFF}, []byte(coffHead+test.text+"\t.ident\t\"GCC: (GNU) 12-posix\"\n"), machine.X86_64)
		if err != nil {
			t.Fatal(err)
		}
		out, result := Rewrite(unit, probe.Options{Object: asm.COFF, Mode: test.mode})
		if result.Functions == 0 {
			t.Errorf("%s: %v", test.name, result.Skipped)
		}
		for _, want := range test.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: %q must be in\n%s", test.name, want, out)
			}
		}
		if test.name != "a block of __except" { // as clang writes it
			assembleCOFF(t, test.name, out)
		}
	}
}

// TestCOFFCost compares what a call executes with the same function for Linux: in each mode as many instructions, or fewer, with the
// same accesses to memory.
func TestCOFFCost(t *testing.T) {
	t.Parallel()
	const (
		elf  = "\t.text\n\t.globl\tf\n\t.type\tf, @function\nf:\n\t.cfi_startproc\n\tpushq\t%rbx\n\tsubq\t$32, %rsp\n\tcall\tg\n\taddq\t$32, %rsp\n\tpopq\t%rbx\n\tret\n\t.cfi_endproc\n\t.size\tf, .-f\n\t.ident\t\"GCC: (GNU) 12\"\n"
		coff = coffHead + "\t.seh_proc\tf\nf:\n\tpushq\t%rbx\n\t.seh_pushreg\t%rbx\n\tsubq\t$32, %rsp\n\t.seh_stackalloc\t32\n\t.seh_endprologue\n\tcall\tg\n\taddq\t$32, %rsp\n\tpopq\t%rbx\n\tret\n\t.seh_endproc\n\t.ident\t\"GCC: (GNU) 12-posix\"\n"
	)
	for name, opts := range map[string]probe.Options{
		"spike":  {Mode: prof.ModeSpike},
		"flight": {Mode: prof.ModeSpike, Timing: probe.Timing{Flight: true}},
		"stacks": {Mode: prof.ModeStacks},
		"trace":  {Mode: prof.ModeTrace},
	} {
		cost := func(object asm.Object, text string) (insns, accesses int) {
			unit, err := isa.ParseAs(asm.ParseOptions{Object: object}, []byte(text), machine.X86_64)
			if err != nil {
				t.Fatal(err)
			}
			opts.Object = object
			out, _ := Rewrite(unit, opts)
			_, out, _ = bytes.Cut(out, []byte("\nf:\n"))
			for line := range bytes.Lines(out) { // stubs are behind the return
				s := asm.ParseLine(bytes.TrimRight(line, "\n"))
				if s.Kind != asm.LineInsn {
					continue
				}
				insns++
				if bytes.Contains(s.Rest, []byte("(")) && !strings.HasPrefix(string(s.Word), "lea") {
					accesses++
				}
				if string(s.Word) == "ret" {
					break
				}
			}
			return insns, accesses
		}
		linux, linuxAccesses := cost(asm.ELF, elf)
		windows, accesses := cost(asm.COFF, coff)
		t.Logf("%s: %d instructions, for Linux %d; %d accesses", name, windows, linux, accesses)
		if windows > linux || accesses != linuxAccesses || linux < 12 {
			t.Errorf("%s: %d instructions and %d accesses to memory, for Linux %d and %d", name, windows, accesses, linux, linuxAccesses)
		}
	}
}

// assembleCOFF assembles a text, if there is an assembler for Windows.
func assembleCOFF(t *testing.T, name string, text []byte) {
	t.Helper()
	as, err := exec.LookPath("x86_64-w64-mingw32-as")
	if err != nil {
		return
	}
	dir := t.TempDir()
	asmtest.Write(t, filepath.Join(dir, "a.s"), text)
	if message, err := exec.Command(as, "-o", filepath.Join(dir, "a.o"), filepath.Join(dir, "a.s")).CombinedOutput(); err != nil {
		t.Errorf("%s: %s", name, message)
	}
}
