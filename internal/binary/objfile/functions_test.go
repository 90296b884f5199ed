package objfile

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/prof"
)

const aliases = `#include <stdlib.h>
static __attribute__((noinline)) int hidden(int x) { return x * 3 + 1; }
__attribute__((noinline)) int long_name(int x) { return hidden(x) + 2; }
int short_(int x) __attribute__((alias("long_name")));
int a(int x) __attribute__((weak, alias("long_name")));
__attribute__((cold, noinline)) void fail(void) { abort(); }
int split(int x) { if (__builtin_expect(x == 77, 0)) { hidden(x); fail(); hidden(x + 1); } return hidden(x); }
__asm__(".text\n.type bare,@function\n.globl bare\nbare: ret\n nop\n nop\n.type next,@function\n.globl next\nnext: ret\n.size next,1\n");
int main(int argc, char **argv) { return short_(argc) + a(argc) + split(argc); }
`

func buildAliases(t *testing.T, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "aliases.c"), []byte(aliases), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "gcc", append([]string{"-O2", "-Wl,--build-id", "-o", "app", "aliases.c"}, flags...)...)
	return filepath.Join(dir, "app")
}

func functionMap(t *testing.T, path string) *prof.Map {
	t.Helper()
	m, err := open(t, path).FunctionMap()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestFunctionMapAgreesWithNm compares the addresses with those that nm lists as code.
func TestFunctionMapAgreesWithNm(t *testing.T) {
	t.Parallel()
	t.Run("x86-64", func(t *testing.T) { agreesWithNm(t, buildAliases(t)) })
	t.Run("aarch64", func(t *testing.T) {
		needs(t, crossClang())
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "aliases.c"), []byte(aliases), 0o644); err != nil {
			t.Fatal(err)
		}
		run(t, dir, "aarch64-linux-gnu-gcc", "-O2", "-Wl,--build-id", "-o", "app", "aliases.c")
		agreesWithNm(t, filepath.Join(dir, "app"))
	})
}

func agreesWithNm(t *testing.T, bin string) {
	t.Helper()
	m := functionMap(t, bin)
	out, err := exec.Command("readelf", "-sW", bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := map[uint64]map[string]bool{}
	symtab := string(out)[strings.Index(string(out), "'.symtab'"):]
	for line := range strings.Lines(symtab) {
		f := strings.Fields(line)
		if len(f) != 8 || f[3] != "FUNC" && f[3] != "IFUNC" || f[6] == "UND" {
			continue
		}
		addr, err := strconv.ParseUint(f[1], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if open(t, bin).Machine() == machine.Arm {
			addr &^= 1 // the Thumb state
		}
		if want[addr] == nil {
			want[addr] = map[string]bool{}
		}
		want[addr][f[7]] = true
	}
	for i := range m.Funcs {
		f := &m.Funcs[i]
		if !want[f.Addr()][f.Name] {
			t.Errorf("%s at %#x: readelf has %v there", f.Name, f.Addr(), want[f.Addr()])
		}
		if f.Size() == 0 || f.Record != uint64(i) || f.Mode != prof.ModeOrder || i > 0 && f.Addr() <= m.Funcs[i-1].Addr() {
			t.Errorf("function %d: %+v", i, f)
		}
		delete(want, f.Addr())
	}
	if len(want) != 0 || m.RawSize != uint64(len(m.Funcs)) || m.Module != "app" || len(m.BuildID) != 20 {
		t.Errorf("missing %v; raw size %d, module %s, build id %s", want, m.RawSize, m.Module, m.BuildID)
	}
}

func TestFunctionMapNames(t *testing.T) {
	t.Parallel()
	got := map[string]*prof.Func{}
	m := functionMap(t, buildAliases(t))
	for i := range m.Funcs {
		f := &m.Funcs[i]
		got[f.Name] = f
	}
	for _, name := range []string{"main", "short_", "hidden", "split", "bare", "next", "fail", "_start"} {
		if got[name] == nil {
			t.Errorf("no %s", name)
		}
	}
	for _, name := range []string{"long_name", "a", "puts", "abort"} {
		if got[name] != nil {
			t.Errorf("%s should not be there", name)
		}
	}
	if f := got["hidden"]; f != nil && f.File != "aliases.c" {
		t.Errorf("hidden is of %q", f.File)
	}
	if b, n := got["bare"], got["next"]; b != nil && n != nil && (b.Size() != 3 || n.Size() != 1 || n.Addr() != b.Addr()+3) {
		t.Errorf("bare has %d bytes, next %d", b.Size(), n.Size())
	}
	if got["split.cold"] == nil || got["split.cold"].Addr() == got["split"].Addr() {
		t.Error("split.cold is not a function of its own")
	}
}

// TestFunctionMapWhereSymbolsAre checks that the symbols of a stripped program come from its
// debug file, and those of a stripped library from .dynsym.
func TestFunctionMapWhereSymbolsAre(t *testing.T) {
	t.Parallel()
	bin := buildAliases(t, "-g")
	dir := filepath.Dir(bin)
	want := functionMap(t, bin)
	run(t, dir, "objcopy", "--only-keep-debug", "app", "app.debug")
	run(t, dir, "objcopy", "--strip-all", "--add-gnu-debuglink=app.debug", "app", "stripped")
	got := functionMap(t, filepath.Join(dir, "stripped"))
	got.Module = want.Module
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Error("the map of the stripped program differs from that of the whole one")
	}
	run(t, dir, "strip", "-o", "bare", "app")
	if _, err := open(t, filepath.Join(dir, "bare")).FunctionMap(); !errors.Is(err, ErrNoFunctions) {
		t.Errorf("stripped: %v", err)
	}
	lib := buildAliases(t, "-shared", "-fPIC", "-s")
	names := ""
	for _, f := range functionMap(t, lib).Funcs {
		names += f.Name + " "
	}
	if !strings.Contains(names, "short_ ") || strings.Contains(names, "hidden") {
		t.Errorf("stripped library: %s", names)
	}
	if _, err := open(t, buildAliases(t, "-Wl,--build-id=none")).FunctionMap(); !errors.Is(err, ErrNoBuildID) {
		t.Errorf("no build id: %v", err)
	}
}
