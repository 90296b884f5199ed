package timing

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asmtest"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/prof"
)

// byRust marks a body as rustc's.
const byRust = "#rust"

// exitForms has a body for each way to leave a function, and the result: the code before the
// exit, with the name of the sequence, or the reason why the function is left alone.
var exitForms = []struct{ name, body, want string }{
	{"ret", "ret", "check10 ret"},
	{"retq with a comment", "retq # 12 simple_return_internal", "check10 retq"},
	{"rep ret", "rep ret", "check10 rep ret"},
	{"bnd ret", "bnd ret", RefuseForm},
	{"ret against speculation", "ret\nint3", "check10 ret int3"},
	{"return thunk", "jmp __x86_return_thunk", "check10 jmp __x86_return_thunk"},
	{"two returns", "testl %edi, %edi\nje .L1\nret\n.L1:\nret", "testl %edi, %edi je .L1 check10 ret check10 ret"},
	{"tail call", "jmp g", "check10 jmp g"},
	{"tail call through the PLT", "jmp g@PLT # 7 *sibcall", "check10 jmp g@PLT"},
	{"tail call through the GOT", "jmp *g@GOTPCREL(%rip)", "check10 jmp *g@GOTPCREL(%rip)"},
	{"tail call to itself", "jmp f", "check10 jmp f"},
	{"tail call of a nested function", "movq %rsp, %r10\njmp inner.3", "movq %rsp, %r10 check-save10 jmp inner.3"},
	{"indirect, gcc", "jmp *%rax # 8 [c=15 l=2] *sibcall_value", "check10 jmp *%rax"},
	{"indirect, clang", "jmpq *(%rdi) # TAILCALL", "check10 jmpq *(%rdi)"},
	{"indirect through r11", "movq %rdi, %r11\njmp *%r11 # 8 *sibcall", "movq %rdi, %r11 check-save11 jmp *%r11"},
	{"indirect through r10", "movq 8(%rdi), %r10\njmp *(%r10) # 8 *sibcall", "movq 8(%rdi), %r10 check-save10 jmp *(%r10)"},
	{"indirect, r10 set", "movq %rsp, %r10\njmp *%rax # 8 *sibcall", "movq %rsp, %r10 check-save10 jmp *%rax"},
	{"indirect, both", "movq %rdi, %r11\njmp *(%r10,%r11,8) # 8 *sibcall", "movq %rdi, %r11 check-save1011 jmp *(%r10,%r11,8)"},
	{"thunk", "jmp __x86_indirect_thunk_rax # 8 *sibcall", "check10 jmp __x86_indirect_thunk_rax"},
	{"thunk of r11", "movq %rdi, %r11\njmp __x86_indirect_thunk_r11 # 8 *sibcall", "movq %rdi, %r11 check-save11 jmp __x86_indirect_thunk_r11"},
	{"conditional", "testl %edi, %edi\njne g\nret", "testl %edi, %edi jne X check10 ret"},
	{"jump table", "jmp *%rax # 19 *tablejump_1\n.L1:\nret", "jmp *%rax check10 ret"},
	{"computed goto", "jmp *%rax # 9 *indirect_jump\n.L1:\nret", "jmp *%rax check10 ret"},
	{"jump table, CET", "notrack jmp *%rax\n.L1:\nret", "notrack jmp *%rax check10 ret"},
	{"jump table by its operand", "jmp *.L4(,%rax,8)\n.L1:\nret", "jmp *.L4(,%rax,8) check10 ret"},
	{"thunk of a jump table", "jmp __x86_indirect_thunk_rax # 8 *tablejump_1\n.L1:\nret", "jmp __x86_indirect_thunk_rax check10 ret"},
	{"loop", ".L1:\ndecl %edi\njne .L1\nret", "decl %edi jne .L1 check10 ret"},
	{"no exit: trap", "ud2", "ud2"},
	{"no exit: noreturn", "call abort", "call abort"},
	{"no exit: endless", ".L1:\njmp .L1", "jmp .L1"},
	{"thunk of a method", "jmp .LTHUNK0", "check10 jmp .LTHUNK0"},

	{"indirect, unknown", "jmp *%rax", RefuseIndirect},
	// rustc marks nothing; its text ends with its version.
	{"rustc, through memory", "jmpq *24(%rsi)" + byRust, "check10 jmpq *24(%rsi)"},
	{"rustc, through a register", "movq 24(%rsi), %rax\njmpq *%rax" + byRust, "movq 24(%rsi), %rax check10 jmpq *%rax"},
	{"rustc, an argument", "jmpq *%rsi" + byRust, "check10 jmpq *%rsi"},
	{"rustc, a jump table", "leaq .LJTI0_0(%rip), %rcx\nmovslq (%rcx,%rdi,4), %rax\naddq %rcx, %rax\njmpq *%rax\n.L1:\nret" + byRust, "leaq .LJTI0_0(%rip), %rcx movslq (%rcx,%rdi,4), %rax addq %rcx, %rax jmpq *%rax check10 ret"},
	{"rustc, unknown beside a table", "leaq .LJTI0_0(%rip), %rcx\njmpq *%rsi" + byRust, RefuseIndirect},
	{"thunk, unknown", "jmp __x86_indirect_thunk_rax", RefuseIndirect},
	{"elsewhere", "jmp .L99", RefuseElsewhere},
	{"elsewhere, conditional", "je .L99\nret", RefuseElsewhere},
	{"expression", "jmp g+4", RefuseIndirect},
	{"prefix", "cs jmp g", RefuseForm},
	{"two in a line", "addl $1, %eax; ret", RefuseForm},
	{"below the stack", "jmp *-8(%rsp) # 8 *sibcall", RefuseForm},
	{"short to elsewhere", "jrcxz g\nret", RefuseForm},
	{"short over an exit", "jrcxz .L1\nret\n.L1:\nret", RefuseShort},
	{"iretq", "iretq", RefuseKernel},
	{"sysretq", "sysretq", RefuseKernel},
	{"eh_return", "leaq 40(%rsp,%rcx), %rsp\nret", RefuseStack},
	{"eh_return, older", "movq %rcx, %rsp\nret", RefuseStack},
	{"split stack", "call __morestack\nret", RefuseStack},
	{"inline thunk", "call .L1\n.L1:\nret", RefuseThunk},
	{"r11 is an argument", "movq %r11, %rax\nret", RefuseRegisters},
	{"r11 is an argument of the next", "movl $1, %r11d\njmp h\n.size f, .-f\n.type h, @function\nh:\nmovq %r11, %rax\nret", "movl $1, %r11d check-save11 jmp h call __cairn_slow jmp h movq %r11, %rax ret"},
	{"another convention", "pushq %r10\n.cfi_offset 10, -16\npopq %r10\nret", RefuseRegisters},
}

