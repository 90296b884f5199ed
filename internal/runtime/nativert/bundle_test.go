package nativert

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cairnprof/cairn/format/bundle"
)

// cairn_bundle of cairn.h writes what package bundle reads, in C and in C++, and leaves out files
// of processes that run.
func TestBundle(t *testing.T) {
	t.Parallel()
	const program = `
#define CAIRN_BUNDLE
#include "cairn.h"
int main(int argc, char **argv) {
  size_t size = 0;
  void *data = cairn_bundle(argv[1], (size_t)atoi(argv[2]), &size);
  if (!data) return 3;
  fwrite(data, 1, size, stdout);
  if (argc > 3) cairn_bundle_remove(argv[1], data, size);
  free(data);
  return 0;
}`
	for _, compiler := range []struct{ name, language string }{{"gcc", "c"}, {"g++", "c++"}} {
		t.Run(compiler.name, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(compiler.name)
			if err != nil {
				t.Skip(compiler.name + " is not installed")
			}
			dir := t.TempDir()
			binary, raws := filepath.Join(dir, "app"), filepath.Join(dir, "raws")
			write(t, filepath.Join(dir, "cairn.h"), Header())
			write(t, filepath.Join(dir, "app.c"), []byte(program))
			build := exec.CommandContext(t.Context(), path, "-Wall", "-Wextra", "-Werror", "-x", compiler.language, "-o", binary, filepath.Join(dir, "app.c"))
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if err := os.Mkdir(raws, 0o700); err != nil {
				t.Fatal(err)
			}
			const gone = 1 << 30 // more than there are processes
			want := map[string][]byte{}
			for i := range 5 {
				name := fmt.Sprintf("my.app.abcd.%d.%d.mipraw", gone, i)
				if i == 4 {
					name = fmt.Sprintf("my.app.abcd.%d.0.cairnlog", gone)
				}
				want[name] = bytes.Repeat([]byte{byte(i)}, 1000*i)
				write(t, filepath.Join(raws, name), want[name])
			}
			for _, name := range []string{fmt.Sprintf("app.abcd.%d.0.mipraw", os.Getpid()), "app.mip", ".mipraw", "x.mipraw", "a.b.c.mipraw.sent"} {
				write(t, filepath.Join(raws, name), []byte("not complete"))
			}
			for limit, most := range map[string]int{"1000000": len(want), "5100": len(want) - 1} {
				if got := readBundle(t, run(t, binary, raws, limit)); len(got) == 0 || len(got) > most {
					t.Errorf("limit %s: %d files", limit, len(got))
				}
			}
			got := readBundle(t, run(t, binary, raws, "1000000", "remove"))
			for name, data := range want {
				if !bytes.Equal(got[name], data) {
					t.Errorf("%s has %d bytes, want %d", name, len(got[name]), len(data))
				}
			}
			if left, err := os.ReadDir(raws); err != nil || len(got) != len(want) || len(left) != 5 {
				t.Errorf("%d files in the bundle, %d left: %v", len(got), len(left), err)
			}
			if err := exec.CommandContext(t.Context(), binary, raws, "1000000").Run(); err == nil {
				t.Error("there is a bundle of nothing")
			}
		})
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readBundle(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	r := bundle.NewReader(bytes.NewReader(data), bundle.Limits{Files: 100, File: 1 << 20, Total: 1 << 20})
	for {
		f, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = f.Data
	}
}
