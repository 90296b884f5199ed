package goruntime

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/prof"
)

// TestVet runs vet on package runtime with what the modes add, and shows what it finds in that. Staticcheck reads
// no overlays.
func TestVet(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	installed := roots(t)
	root, release := installed[len(installed)-1], runtime.Version()
	if _, err := os.Stat(filepath.Join(root, "src", "runtime")); err != nil {
		t.Skip(err)
	}
	target := Target{Version: release, GOOS: runtime.GOOS, GOARCH: runtime.GOARCH}
	if target.Check() != nil {
		t.Skip("programs for this machine are not instrumented")
	}
	for _, mode := range []prof.Mode{prof.ModeCount, prof.ModeCover, prof.ModeSpike} {
		cmd := exec.Command("go", "vet", "-overlay="+writeOverlay(t, root, target, mode), "-unsafeptr=false", "runtime")
		out, err := cmd.CombinedOutput()
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "cairn_") {
				t.Errorf("mode %s: %s", mode, line)
			}
		}
		if err != nil && !strings.Contains(string(out), ".go:") {
			t.Errorf("mode %s: %v\n%s", mode, err, out)
		}
	}
}

// writeOverlay writes what a mode edits and adds, and returns the file that tells the go command to use it.
func writeOverlay(t *testing.T, root string, target Target, mode prof.Mode) string {
	t.Helper()
	sources, err := Files(target, mode)
	if err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(root, "src", "runtime")
	for _, name := range target.Edited(mode) {
		text, err := os.ReadFile(filepath.Join(src, name))
		if err != nil {
			t.Fatal(err)
		}
		if sources[name], err = target.Edit(mode, name, filepath.Join(src, name), text); err != nil {
			t.Fatal(err)
		}
	}
	dir, replace := t.TempDir(), map[string]string{}
	for name, text := range sources {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(src, name)] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}