// exitPattern finds the inserted sequences in text whose lines are joined.
var exitPatterns = []struct{ code, name string }{
	{exitCode(regR10|regR11, "", "X"), "check-save1011"},
	{exitCode(regR10, "", "X"), "check-save10"},
	{exitCode(regR11, "", "X"), "check-save11"},
	{exitCode(0, "", "X"), "check10"},
}

// TestExitForms has a function for each row of exitForms.
func TestExitForms(t *testing.T) {
	t.Parallel()
	as, noAs := exec.LookPath("as")
	for _, form := range exitForms {
		t.Run(form.name, func(t *testing.T) {
			t.Parallel()
			src := "\t.text\n\t.type f, @function\nf:\n\t.cfi_startproc\n\t" + strings.ReplaceAll(form.body, "\n", "\n\t") +
				"\n\t.cfi_endproc\n\t.size f, .-f\n\t.set .LTHUNK0, g\n"
			if body, ok := strings.CutSuffix(form.body, byRust); ok {
				form.body = body
				src = strings.Replace(src, byRust, "", 1) + "\t.set .LJTI0_0, g\n\t.ident\t\"rustc version 1.95.0\"\n"
			}
			out := checkForm(t, src, machine.X86_64, form.want, exitText)
			if noAs == nil && out != nil && !strings.Contains(form.body, ".L99") {
				cmd := exec.Command(as, "--64", "-o", filepath.Join(t.TempDir(), "out.o"))
				cmd.Stdin = bytes.NewReader(out)
				if msg, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s\n%s", err, msg, out)
				}
			}
		})
	}
}

