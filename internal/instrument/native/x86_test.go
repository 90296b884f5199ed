package native

import (
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/asm"

	"github.com/cairnprof/cairn/internal/binary/machine"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	checkClassify(t, x86Probes{}, []classified{
		{"movl %eax, %ebx", asm.FlowNext, ""},
		{"call foo", asm.FlowCall, "foo"},
		{"callq foo@PLT", asm.FlowCall, "foo@PLT"},
		{"call *%rax", asm.FlowCall, "*%rax"},
		{"call *foo@GOTPCREL(%rip)", asm.FlowCall, "*foo@GOTPCREL(%rip)"},
		{"notrack call *%rax", asm.FlowCall, "*%rax"},
		{"cmovne %eax, %ebx", asm.FlowNext, ""},
		{"jmp .L3", asm.FlowJump, ".L3"},
		{"jmp\t.L3 # comment", asm.FlowJump, ".L3"},
		{"jmpq *%rax", asm.FlowJump, "*%rax"},
		{"notrack jmp *.L4(,%rdi,8)", asm.FlowJump, "*.L4("},
		{"bnd jmp foo", asm.FlowJump, "foo"},
		{"jne .L3", asm.FlowBranch, ".L3"},
		{"js foo", asm.FlowBranch, "foo"},
		{"jrcxz .L1", asm.FlowShort, ".L1"},
		{"jecxz .L1", asm.FlowShort, ".L1"},
		{"loop .L1", asm.FlowShort, ".L1"},
		{"loopne .L1", asm.FlowShort, ".L1"},
		{"xbegin .L1", asm.FlowBranch, ".L1"},
		{"xabort $1", asm.FlowNext, ""},
		{"ret", asm.FlowEnd, ""},
		{"retq $8", asm.FlowEnd, ""},
		{"rep ret", asm.FlowEnd, ""},
		{"repz retq", asm.FlowEnd, ""},
		{"rep movsb", asm.FlowNext, ""},
		{"rep stosq", asm.FlowNext, ""},
		{"ud2", asm.FlowEnd, ""},
		{"ud1l 2(%eax), %eax", asm.FlowEnd, ""},
		{"hlt", asm.FlowEnd, ""},
		{"iretq", asm.FlowEnd, ""},
		{"int3", asm.FlowNext, ""},
		{"int $128", asm.FlowNext, ""},
		{"syscall", asm.FlowNext, ""},
		{"endbr64", asm.FlowLanding, ""},
		{"nop", asm.FlowNop, ""},
		{"nopw 0(%rax,%rax,1)", asm.FlowNop, ""},
		{"negl %eax", asm.FlowNext, ""},
		{"leave", asm.FlowNext, ""},
		{"lock cmpxchgl %ecx, (%rdi)", asm.FlowNext, ""},
	})
}

func TestCallee(t *testing.T) {
	t.Parallel()
	for operand, want := range map[string]string{
		"foo": "foo", "foo@PLT": "foo", "*foo@GOTPCREL(%rip)": "foo", `"odd name"@PLT`: "", `"quoted"`: "quoted",
		"_ZN3app5firstEi": "_ZN3app5firstEi", "größe": "größe", "foo.part.0": "foo.part.0",
		"*%rax": "", "*foo(%rip)": "", "*8(%rax)": "", "foo+4": "", "": "", "1f": "1f",
		".Lfoo$local": "foo", ".L_Z3foov$local": "_Z3foov", ".L3": ".L3", "foo$local": "foo$local",
	} {
		if got := (x86Probes{}).Callee([]byte(operand)); got != want {
			t.Errorf("%s: %q, want %q", operand, got, want)
		}
	}
}

func TestIsLeader(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]bool{
		// gcc: basic blocks, and its marks
		".L1": true, ".L23": true,
		".LVL4": false, ".LBB5": false, ".LBE5": false, ".LBI7": false, ".LFB0": false, ".LFE0": false,
		".LEHB0": false, ".LEHE3": false, ".LFSB9": false, ".LCOLDB2": false, ".LHOTE4": false, ".LVU7": false,
		".LPFE1": false, ".Ltext0": false, ".LLSDA4": false,
		// clang: basic blocks, and its marks
		".LBB0_1": true, ".LBB12_34": true, ".Ltmp3": false, ".Lfunc_begin0": false, ".Lfunc_end0": false,
		".Lcfi2": false, ".Lxray_sled_0": false, ".LJTI0_0": true, ".Lmain$local": false,
		// others: rather one probe too many
		".Lsomething": true, "1": false, "entry": true,
	} {
		if got := asm.IsLeader([]byte(label)); got != want {
			t.Errorf("%s: %v, want %v", label, got, want)
		}
	}
}

func TestIsCompilerOutput(t *testing.T) {
	t.Parallel()
	const gnuStack = "\t.section\t.note.GNU-stack,\"\",@progbits\n"
	for _, test := range []struct {
		name, src string
		want      bool
	}{
		{"nothing", "", false},
		{"gcc", "\t.file\t\"a.c\"\n\t.text\n\t.ident\t\"GCC: (Debian) 12\"\n" + gnuStack, true},
		{"gcc, no .ident", "\t.file\t\"a.c\"\n\t.text\nf:\n.LFB0:\n\tret\n.LFE0:\n", true},
		{"gcc, no .ident or tables", "\t.file\t\"a.c\"\n\t.type\tf, @function\nf:\n\tret\n", true},
		{"gcc -fverbose-asm", "\t.file\t\"a.c\"\n# GNU C17 (Debian) version 12\n\t.ident\t\"GCC: x\"\n", true},
		{"clang", "\t.file\t\"a.c\"\n\t.ident\t\"Debian clang version 22\"\n", true},
		{"clang, no .ident", "\t.file\t\"a.c\"\n\t.type\tf,@function\nf:  # @f\n\tretq\n.Lfunc_end0:\n", true},
		{"a file of data", "\t.file\t\"a.c\"\n\t.globl\tx\n\t.type\tx, @object\nx:\n\t.zero\t4\n", false},
		{"by hand", "\t.text\n\t.globl f\nf:\n\tret\n", false},
		{"by hand, with a name", "\t.file \"a.s\"\n\t.text\n\t.type f, @function\nf:\tret\n", false},
		{"preprocessed", "# 1 \"a.S\"\n\t.file\t\"a.S\"\n\t.ident\t\"GCC: x\"\n", false},
	} {
		if got := asm.IsCompilerOutput([]byte(test.src)); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"\t.file\t\"a.c\"\n\t.intel_syntax noprefix\n": "line 2: Intel syntax is not supported; compile with -masm=att",
		"\t.code32\n":              "line 1: only 64-bit code is supported; .code32 found",
		"#APP\n.code16\n#NO_APP\n": "", // the program's own business
	} {
		_, err := Parse([]byte(src), machine.X86_64)
		if got := ""; err != nil {
			got = err.Error()
			if got != want {
				t.Errorf("%q: %s, want %s", src, got, want)
			}
		} else if want != "" {
			t.Errorf("%q: no error, want %s", src, want)
		}
	}
}
