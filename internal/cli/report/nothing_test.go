package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNothing checks that a run without records is not put down to missing probes if there was no room for records, as on a
// full disk.
func TestNothing(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	here := t.TempDir()
	for dir, want := range map[string]string{
		filepath.Join(here, "gone"): "gone cannot be written to: ",
		here:                        "no program that it ran has probes",
	} {
		f := &runFlags{dir: dir}
		if err := f.nothing(self); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", dir, err, want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is left", dir)
		}
	}
}