// checkForm rewrites a text with function f, and compares its code, as text shows it, or the reason why it is left alone, with want.
// It returns the rewritten text, nil if f is left alone.
func checkForm(t *testing.T, src string, kind machine.Kind, want string, text func(string) string) []byte {
	t.Helper()
	unit, err := isa.Parse([]byte(strings.ReplaceAll(src, "\t.L", ".L")), kind)
	if err != nil {
		t.Fatal(err)
	}
	out, result := Rewrite(unit, probe.Options{Mode: map[machine.Kind]prof.Mode{machine.X86_64: prof.ModeSpike, machine.Arm: prof.ModeTrace}[kind]})
	if len(result.Skipped) > 0 && result.Skipped[0].Name == "f" {
		if result.Skipped[0].Reason != want {
			t.Errorf("left alone: %s; want %s", result.Skipped[0].Reason, want)
		}
		return nil
	}
	if got := text(string(out)); got != want {
		t.Errorf("%s\nwant %s\n%s", got, want, out)
	}
	return out
}

// exitText returns the code of a function from behind its entry to its stubs,
// in a line, with names for sequences.
func exitText(out string) string {
	for _, entry := range []regSet{regRAX | regR10, regRAX, regR10, 0} {
		if _, rest, ok := strings.Cut(out, entryCode(entry)); ok {
			out = rest
			break
		}
	}
	out, _, _ = strings.Cut(out, "\t.cfi_def_cfa")
	out, _, _ = strings.Cut(out, "\t.cfi_endproc")
	for i := range 9 {
		out = strings.ReplaceAll(out, fmt.Sprintf(".Lcairn_x%d\n", i), "X\n")
	}
	for _, p := range exitPatterns {
		out = strings.ReplaceAll(out, p.code, "\t"+p.name+"\n")
	}
	var words []string
	for line := range strings.Lines(out) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" && !strings.HasSuffix(line, ":") && line[0] != '.' {
			words = append(words, line)
		}
	}
	// The conditional jump that is never taken stands behind its stand-in.
	words = slices.DeleteFunc(words, func(w string) bool { return w == "jne g" })
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// TestEntryLiveness has functions that use rax or r10 before they set them.
func TestEntryLiveness(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, body string
		want       regSet
	}{
		{"nothing", "movl %edi, %eax\nret", 0},
		{"al is tested", "testb %al, %al\nje .L1\nmovaps %xmm0, 8(%rsp)\n.L1:\nret", regRAX},
		{"al, later", "movl %edi, %ecx\nmovq %rsi, 8(%rsp)\ntestb %al, %al\nret", regRAX},
		{"written on one way", "testl %edi, %edi\nje .L1\nxorl %eax, %eax\n.L1:\nmovzbl %al, %eax\nret", regRAX},
		{"written on both", "testl %edi, %edi\nje .L1\nxorl %eax, %eax\njmp .L2\n.L1:\nmovl $1, %eax\n.L2:\nmovzbl %al, %eax\nret", 0},
		{"set", "cmpl %edi, %esi\nsete %al\nmovzbl %al, %eax\nret", 0},
		{"division", "cltd\nidivl %esi\nret", regRAX},
		{"string", "rep stosq\nret", regRAX},
		{"behind a call", "call g\nmovzbl %al, %eax\nmovq %r10, %rdi\nret", 0},
		{"an index", "leaq (%rdi,%rax,8), %rax\nret", regRAX},
		{"a destination that is memory", "movl %edi, (%rax)\nret", regRAX},
		{"chain", "movl (%r10), %eax\nret", regR10},
		{"chain, kept", "movq %r10, %rbx\nret", regR10},
		{"chain for another", "subq $8, %rsp\ncall inner\naddq $8, %rsp\nret\n.size f, .-f\n.type inner, @function\ninner:\nmovl (%r10), %eax\nret", regR10},
		{"chain of another unit", "call inner.4\nret", regR10},
		{"no chain", "call other\nret\n.size f, .-f\n.type other, @function\nother:\nmovl %edi, %eax\nret", 0},
		{"al for who knows", "jmp g", regRAX},
		{"al for one that reads it", "jmp other\n.size f, .-f\n.type other, @function\nother:\ntestb %al, %al\nret", regRAX},
		{"al for one that does not", "jmp other\n.size f, .-f\n.type other, @function\nother:\nmovl %edi, %eax\nret", 0},
		{"al for one that may be another", "jmp other\n.size f, .-f\n.globl other\n.type other, @function\nother:\nmovl %edi, %eax\nret", regRAX},
		{"al by name of another", "jmp .LTHUNK0\n.set .LTHUNK0, other\n.size f, .-f\n.type other, @function\nother:\nmovl %edi, %eax\nret", 0},
		{"computed", "jmp *%rdx # *tablejump_1\n.L1:\nmovzbl %al, %eax\nret\n.data\n.quad .L1\n.text", regRAX},
		{"register of a thunk", "call __x86_indirect_thunk_rax\nret", regRAX},
		{"assembly", "#APP\nmovq %r10, %rbx\n#NO_APP\nret", regR10},
		{"a loop at the entry", ".L1:\ntestb %al, %al\njne .L1\nret", regRAX},
		{"both", "movq (%r10), %rdx\ntestb %al, %al\nret", regRAX | regR10},
		{"thread-local", "leaq x@TLSDESC(%rip), %rax\ncall *x@TLSCALL(%rax)\nmovq %r10, %rdi\nret", regR10},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			src := "\t.text\n\t.type f, @function\nf:\n\t" + strings.ReplaceAll(test.body, "\n", "\n\t") + "\n"
			src = strings.NewReplacer("\t.L", ".L", "\tinner:", "inner:", "\tother:", "other:", "\t#", "#").Replace(src)
			unit, err := isa.Parse([]byte(src), machine.X86_64)
			if err != nil {
				t.Fatal(err)
			}
			out, _ := Rewrite(unit, probe.Options{Mode: prof.ModeSpike})
			_, code, _ := strings.Cut(string(out), "\nf:\n")
			_, code, _ = strings.Cut(code, needSymbol+"\n")
			if !strings.HasPrefix(code, entryCode(test.want)) {
				t.Errorf("got\n%s\nwant\n%s", code, entryCode(test.want))
			}
		})
	}
}

