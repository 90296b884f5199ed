package objfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestRemainingSymbols strips a library, and compares what is left with its symbols: each
// function has its start and, if it is exported, its name.
func TestRemainingSymbols(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "a.c")
	const code = `
extern int puts(const char *);
__attribute__((noinline)) static int hidden(int n) { puts("x"); return n * 3; }
__attribute__((noinline)) static int leaf(int n) { return n * n + 7; }
__attribute__((cold, noinline)) static int rare(int n) { puts("y"); return n - 1; }
int shown(int n) { if (__builtin_expect(n > 100, 0)) return rare(n); return hidden(n) + leaf(n + 1); }
int other(int n) { return shown(n) + leaf(n); }
__asm__(".globl sizeless\n.type sizeless, @function\nsizeless: .cfi_startproc\nnop\nnop\nret\n.cfi_endproc\n");
`
	if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	full, stripped := filepath.Join(dir, "full.so"), filepath.Join(dir, "stripped.so")
	for _, args := range [][]string{{"gcc", "-O2", "-fPIC", "-shared", "-o", full, source}, {"strip", "-o", stripped, full}} {
		if text, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	f, err := Open(full)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, err := f.FuncSymbols()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(stripped)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	left, err := s.RemainingSymbols()
	if err != nil {
		t.Fatal(err)
	}
	got := map[uint64]TableSymbol{}
	for _, x := range left.Symbols {
		got[x.Addr] = x
	}
	exported := map[string]bool{"shown": true, "other": true, "sizeless": true}
	named, unnamed := 0, 0
	for _, w := range want {
		g := got[w.Addr]
		switch {
		case w.Size == 0 && w.Name != "sizeless":
			continue // of the startup code, without an unwind table
		case exported[w.Name]:
			named++
			if g.Name != w.Name || g.Name == "sizeless" && g.Size != 3 {
				t.Errorf("%+v is %+v", w, g)
			}
		default:
			unnamed++
			if g.Name != UnnamedFunction("stripped.so", w.Addr) || g.Size != w.Size || !g.Func {
				t.Errorf("%+v is %+v", w, g)
			}
		}
	}
	if named != 3 || unnamed < 3 || left.Named != named || left.Unnamed != unnamed {
		t.Errorf("%d named, %d unnamed; reported %d, %d", named, unnamed, left.Named, left.Unnamed)
	}
}
