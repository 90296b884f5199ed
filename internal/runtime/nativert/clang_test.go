package nativert

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/probe"
)

// TestClangUnits compiles each unit of the runtime by clang: what gcc only warns of, such as a function that is
// used and not declared, is an error there.
func TestClangUnits(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long; make long runs it")
	}
	t.Parallel()
	clang := ""
	for _, name := range []string{"clang-22", "clang"} {
		if path, err := exec.LookPath(name); err == nil {
			clang = path
			break
		}
	}
	if clang == "" {
		t.Skip("needs clang")
	}
	dir := t.TempDir()
	for _, f := range Sources() {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, set := range []struct {
		name    string
		objects []Object
		flags   []string
	}{
		{"counts", objects(X86_64), Flags(X86_64)},
		{"timed", TimedObjects(X86_64, probe.Options{}), TimedFlags(X86_64)},
		{"preloaded", LibraryObjects(), TimedFlags(X86_64)},
		{"attached", AttachObjects(), AttachFlags},
	} {
		if len(set.objects) == 0 {
			t.Errorf("%s: no objects", set.name)
		}
		for _, o := range set.objects {
			out, err := exec.Command(clang, slices.Concat([]string{"-Os", "-fsyntax-only", "-I" + dir}, set.flags, inDir(dir, o.Args))...).CombinedOutput()
			if err != nil {
				t.Errorf("%s: %s: %v\n%s", set.name, o.Name, err, out)
			}
		}
	}
}

// inDir returns arguments with the names of sources as paths.
func inDir(dir string, args []string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		if ext := filepath.Ext(a); ext == ".c" || ext == ".S" {
			args[i] = filepath.Join(dir, a)
		}
	}
	return args
}
