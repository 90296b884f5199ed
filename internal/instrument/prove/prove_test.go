package prove

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	kinds "github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/internal/instrument/native"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/prof"
)

// assemble makes an object of assembly text.
func assemble(t *testing.T, text []byte) *objfile.Relocatable {
	t.Helper()
	return assembleBy(t, text, "as")
}

func assembleBy(t *testing.T, text []byte, argv ...string) *objfile.Relocatable {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.o")
	cmd := exec.Command(argv[0], append(argv[1:], "-o", path)...)
	cmd.Stdin = bytes.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", argv[0], err, out)
	}
	o, err := objfile.OpenRelocatable(path)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// rewrite returns the text with probes.
func rewrite(t *testing.T, text []byte, opts probe.Options) []byte {
	t.Helper()
	u, err := isa.Parse(text, kinds.X86_64)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := native.Rewrite(u, opts)
	return out
}

// modes are those whose probes are checked.
var modes = map[string]probe.Options{
	"cover": {Mode: prof.ModeCover}, "block": {Mode: prof.ModeBlock}, "count": {Mode: prof.ModeCount},
	"full": {Mode: prof.ModeFull}, "atomic": {Mode: prof.ModeFull, Atomic: true}, "order": {Mode: prof.ModeOrder},
	"block+order": {Mode: prof.ModeBlockOrder}, "edge": {Mode: prof.ModeEdge}, "atomic edge": {Mode: prof.ModeEdge, Atomic: true},
	"ring": {Mode: prof.ModeOrder, Slots: 64},
}

func needAssembler(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("as"); err != nil {
		t.Skip("needs binutils")
	}
}

// TestModes checks the code that compilers made of the sources that the rewriter is tested
// with.
func TestModes(t *testing.T) {
	t.Parallel()
	needAssembler(t)
	files, err := filepath.Glob("../native/testdata/*.s")
	if err != nil || len(files) < 5 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".s"), func(t *testing.T) {
			t.Parallel()
			plain := assemble(t, text)
			for name, opts := range modes {
				c := Objects(plain, assemble(t, rewrite(t, text, opts)))
				if len(c.Findings) > 0 || c.Proved == 0 || c.Probes == 0 || c.Instructions == 0 {
					t.Errorf("%s: %+v", name, c)
				}
			}
		})
	}
}

// TestEmptyFunction checks code in which a function without code, which the compiler found to
// be unreachable, is in front of one with a first-call path.
func TestEmptyFunction(t *testing.T) {
	t.Parallel()
	needAssembler(t)
	text := []byte("\t.text\n\t.globl\tg\n\t.p2align\t4\n\t.type\tg,@function\ng:\n\t.cfi_startproc\n.Lfunc_end0:\n" +
		"\t.size\tg, .Lfunc_end0-g\n\t.cfi_endproc\n" +
		"\t.globl\tf\n\t.p2align\t4\n\t.type\tf,@function\nf:\n\t.cfi_startproc\n\txorl\t%eax, %eax\n\tretq\n.Lfunc_end1:\n" +
		"\t.size\tf, .Lfunc_end1-f\n\t.cfi_endproc\n")
	plain := assemble(t, text)
	for name, opts := range modes {
		good := rewrite(t, text, opts)
		if c := Objects(plain, assemble(t, good)); len(c.Findings) > 0 || c.Probes != 1 {
			t.Errorf("%s: %+v", name, c)
		}
		bad := bytes.Replace(good, []byte("\nf:\n"), []byte("\n\tnop\n\tret\nf:\n"), 1)
		if c := Objects(plain, assemble(t, bad)); !c.Different() {
			t.Errorf("%s: an instruction of the empty function is not found", name)
		}
	}
}
