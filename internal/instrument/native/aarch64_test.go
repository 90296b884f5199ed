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

// TestAArch64Golden rewrites what gcc and clang made of testdata for AArch64, and has it
// assembled.
func TestAArch64Golden(t *testing.T) {
	t.Parallel()
	asmtest.EachText(t, "testdata/aarch64/*.s", func(file string, src []byte) {
		if !asm.IsCompilerOutput(src) {
			t.Errorf("%s: not taken for a compiler's output", file)
		}
		for _, opts := range []probe.Options{
			{Mode: prof.ModeCover},
			{Mode: prof.ModeBlock},
			{Mode: prof.ModeCount, Atomic: true},
			{Mode: prof.ModeFull},
			{Mode: prof.ModeBlockOrder},
			{Mode: prof.ModeSpike},
			{Mode: prof.ModeSpike, Timing: probe.Timing{Exact: true}},
			{Mode: prof.ModeSpike, Timing: probe.Timing{Flight: true}},
			{Mode: prof.ModeStacks, Timing: probe.Timing{Longest: true}},
			{Mode: prof.ModeTrace, Timing: probe.Timing{Depth: 3}},
		} {
			unit, err := isa.Parse(src, machine.AArch64)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			out, result := Rewrite(unit, opts)
			if opts.Mode.HasBlocks() && len(result.EntryOnly) > 0 {
				t.Errorf("%s: no blocks of %v", file, result.EntryOnly)
			}
			name := opts.Mode.String()
			switch {
			case opts.Exact:
				name = "exact"
			case opts.Flight:
				name = "flight"
			}
			golden.Compare(t, strings.TrimSuffix(file, ".s")+"."+name+".golden", out)
			if !strings.Contains(string(src), ".aeabi_subsection") {
				asmtest.Assemble(t, file+", "+name, out, "aarch64-linux-gnu-as")
			}
		}
	})
}

// FuzzAArch64 checks that any text is either refused or rewritten, the same way twice.
func FuzzAArch64(f *testing.F) {
	asmtest.EachText(f, "testdata/aarch64/*.s", func(_ string, src []byte) { f.Add(src) })
	f.Add([]byte("\t.type f, %function\nf:\n\ttbz w0, 1, .L1\n\tadr x1, .L1\n.L1:\n\t.p2align 4,,11\n\t.word .L1\n\tldp x16\n\tbr\n\tadr\n\tcbz\n"))
	f.Add([]byte("\t.type f, %function\nf:\n.L1:\n\tadr x1, .L1\n\tldrb w1, [x2]\n\tadd\n\t.data\n.L2:\n\t.byte (.L1-.L1)>>2\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		rewriteTwice(t, src, machine.AArch64, []probe.Options{{Mode: prof.ModeBlock}, {Mode: prof.ModeFull, Atomic: true}, {Mode: prof.ModeSpike}, {Mode: prof.ModeStacks}, {Mode: prof.ModeTrace, Timing: probe.Timing{Depth: 2}}})
	})
}
