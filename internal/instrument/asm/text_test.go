package asm_test

import (
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa"
)

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
		{"gcc -flto, no .ident", "\t.file\t\"a.c\"\n\t.section\t.gnu.lto_.decls.1,\"e\",@progbits\n\t.ascii\t\"x\"\n\t.comm\t__gnu_lto_slim,1,1\n", true},
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
		_, err := isa.Parse([]byte(src), machine.X86_64)
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
