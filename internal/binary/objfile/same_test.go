package objfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestSame(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "a.c")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	build := func(name string, flags ...string) string {
		out := filepath.Join(dir, name)
		if text, err := exec.Command("gcc", append(flags, "-o", out, source)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return out
	}
	with, stripped := build("with", "-Wl,--build-id=0xabcdef0123"), build("stripped", "-s", "-Wl,--build-id=0xabcdef0123")
	other := build("other", "-Wl,--build-id=0xabcdef0124")
	plain, again := build("plain", "-Wl,--build-id=none"), build("again", "-Wl,--build-id=none")
	less := build("less", "-O2", "-s", "-Wl,--build-id=none")
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{with, with, true},
		{with, stripped, true},
		{with, other, false},
		{with, plain, false},
		{plain, with, false},
		{plain, again, true},
		{plain, less, false},
		{plain, source, false},
		{dir, with, false},
		{with, filepath.Join(dir, "none"), false},
	} {
		x, ok1 := Identify(c.a)
		y, ok2 := Identify(c.b)
		if got := ok1 && ok2 && x.Same(&y); got != c.want {
			t.Errorf("%s and %s: %v", filepath.Base(c.a), filepath.Base(c.b), got)
		}
	}
}
