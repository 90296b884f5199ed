package objfile

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestFunctionPlacement compiles functions together and apart.
func TestFunctionPlacement(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "a.c")
	for _, tc := range []struct {
		code, flag string
		want       Placement
	}{
		{"int f(int n) { return n; } int g(int n) { return -n; }", "-O2", InOneSection},
		{"int f(int n) { return n; } int g(int n) { return -n; }", "-ffunction-sections", InSections},
		{"int f(int n) { return n; } int main(void) { return 0; }", "-O2", NoFunctions},
		{"int n;", "-O2", NoFunctions},
		{"int f(int n) { return n; } int g(int n) { return -n; }", "-flto", InSections},
	} {
		if err := os.WriteFile(source, []byte(tc.code), 0o600); err != nil {
			t.Fatal(err)
		}
		object := filepath.Join(dir, "a.o")
		if out, err := exec.Command("gcc", tc.flag, "-c", "-o", object, source).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		err := EachLinkInput(object, func(_ bool, _ string, r *io.SectionReader) error {
			got, err := FunctionPlacement(r)
			if got != tc.want {
				t.Errorf("%s: %s: got %d, want %d", tc.flag, tc.code, got, tc.want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
