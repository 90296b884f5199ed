package probe

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/prof"
)

// machOText is what clang writes for arm64, with what only Mach-O has: a method of Objective-C, a
// symbol of Swift, a hint at the entry, a second entry, a table in the code, a weak function.
const machOText = `	.build_version ios, 15, 0
	.section	__TEXT,__text,regular,pure_instructions
	.p2align	2                               ; -- Begin function -[Foo bar:]
"-[Foo bar:]":                          ; @"\01-[Foo bar:]"
	.cfi_startproc
; %bb.0:
Lloh0:
	adrp	x8, _three@PAGE
Lloh1:
	ldr	w8, [x8, _three@PAGEOFF]
	cbz	w2, LBB0_2
	bl	_$s4main3fooyyF
LBB0_2:
	ret
	.loh AdrpLdr	Lloh0, Lloh1
	.cfi_endproc
                                        ; -- End function
	.globl	_$s4main3fooyyF                 ; -- Begin function $s4main3fooyyF
	.weak_definition	_$s4main3fooyyF
	.p2align	2
_$s4main3fooyyF:
	.cfi_startproc
	; InlineAsm Start
	nop
	; InlineAsm End
	b	"-[Foo bar:]"
	.globl	_inner
	.alt_entry	_inner
_inner:
	ret
	.cfi_endproc
	.p2align	2
	.data_region jt32
L1_0_set_2 = LBB0_2-LJTI1_0
LJTI1_0:
	.long	L1_0_set_2
	.end_data_region
	.section	__TEXT,__cstring,cstring_literals
l_.str:
	.asciz	"_main; L0 \"x"
.subsections_via_symbols
`

// TestMachOText checks what Rewrite makes of it, line by line where it matters, and that clang
// assembles it.
func TestMachOText(t *testing.T) {
	t.Parallel()
	if !asm.IsMachO([]byte(machOText)) || asm.IsMachO([]byte(strings.Replace(machOText, ".subsections_via_symbols", "", 1))) {
		t.Error("compiler output is told from other text by its last line")
	}
	for _, mode := range []prof.Mode{prof.ModeCover, prof.ModeCount, prof.ModeFull, prof.ModeBlockOrder} {
		u, err := isa.ParseAs(asm.ParseOptions{Object: asm.MachO}, []byte(machOText), machine.AArch64)
		if err != nil {
			t.Fatal(err)
		}
		out, result := Rewrite(u, Options{Machine: machine.AArch64, Object: asm.MachO, Mode: mode})
		if result.Functions != 2 || len(result.Skipped) != 0 {
			t.Errorf("%v: %+v", mode, result)
		}
		text := string(out)
		for _, want := range []string{
			// The label of a hint stays with its instruction.
			"\nLloh0:\n\tadrp\tx8, _three@PAGE\nLloh1:\n\tldr\tw8, [x8, _three@PAGEOFF]\n",
			"\tadrp\tx16, l_cairn_d0@PAGE\n", "\tadrp\tx16, \"__cairn_record.$s4main3fooyyF\"@PAGE\n",
			"\t.weak_definition\t\"__cairn_record.$s4main3fooyyF\"\n",
			"\t.quad\tl_cairn_d0-.\n", "\t.quad\tLcairn_f1-.\n", "\t.section\t__CAIRN,__cairn_map,regular,live_support\nl_cairn_m0:\n",
			"\t.asciz\t\"-[Foo bar:]\"\n", "\t.asciz\t\"$s4main3fooyyF\"\n", "\t.asciz\t\"_main; L0 \\\"x\"\n",
			"L1_0_set_2 = LBB0_2-LJTI1_0\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%v: no %q in\n%s", mode, want, text)
				break
			}
		}
		if strings.Contains(text, ".Lcairn") || strings.Contains(text, ":lo12:") {
			t.Errorf("%v: something is spelled as in ELF:\n%s", mode, text)
		}
		// A stub is in the atom of its function: before the next symbol.
		if stub, next := strings.Index(text, "Lcairn_s0:\n"), strings.Index(text, "\n_$s4main3fooyyF:"); mode != prof.ModeCover && (stub < 0 || stub > next) {
			t.Errorf("%v: the stub is at %d, the next function at %d", mode, stub, next)
		}
		assembleMachO(t, "arm64-apple-ios15", out)
	}
}

