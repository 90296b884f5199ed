package probe

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/prof"
)

// gccCOFF has what gcc writes for Windows in ways of its own: a function with an unwind table and its handler, a part of it
// that is cold, a COMDAT, one of another calling convention, which has no unwind table, and names that are only announced.
const gccCOFF = `	.file	"a.cc"
	.text
	.p2align 4
	.globl	_Z5catchi
	.def	_Z5catchi;	.scl	2;	.type	32;	.endef
	.seh_proc	_Z5catchi
_Z5catchi:
.LFB1:
	subq	$40, %rsp
	.seh_stackalloc	40
.LCFI0:
	.seh_endprologue
	testl	%ecx, %ecx
	js	.L9
/APP
 # 11 "a.cc" 1
	nop
 # 0 "" 2
/NO_APP
.LEHB0:
	call	*__imp__Z5throwv(%rip)
.LEHE0:
	addq	$40, %rsp
	ret
	.def	__gxx_personality_seh0;	.scl	2;	.type	32;	.endef
	.seh_handler	__gxx_personality_seh0, @unwind, @except
	.seh_handlerdata
	.byte	0xff
	.text
	.seh_endproc
	.section	.text.unlikely,"x"
	.def	_Z5catchi.cold;	.scl	3;	.type	32;	.endef
	.seh_proc	_Z5catchi.cold
	.seh_stackalloc	40
	.seh_endprologue
_Z5catchi.cold:
.L9:
	call	abort
	nop
	.text
	.section	.text.unlikely,"x"
	.seh_endproc
	.section	.text$_Z3boxv,"x"
	.linkonce discard
	.p2align 4
	.globl	_Z3boxv
	.def	_Z3boxv;	.scl	2;	.type	32;	.endef
	.seh_proc	_Z3boxv
_Z3boxv:
.LFB2:
	.seh_endprologue
	rex.W jmp	*%rcx
	.seh_endproc
	.text
	.p2align 4
	.globl	plain
	.def	plain;	.scl	2;	.type	32;	.endef
plain:
	ret
	.globl	also
	.def	also;	.scl	2;	.type	32;	.endef
	.set	also,plain
	.data
table:
	.quad	plain
	.ident	"GCC: (GNU) 12-posix"
	.def	_Z5throwv;	.scl	2;	.type	32;	.endef
`

// clangCOFF has what clang writes in other ways.
const clangCOFF = `	.def	@feat.00;
	.scl	3;
	.type	0;
	.endef
	.globl	@feat.00
@feat.00 = 0
	.file	"a.cc"
	.def	first;
	.scl	2;
	.type	32;
	.endef
	.section	.text$first,"xr",one_only,first,unique,0
	.globl	first                           # -- Begin function first
	.p2align	4
first:                                  # @first
# %bb.0:
	rex64 jmpq	*%rcx                   # TAILCALL
                                        # -- End function
	.def	_Z3boxv;
	.scl	2;
	.type	32;
	.endef
	.section	.text$_Z3boxv,"xr",discard,_Z3boxv
	.globl	_Z3boxv                         # -- Begin function _Z3boxv
	.p2align	4
_Z3boxv:                                # @_Z3boxv
.Lfunc_begin0:
.seh_proc _Z3boxv
	.seh_handler __gxx_personality_seh0, @unwind, @except
# %bb.0:
	subq	$40, %rsp
	.seh_stackalloc 40
	.seh_endprologue
	testl	%ecx, %ecx
	je	.LBB1_1
	#APP
	nop
	#NO_APP
.LBB1_1:
	.seh_startepilogue
	addq	$40, %rsp
	.seh_endepilogue
	retq
	.seh_handlerdata
	.text
	.section	.text$_Z3boxv,"xr",discard,_Z3boxv
	.seh_endproc
                                        # -- End function
	.addrsig
`

