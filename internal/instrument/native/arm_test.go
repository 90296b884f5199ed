package native

import (
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/golden"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/asmtest"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/prof"
)

// TestArmGolden rewrites what gcc and clang made of testdata for Armv7, and has it assembled.
func TestArmGolden(t *testing.T) {
	t.Parallel()
	asmtest.EachText(t, "testdata/arm/*.s", func(file string, src []byte) {
		if !asm.IsCompilerOutput(src) {
			t.Errorf("%s: not taken for a compiler's output", file)
		}
		for _, opts := range []probe.Options{
			{Mode: prof.ModeCover},
			{Mode: prof.ModeBlock},
			{Mode: prof.ModeCount, Atomic: true},
			{Mode: prof.ModeFull},
			{Mode: prof.ModeBlockOrder},
			{Mode: prof.ModeTrace},
		} {
			unit, err := isa.Parse(src, machine.Arm)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			out, result := Rewrite(unit, opts)
			if opts.Mode.HasBlocks() && len(result.EntryOnly) > 0 {
				t.Errorf("%s: no blocks of %v", file, result.EntryOnly)
			}
			name := strings.TrimSuffix(file, ".s") + "." + opts.Mode.String()
			golden.Compare(t, name+".golden", out)
			asmtest.AssembleArm(t, name, out)
		}
	})
}

// FuzzArm checks that any text is either refused or rewritten, the same way twice.
func FuzzArm(f *testing.F) {
	asmtest.EachText(f, "testdata/arm/*.s", func(_ string, src []byte) { f.Add(src) })
	f.Add([]byte("\t.type f, %function\nf:\n\tpush {r4, lr}\n\tmov r4, r0\n.L1:\n\tcbz r0, .L1\n\ttbb [pc\n\t.byte (.L1-.L2)/2\n\tldr\n\tldm sp!\n\t.ltorg\n\tadr\n\tvldr\n\tpop {-}\n"))
	f.Add([]byte("\t.thumb\n\t.type f, %function\nf:\n.L1:\n\taddls pc, pc, r0\n.L2:\n\tb .L1\n\t.handlerdata\n\t.fnend\n\t.fnend\n\t.syntax divided\n@ 0 \"\" 2\n\tldrd r0, .L2\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		rewriteTwice(t, src, machine.Arm, []probe.Options{{Mode: prof.ModeCover}, {Mode: prof.ModeBlock}, {Mode: prof.ModeFull, Atomic: true}, {Mode: prof.ModeBlockOrder}, {Mode: prof.ModeTrace}})
	})
}
