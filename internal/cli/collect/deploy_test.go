package collect

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/cairnprof/cairn/internal/objectstore"
	"github.com/cairnprof/cairn/internal/verb"
)

const deployDir = "../../../deploy"

// TestManifest checks that the manifest is YAML, and that cairn collect accepts the arguments
// in it.
func TestManifest(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(deployDir, "kubernetes", "collector.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var doc struct {
			Kind string
			Spec struct {
				Template struct {
					Spec struct{ Containers []struct{ Args []string } }
				}
			}
		}
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range doc.Spec.Template.Spec.Containers {
			args = c.Args
		}
	}
	f := Collect(&verb.Streams{Out: io.Discard, Err: io.Discard})
	if err := f.ParseFlags(args); err != nil || len(args) == 0 {
		t.Fatalf("%v: %v", args, err)
	}
	if err := f.Args(f, f.Flags().Args()); err != nil {
		t.Errorf("%v: %v", args, err)
	}
	if _, err := objectstore.Open(f.Flags().Arg(0)); err != nil && !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") { // which is in the secret
		t.Errorf("%v: %v", args, err)
	}
}

// TestUnits checks that systemd accepts the units.
func TestUnits(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	units, err := filepath.Glob(filepath.Join(deployDir, "*.service"))
	if err != nil || len(units) == 0 {
		t.Fatalf("no units: %v", err)
	}
	dir := t.TempDir()
	for _, unit := range units {
		data, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		data = bytes.ReplaceAll(data, []byte("/usr/local/bin/cairn"), []byte("/bin/true"))
		path := filepath.Join(dir, filepath.Base(unit))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", path).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", unit, err, out)
		}
	}
}