// TestSmall checks that small functions without a loop are left out.
func TestSmall(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, body string
		timed      bool
	}{
		{"straight", "movl $1, %eax\nret", false},
		{"big", strings.Repeat("addl $1, %eax\n", 20) + "ret", true},
		{"backwards without a loop", "jmp .L2\n.L1:\nret\n.L2:\njmp .L1", false},
		{"loop", ".L1:\ndecl %edi\njne .L1\nret", true},
		{"endless loop", ".L1:\njmp .L1", true},
		{"loop of two", "jmp .L2\n.L1:\ndecl %edi\n.L2:\ntestl %edi, %edi\njne .L1\nret", true},
		{"string", "rep stosb\nret", true},
		{"not a string", "rep ret", false},
		{"recursion", "call f\nret", false},
		{"sleeps", "call usleep@PLT\nret", true},
		{"reads", "call *read@GOTPCREL(%rip)\nret", true},
		{"a checked variant", "callq __read_chk\nret", true},
		{"the kernel", "syscall\nret", true},
		{"allocates", "call malloc@PLT\nret", false},
		{"another of a like name", "call readme@PLT\nret", false},
		{"sleeps when it has left", "jmp usleep@PLT", false},
		{"computed goto", ".L1:\njmp *%rax # *indirect_jump\n.data\n.quad .L1\n.text", true},
		{"loop without a way in", "ret\n.L1:\njmp .L1", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			src := "\t.text\n\t.type f, @function\nf:\n\t" + strings.ReplaceAll(test.body, "\n", "\n\t") + "\n\t.size f, .-f\n"
			unit, err := isa.Parse([]byte(strings.ReplaceAll(src, "\t.L", ".L")), machine.X86_64)
			if err != nil {
				t.Fatal(err)
			}
			_, result := Rewrite(unit, probe.Options{Mode: prof.ModeSpike, Selection: probe.Selection{Small: 20}})
			if timed := result.Functions == 1; timed != test.timed {
				t.Errorf("timed: %t, %v", timed, result.Skipped)
			}
		})
	}
}

