package native

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/golden"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/asmtest"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/internal/instrument/probe"
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
			unit, err := isa.Parse(src, machine.X86_64)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			out, _ := Rewrite(unit, probe.Options{Mode: mode})
			if why := asmtest.Lost(src, out); why != "" {
				t.Errorf("%s, %v: %s", file, mode, why)
			}
			if mode == prof.ModeCover || mode == prof.ModeFull || mode == prof.ModeOrder || mode == prof.ModeSpike {
				golden.Compare(t, strings.TrimSuffix(file, ".s")+"."+mode.String()+".golden", out)
			}
			asmtest.Assemble(t, file+", "+mode.String(), out, "as", "--64", "-W")
		}
	})
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
			unit, err := isa.Parse(src, machine.X86_64)
			if err != nil {
				return
			}
			out, result := Rewrite(unit, probe.Options{Mode: mode, Atomic: mode == prof.ModeCount, Selection: probe.Selection{MinInsns: 1}})
			rest, same := bytes.CutPrefix(out, src)
			if result.Functions == 0 && !(same && (len(rest) == 0 || bytes.HasPrefix(bytes.TrimLeft(rest, "\n"), []byte("\t.section\t"+wire.UnitSection)))) {
				t.Fatal("text without functions changed, other than by the record of the unit")
			}
			if why := asmtest.Lost(src, out); why != "" {
				t.Fatalf("%v: %s\n%s", mode, why, out)
			}
			again, _ := Rewrite(unit, probe.Options{Mode: mode, Atomic: mode == prof.ModeCount, Selection: probe.Selection{MinInsns: 1}})
			if !bytes.Equal(out, again) {
				t.Fatalf("%v: a second rewrite differs", mode)
			}
		}
	})
}

// rewriteTwice rewrites any text with all options, if it can be parsed.
func rewriteTwice(t *testing.T, src []byte, m machine.Kind, all []probe.Options) {
	for _, opts := range all {
		unit, err := isa.Parse(src, m)
		if err != nil {
			return
		}
		out, _ := Rewrite(unit, opts)
		again, _ := Rewrite(unit, opts)
		if !bytes.Equal(out, again) {
			t.Fatalf("%v: a second rewrite differs", opts.Mode)
		}
	}
}
