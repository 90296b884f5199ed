package native

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/asmtest"

	"github.com/cairnprof/cairn/internal/instrument/asm"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/golden"
	"github.com/cairnprof/cairn/prof"
)

// modes are what the tests rewrite with.
var modes = []prof.Mode{prof.ModeCover, prof.ModeBlock, prof.ModeCount, prof.ModeFull, prof.ModeOrder, prof.ModeBlockOrder, prof.ModeSpike}

// TestGolden rewrites what gcc and clang made of testdata, compares it in
// modes cover, full, order and spike, and has it assembled in all.
func TestGolden(t *testing.T) {
	t.Parallel()
	asmtest.EachText(t, "testdata/*.s", func(file string, src []byte) {
		if !asm.IsCompilerOutput(src) {
			t.Errorf("%s: not taken for a compiler's output", file)
		}
		for _, mode := range modes {
			unit, err := Parse(src, machine.X86_64)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			out, _ := Rewrite(unit, Options{Mode: mode})
			if why := lost(src, out); why != "" {
				t.Errorf("%s, %v: %s", file, mode, why)
			}
			if mode == prof.ModeCover || mode == prof.ModeFull || mode == prof.ModeOrder || mode == prof.ModeSpike {
				golden.Compare(t, strings.TrimSuffix(file, ".s")+"."+mode.String()+".golden", out)
			}
			asmtest.Assemble(t, file+", "+mode.String(), out, "as", "--64", "-W")
		}
	})
}

// lost returns why out is not src with lines inserted, or "".
func lost(src, out []byte) string {
	have := bytes.Split(out, []byte("\n"))
	for n, want := range bytes.Split(bytes.TrimSuffix(src, []byte("\n")), []byte("\n")) {
		for len(have) > 0 && !bytes.Equal(have[0], want) {
			have = have[1:]
		}
		if len(have) == 0 {
			return fmt.Sprintf("line %d is lost: %s", n+1, want)
		}
		have = have[1:]
	}
	return ""
}

// FuzzParse checks that any text is either refused or comes through whole,
// with lines inserted.
func FuzzParse(f *testing.F) {
	asmtest.EachText(f, "testdata/*.s", func(_ string, src []byte) { f.Add(src) })
	f.Add([]byte("\t.file\t\"a.c\"\n\t.type\tf, @function\nf:\n\tret"))
	f.Add([]byte(".section .text.f,\"axG\",@progbits,f,comdat\n.type f,@function\nf: jne f\nf.cold: jmp *%rax\n.size f,.-f"))
	f.Fuzz(func(t *testing.T, src []byte) {
		asm.IsCompilerOutput(src)
		for _, mode := range modes {
			unit, err := Parse(src, machine.X86_64)
			if err != nil {
				return
			}
			out, result := Rewrite(unit, Options{Mode: mode, Atomic: mode == prof.ModeCount, MinInsns: 1})
			rest, same := bytes.CutPrefix(out, src)
			if result.Functions == 0 && !(same && (len(rest) == 0 || bytes.HasPrefix(bytes.TrimLeft(rest, "\n"), []byte("\t.section\t"+wire.UnitSection)))) {
				t.Fatal("text without functions changed, other than by the record of the unit")
			}
			if why := lost(src, out); why != "" {
				t.Fatalf("%v: %s\n%s", mode, why, out)
			}
			again, _ := Rewrite(unit, Options{Mode: mode, Atomic: mode == prof.ModeCount, MinInsns: 1})
			if !bytes.Equal(out, again) {
				t.Fatalf("%v: a second rewrite differs", mode)
			}
		}
	})
}

// TestPieces checks which code is a function: what calls enter, whatever its name
// is, and not what its function goes on to.
func TestPieces(t *testing.T) {
	t.Parallel()
	const code = `.text
.type f, @function
f:
	je .L5
	call f.part.0
	call f.cold.1
.L2:
	ret
.type f.cold, @function
f.cold:
.L5:
	jmp .L2
.type f.part.0, @function
f.part.0:
	je .L7
	ret
.type f.part.0.cold, @function
f.part.0.cold:
.L7:
	call abort
.type f.cold.1, @function
f.cold.1:
	ret
.type lost.cold, @function
lost.cold:
	jmp .L9
`
	u, err := Parse([]byte(code), machine.X86_64)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, fn := range u.Funcs {
		s := fn.Name + ":"
		for _, fr := range fn.Frags {
			s += " " + fr.Name
		}
		got = append(got, s)
	}
	want := []string{"f: f f.cold", "f.part.0: f.part.0 f.part.0.cold", "f.cold.1: f.cold.1", "lost.cold: lost.cold"}
	if !slices.Equal(got, want) {
		t.Errorf("functions %q, want %q", got, want)
	}
	if _, result := Rewrite(u, Options{Mode: prof.ModeFull}); result.Functions != 3 || len(result.Skipped) != 1 || result.Skipped[0].Reason != SkipOrphan {
		t.Errorf("%d functions, left alone %v", result.Functions, result.Skipped)
	}
}
