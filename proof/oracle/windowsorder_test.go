//go:build linux && amd64

package oracle

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/proof/tailguests"
)

// TestWindowsOrder builds programs for Windows by a profile of mode order: they answer as before, and their functions are where the
// order says, of which pages need fewer.
func TestWindowsOrder(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	w := newWindows(t)
	script := filepath.Join(t.TempDir(), "a.lua")
	if err := os.WriteFile(script, []byte(windowsScript), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, lua := fetchGuest(t, &tailguests.Guest{Name: "lua5.4", Debian: "lua5.4"})
	sources := slices.DeleteFunc(mustGlob(t, filepath.Join(lua, "src", "l*.c")), func(path string) bool { return filepath.Base(path) == "luac.c" })
	cxx := mustGlob(t, filepath.Join("testdata", "windowsspikes", "stalls.cc"))
	clang := []string{"--target=x86_64-w64-windows-gnu", "-fuse-ld=lld", "-Wno-unused-command-line-argument", "-pthread"}
	for _, c := range []struct {
		name     string
		compiler []string
		sources  []string
		args     []string
		section  string // that begins with the first function
	}{
		{"gcc", []string{mingw + "gcc", "-w"}, sources, []string{script}, ".texto"},
		{"clang", append([]string{"clang-22", "-w"}, clang...), sources, []string{script}, ".text"},
		{"exceptions", []string{mingw + "g++"}, cxx, nil, ".texto"},
		{"exceptions-clang", append([]string{"clang++-22"}, clang...), cxx, nil, ".text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.compiler[0]); err != nil {
				t.Skip(err)
			}
			if testing.Short() && c.name == "clang" {
				t.Skip("it takes long; make long runs it") // Lua is compiled twice; gcc has it, and clang the exceptions
			}
			dir := t.TempDir()
			build := func(name string, flags ...string) string {
				program := filepath.Join(dir, name)
				output(t, command(t, cairn, slices.Concat([]string{"cc"}, flags, c.compiler, []string{"-O2", "-g", "-static", "-o", program}, c.sources)...))
				return program
			}
			recorded := build("recorded.exe", "--mode", "order")
			raws, profile := filepath.Join(dir, "raws"), filepath.Join(dir, "run.mip")
			want, code := w.run(t, raws, recorded, c.args...)
			output(t, command(t, cairn, "merge", "-o", profile, recorded, raws))
			ordered := build("ordered.exe", "--use", profile)
			if got, gotCode := w.run(t, "", ordered, c.args...); got != want || gotCode != code {
				t.Errorf("it answers %q and exit code %d, want %q and %d", got, gotCode, want, code)
			}
			checkPlaces(t, ordered, c.section, strings.Fields(output(t, command(t, cairn, "order", profile, "-o", "-"))))
		})
	}
}

// TestWindowsMSVCOrder is TestWindowsOrder for MSVC's system, by clang and lld-link.
func TestWindowsMSVCOrder(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	needMSVC(t)
	w := newWindows(t)
	dir := t.TempDir()
	flags := []string{"-O2", "-Wl,-debug:symtab"}
	raws, profile := filepath.Join(dir, "raws"), filepath.Join(dir, "run.mip")
	recorded := msvcCalls(t, []string{cairn, "cc", "--strict", "--mode", "order"}, flags...)
	want, code := w.run(t, raws, recorded)
	output(t, command(t, cairn, "merge", "-o", profile, recorded, raws))
	ordered := msvcCalls(t, []string{cairn, "cc", "--use", profile}, flags...)
	if got, gotCode := w.run(t, "", ordered); got != want || gotCode != code {
		t.Errorf("it answers %q and exit code %d, want %q and %d", got, gotCode, want, code)
	}
	checkPlaces(t, ordered, ".text", strings.Fields(output(t, command(t, cairn, "order", profile, "-o", "-"))))
}

// checkPlaces wants functions at the start of a section, in their order.
func checkPlaces(t *testing.T, program, section string, want []string) {
	t.Helper()
	f, err := objfile.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, start, _, ok, err := f.Section(section)
	if err != nil || !ok {
		t.Fatalf("no section %s: %v", section, err)
	}
	symbols, err := f.LinkSymbols()
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]uint64{}
	for _, s := range symbols {
		if s.Addr >= start {
			places[s.Name] = s.Addr
		}
	}
	at, last, found := start, "", 0
	for _, name := range want {
		place, ok := places[name]
		if !ok {
			continue // inlined, in this build
		}
		if found == 0 && place != start {
			t.Errorf("%s, the first, is at %#x, and %s begins at %#x", name, place, section, start)
		}
		if place < at {
			t.Errorf("%s is at %#x, in front of %s at %#x", name, place, last, at)
		}
		at, last = place, name
		found++
	}
	if found < 8 || found < len(want)*3/4 {
		t.Errorf("%d of %d functions found", found, len(want))
	}
}
