package detourfile

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/detour"
)

const source = `
#include <stdio.h>
__attribute__((noinline)) int work(int n) { for (int i = 0; i < n; i++) printf("%d\n", i); return n; }
__attribute__((noinline)) static int local(int n) { return work(n) + work(n + 1); }
int main(int n, char **v) { return local(n) ? 0 : 1; }
`

func build(t *testing.T, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	path, out := filepath.Join(dir, "x.c"), filepath.Join(dir, "x")
	if err := os.WriteFile(path, []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	if talk, err := exec.Command("gcc", append([]string{"-O2", "-o", out, path}, flags...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, talk)
	}
	return out
}

func read(t *testing.T, path string) (*detour.Module, error) {
	t.Helper()
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return Read(f)
}

// TestRefused has programs into which no library is loaded, or that cannot be hooked.
func TestRefused(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		path string
		err  error
	}{
		"static":  {build(t, "-static"), ErrStatic},
		"library": {build(t, "-shared", "-fPIC"), ErrStatic},
		"self":    {self, ErrGo},
	} {
		// A Go program is either, as it needs the C library or not.
		if _, err := read(t, want.path); !errors.Is(err, want.err) && (name != "self" || !errors.Is(err, ErrStatic)) {
			t.Errorf("%s: %v, want %v", name, err, want.err)
		}
	}
}

// TestStripped checks that the same functions are hooked in a program without symbols.
func TestStripped(t *testing.T) {
	t.Parallel()
	sites := func(flags ...string) (at []uint64, names int) {
		m, err := read(t, build(t, flags...))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range detour.Make(m, detour.Options{}).Sites {
			at = append(at, s.At)
			if s.Name != "" {
				names++
			}
		}
		return at, names
	}
	for _, flags := range [][]string{{}, {"-no-pie"}, {"-fcf-protection"}} {
		named, names := sites(flags...)
		stripped, none := sites(append(flags, "-s")...)
		if !slices.Equal(named, stripped) || len(named) < 2 || names != len(named) || none != 0 {
			t.Errorf("%v: %x, stripped %x; %d and %d names", flags, named, stripped, names, none)
		}
	}
}