// msvcCOFF is what clang writes for MSVC's system: a function with a handler, which the unwinder calls and which returns where
// the function goes on, both in a section that the linker may take from another object.
const msvcCOFF = `	.def	@feat.00;
	.scl	3;
	.type	0;
	.endef
	.globl	@feat.00
@feat.00 = 0
	.file	"a.cc"
	.def	"?f@@YAHH@Z";
	.scl	2;
	.type	32;
	.endef
	.section	.text,"xr",discard,"?f@@YAHH@Z"
	.globl	"?f@@YAHH@Z"                    # -- Begin function ?f@@YAHH@Z
"?f@@YAHH@Z":                           # @"?f@@YAHH@Z"
.Lfunc_begin0:
	.cv_func_id 0
	.cv_file	1 "/src/a.cc" "94ADC3502CBE1F156798E7386F06AC22" 1
	.cv_loc	0 1 3 0                         # a.cc:3:0
.seh_proc "?f@@YAHH@Z"
	.seh_handler __CxxFrameHandler3, @unwind, @except
# %bb.0:
	pushq	%rbp
	.seh_pushreg %rbp
	.seh_endprologue
	callq	g
.LBB0_1:                                # Block address taken
$ehgcr_0_1:
	.seh_startepilogue
	popq	%rbp
	.seh_endepilogue
	retq
	.seh_handlerdata
	.long	"$cppxdata$?f@@YAHH@Z"@IMGREL
	.section	.text,"xr",discard,"?f@@YAHH@Z"
	.seh_endproc
	.def	"?catch$2@?0??f@@YAHH@Z@4HA";
	.scl	3;
	.type	32;
	.endef
	.p2align	4
"?catch$2@?0??f@@YAHH@Z@4HA":
.seh_proc "?catch$2@?0??f@@YAHH@Z@4HA"
	.seh_handler __CxxFrameHandler3, @unwind, @except
.LBB0_2:
	pushq	%rbp
	.seh_pushreg %rbp
	.seh_endprologue
	leaq	.LBB0_1(%rip), %rax
	.seh_startepilogue
	popq	%rbp
	.seh_endepilogue
	retq                                    # CATCHRET
.Lfunc_end0:
	.seh_handlerdata
	.long	"$cppxdata$?f@@YAHH@Z"@IMGREL
	.section	.text,"xr",discard,"?f@@YAHH@Z"
	.seh_endproc
	.section	.xdata,"dr",associative,"?f@@YAHH@Z",unique,0
"$cppxdata$?f@@YAHH@Z":
	.long	429065506                       # MagicNumber
	.addrsig
`

// TestMSVC wants handlers to be parts of their functions, each of whose blocks has a probe, as nothing is known of when it is entered.
func TestMSVC(t *testing.T) {
	t.Parallel()
	unit, err := isa.ParseAs(asm.ParseOptions{Object: asm.COFF, Handlers: true}, []byte(msvcCOFF), machine.X86_64)
	if err != nil || len(unit.Funcs) != 1 || len(unit.Funcs[0].Frags) != 2 || unit.Files.Path(1, "") != "/src/a.cc" {
		t.Fatalf("%d functions, file %q: %v", len(unit.Funcs), unit.Files.Path(1, ""), err)
	}
	out, result := Rewrite(unit, Options{Object: asm.COFF, MSVC: true, Mode: prof.ModeBlock})
	if result.Blocks != 3 || strings.Count(string(out), "\tmovb\t$1, .Lcairn_d0") != 3 {
		t.Errorf("%d blocks, %d probes, want 3", result.Blocks, strings.Count(string(out), "\tmovb\t$1, .Lcairn_d0"))
	}
	const want = "\t.section\t.crnmap,\"drD\",associative,\"?f@@YAHH@Z\"\n"
	if !strings.Contains(string(out), want) {
		t.Errorf("%q is not in:\n%s", want, out)
	}
}

// rewriteCOFF adds the probes of a mode to a text for Windows.
func rewriteCOFF(t *testing.T, text string, mode prof.Mode) (string, Result) {
	t.Helper()
	if !asm.IsCOFF([]byte(text)) {
		t.Error("it is not taken for a compiler's output")
	}
	unit, err := isa.ParseAs(asm.ParseOptions{Object: asm.COFF}, []byte(text), machine.X86_64)
	if err != nil {
		t.Fatal(err)
	}
	out, result := Rewrite(unit, Options{Object: asm.COFF, Mode: mode})
	return string(out), result
}