// TestMachOCompactUnwind checks that a function whose compact unwind entry would have the offset of an instruction
// behind the probe gets another entry.
func TestMachOCompactUnwind(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("llvm-objdump-22"); err != nil {
		t.Skip("llvm-objdump-22 is not installed; make test installs it")
	}
	const text = `	.build_version macos, 11, 0
	.section	__TEXT,__text,regular,pure_instructions
_f:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	subq	$FRAME, %rsp
	.cfi_def_cfa_offset CFA
	.cfi_offset %rbx, -16
	callq	_g
	addq	$FRAME, %rsp
	popq	%rbx
	retq
	.cfi_endproc
.subsections_via_symbols
`
	for _, c := range []struct {
		frame, cfa, encoding string
	}{
		{"2024", "2040", "0x02ff"}, // the size of the frame
		{"2032", "2048", "0x0400"}, // DWARF
		{"4000", "4016", "0x0400"},
	} {
		src := strings.NewReplacer("FRAME", c.frame, "CFA", c.cfa).Replace(text)
		for _, mode := range []prof.Mode{prof.ModeCover, prof.ModeFull} {
			u, err := isa.ParseAs(asm.ParseOptions{Object: asm.MachO}, []byte(src), machine.X86_64)
			if err != nil {
				t.Fatal(err)
			}
			out, _ := Rewrite(u, Options{Machine: machine.X86_64, Object: asm.MachO, Mode: mode})
			object := assembleMachO(t, "x86_64-apple-macos11", out)
			shown, err := exec.Command("llvm-objdump-22", "--macho", "--unwind-info", object).CombinedOutput()
			if err != nil || !strings.Contains(string(shown), " "+c.encoding) {
				t.Errorf("%v: frame of %s bytes: %v\n%s", mode, c.frame, err, shown)
			}
		}
	}
}

// assembleMachO returns the object that clang makes of a text.
func assembleMachO(t *testing.T, target string, text []byte) string {
	t.Helper()
	if _, err := exec.LookPath("clang-22"); err != nil {
		t.Skip("clang-22 is not installed; make test installs it")
	}
	file := filepath.Join(t.TempDir(), "a.s")
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("clang-22", "-target", target, "-c", "-o", file+".o", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, text)
	}
	return file + ".o"
}

// FuzzMachOText rewrites damaged text. It checks that nothing panics, and that the original
// text is kept.
func FuzzMachOText(f *testing.F) {
	f.Add([]byte(machOText), uint8(0), false)
	f.Add([]byte(machOText), uint8(3), true)
	f.Add([]byte("_f:\n\tadrp x0, L\"\n\t.section \n\"\n = \n.alt_entry"), uint8(1), true)
	modes := []prof.Mode{prof.ModeCover, prof.ModeCount, prof.ModeFull, prof.ModeBlockOrder}
	f.Fuzz(func(t *testing.T, src []byte, mode uint8, x64 bool) {
		kind := machine.AArch64
		if x64 {
			kind = machine.X86_64
		}
		u, err := isa.ParseAs(asm.ParseOptions{Object: asm.MachO}, src, kind)
		if err != nil {
			return
		}
		out, result := Rewrite(u, Options{Machine: kind, Object: asm.MachO, Mode: modes[int(mode)%len(modes)]})
		if result.Functions == 0 && string(out) != string(src) {
			t.Error("text without functions is changed")
		}
		if len(out) < len(src)/2 {
			t.Errorf("%d bytes became %d", len(src), len(out))
		}
	})
}
