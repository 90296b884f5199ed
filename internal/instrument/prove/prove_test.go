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
	"github.com/cairnprof/cairn/internal/instrument/native"
	"github.com/cairnprof/cairn/prof"
)

// assemble makes an object of assembly text.
func assemble(t *testing.T, text []byte) *objfile.Relocatable {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.o")
	cmd := exec.Command("as", "-o", path)
	cmd.Stdin = bytes.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("as: %v\n%s", err, out)
	}
	o, err := objfile.OpenRelocatable(path)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// rewrite returns the text with probes.
func rewrite(t *testing.T, text []byte, opts native.Options) []byte {
	t.Helper()
	u, err := native.Parse(text, kinds.X86_64)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := native.Rewrite(u, opts)
	return out
}

// modes are those whose probes are judged.
var modes = map[string]native.Options{
	"cover": {Mode: prof.ModeCover}, "block": {Mode: prof.ModeBlock}, "count": {Mode: prof.ModeCount},
	"full": {Mode: prof.ModeFull}, "atomic": {Mode: prof.ModeFull, Atomic: true}, "order": {Mode: prof.ModeOrder},
	"block+order": {Mode: prof.ModeBlockOrder}, "ring": {Mode: prof.ModeOrder, Slots: 64},
}

func needAssembler(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("as"); err != nil {
		t.Skip("needs binutils")
	}
}

// TestModes proves what compilers made of the sources that the rewriter is tested with.
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