// arrivalLine matches the code where an exception arrives.
var arrivalLine = regexp.MustCompile(`^\t(leaq\t-?\d+\(%r[sb]p\), %r11|call\t__cairn_arrived|testl\t%eax, %eax|je\t\.Lcairn_x\d+)\n$`)

// TestTimedUnwind compares the rows of the unwind table at all instructions with
// those of the program as it was, and looks at those of the inserted code.
func TestTimedUnwind(t *testing.T) {
	t.Parallel()
	eachTimed(t, timedUnwind)
}

func timedUnwind(t *testing.T, build []string) {
	dir := t.TempDir()
	src, n := asmtest.Mark(asmtest.Compile(t, dir, "../split/testdata/exceptions.cc", build...)), 0
	want := asmtest.UnwindRows(t, dir, src)
	out, _ := timedRewrite(t, src, false)
	// What has no mark is ours.
	var marked []byte
	stub, after, arrives, arrivals := false, false, false, 0
	for line := range bytes.Lines(out) {
		arrived := arrives
		arrives = false
		switch {
		case bytes.HasPrefix(line, []byte(".LVLmark")):
			after = true
		case arrived && bytes.HasPrefix(line, []byte(".Lcairn_x")): // behind the call
		case arrivalLine.Match(line): // runs in the frame of its function, and changes nothing in it
			arrives = true
			arrivals++
		case bytes.HasPrefix(line, []byte(".Lcairn_x")):
			stub = true
		case bytes.HasPrefix(line, []byte("\t.cfi_endproc")), bytes.HasPrefix(line, []byte("\t.size")):
			stub = false
		case asmtest.InsnLine.Match(line) && !after:
			n++
			kind := "code"
			if stub {
				kind = "stub"
			}
			marked = fmt.Appendf(marked, ".LVLmark%s%d:\n", kind, n)
		case asmtest.InsnLine.Match(line):
			after = false
		}
		marked = append(marked, line...)
	}
	for _, name := range []string{TimedBase, timedSlow, timedArrived, RuntimeSymbol} {
		marked = append(marked, "\t.globl "+name+"\n\t.set "+name+", 0\n"...)
	}
	bad, seen := 0, map[string]int{}
	unwound := !slices.Contains(build, "-fno-asynchronous-unwind-tables")
	for mark, got := range asmtest.UnwindRows(t, dir, marked) {
		row, ok := want[mark], true
		switch {
		case strings.HasPrefix(mark, ".LVLmarkcode"):
			seen["code"]++
			ok = !unwound || strings.HasPrefix(got, "CFA=rsp+8 ")
		case strings.HasPrefix(mark, ".LVLmarkstub"):
			seen["stub"]++
			ok = !unwound || got == "CFA=rsp+8 ra=c-8 "
		default:
			ok = got == row
		}
		if !ok {
			if bad++; bad < 4 {
				t.Errorf("%s: %s, was %s", mark, got, row)
			}
		}
	}
	if len(want) < 1000 || arrivals < 10 || seen["code"] < 400 || seen["stub"] < 80 {
		t.Errorf("%d instructions as they were, inserted %v", len(want), seen)
	}
}

// TestManyJumps has 300 computed jumps to 300 labels: the graph has an edge for each, not for each pair.
func TestManyJumps(t *testing.T) {
	t.Parallel()
	const n = 300
	var src, table strings.Builder
	src.WriteString("\t.text\n\t.type f, @function\nf:\n")
	for i := range n {
		fmt.Fprintf(&src, "\tjmp *%%rdx # *tablejump_1\n.L%d:\n", i)
		fmt.Fprintf(&table, "\t.quad .L%d\n", i)
	}
	src.WriteString("\tret\n\t.size f, .-f\n\t.data\n" + table.String())
	unit, err := isa.Parse([]byte(src.String()), machine.X86_64)
	if err != nil {
		t.Fatal(err)
	}
	x := &timer{Rewriter: &probe.Rewriter{Unit: unit}, on: timings[machine.X86_64]}
	b := x.bodyOf(unit.Funcs[0])
	edges := 0
	for _, to := range b.succs {
		edges += len(to)
	}
	if edges < 2*n || edges > 3*n || !b.hasLoop() {
		t.Errorf("%d edges, loop %t", edges, b.hasLoop())
	}
}