func TestCOFFFunctions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text  string
		names string
		want  []string // in the new text, in this order
	}{
		{gccCOFF, "_Z5catchi _Z3boxv plain", []string{
			"_Z5catchi:\n.Lcairn_f0:\n.LFB1:\n\tsubl\t$1, .Lcairn_d0(%rip)\n\tjc\t.Lcairn_s0\n.Lcairn_r0:\n\tsubq\t$40",
			"\t.seh_endproc\n.Lcairn_s0:\n\tcall\t__cairn_first_full\n\tjmp\t.Lcairn_r0\n\t.section\t.text.unlikely",
			".Lcairn_b2:\n\tmovb\t$1, .Lcairn_d0+13", "_Z3boxv:\n.Lcairn_f1:\n.LFB2:\n\t.seh_endprologue\n\tsubl\t$1, .Lcairn_d1(%rip)",
			"\t.section\t.debug_cairn,\"dr\"\n", "\t.asciz\t\"_Z5throwv\"\n",
			"\t.section\t\".crn$m\",\"bw\"\n\t.balign\t4\n.Lcairn_d0:\n", "\t.section\t\".crn$m_Z3boxv\",\"bw\"\n\t.linkonce discard\n\t.balign\t4\n.Lcairn_d1:\n",
			"\t.rva\t__cairn_link_with_cairn_cc\n",
		}},
		{clangCOFF, "first _Z3boxv", []string{
			"\tsubl\t$1, .Lcairn_d0(%rip)\n\tjc\t.Lcairn_s0\n.Lcairn_r0:\n\trex64 jmpq\t*%rcx",
			"\t.section\t.debug_cairn,\"dr\",associative,\"first\"\n", "\t.section\t.debug_cairn,\"dr\",associative,\"_Z3boxv\"\n",
			"\t.section\t\".crn$mfirst\",\"bw\",discard,\"__cairn_record.first\"\n\t.globl\t\"__cairn_record.first\"\n\"__cairn_record.first\":\n\t.balign\t4\n.Lcairn_d0:\n",
		}},
	} {
		out, result := rewriteCOFF(t, test.text, prof.ModeFull)
		unit, _ := isa.ParseAs(asm.ParseOptions{Object: asm.COFF}, []byte(test.text), machine.X86_64)
		var names []string
		for _, fn := range unit.Funcs {
			names = append(names, fn.Name)
		}
		if got := strings.Join(names, " "); got != test.names || result.Functions != len(names) {
			t.Errorf("functions %s, %d with probes, want %s", got, result.Functions, test.names)
		}
		rest := out
		for _, want := range test.want {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Errorf("%q is not in, or not in its place in:\n%s", want, out)
				break
			}
			rest = after
		}
	}
}

// TestCOFFAssembles assembles the texts with the probes of all modes.
func TestCOFFAssembles(t *testing.T) {
	t.Parallel()
	for _, as := range []struct {
		text    string
		command []string
	}{
		{gccCOFF, []string{"x86_64-w64-mingw32-as"}},
		{clangCOFF, []string{"clang-22", "--target=x86_64-w64-windows-gnu", "-c", "-x", "assembler"}},
	} {
		if _, err := exec.LookPath(as.command[0]); err != nil {
			t.Logf("%s is not here", as.command[0])
			continue
		}
		for _, mode := range []prof.Mode{prof.ModeCover, prof.ModeCount, prof.ModeBlock, prof.ModeFull, prof.ModeOrder, prof.ModeBlockOrder} {
			out, _ := rewriteCOFF(t, as.text, mode)
			object := filepath.Join(t.TempDir(), "a.o")
			cmd := exec.Command(as.command[0], append(slices.Clone(as.command[1:]), "-o", object, "-")...)
			cmd.Stdin = strings.NewReader(out)
			if messages, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("mode %v: %v\n%s", mode, err, messages)
			}
			if data, err := os.ReadFile(object); err == nil && !bytes.Contains(data, []byte(".debug_cairn")) {
				t.Errorf("mode %v: the object has no map", mode)
			}
		}
	}
}
