package objfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
)

// TestUnwindTable compiles a program with .eh_frame, and with .debug_frame alone: the rules of a
// function must be the same.
func TestUnwindTable(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "a.c")
	const code = `
extern int puts(const char *);
__attribute__((noinline)) int work(int n) { char v[n + 40]; puts(v); int s = 0; for (int i = 0; i < n; i++) s += puts(v + i) * v[i]; return s; }
int main(int n, char **v) { return work(n); }
`
	if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	rows := func(name string, flags ...string) []ehframe.Row {
		out := filepath.Join(dir, name)
		args := append([]string{"-O2", "-g", "-Wl,--build-id=0xabcdef0123", "-o", out}, flags...)
		if text, err := exec.Command("gcc", append(args, source)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		f, err := Open(out)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		symbols, err := f.FuncSymbols()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(symbols, func(s Symbol) bool { return s.Name == "work" })
		all, segments, ok := UnwindTable(out, "abcdef0123")
		if !ok || len(segments) == 0 {
			t.Fatalf("%s: no table", name)
		}
		if _, _, ok := UnwindTable(out, "abcdef0124"); ok {
			t.Errorf("%s: the table of another build", name)
		}
		var got []ehframe.Row
		for _, r := range all {
			if r.PC -= symbols[i].Addr; r.PC < symbols[i].Size {
				got = append(got, r)
			}
		}
		return got
	}
	want := rows("with")
	if got := rows("without", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"); len(want) < 4 || !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := rows("version4", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-gdwarf-4"); !slices.Equal(got, want) {
		t.Errorf("DWARF 4: %+v", got)
	}
}
