package objfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCallSites counts the calls of hooks in programs of three functions, however
// the compiler and the linker make such calls.
func TestCallSites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source := filepath.Join(dir, "a.c")
	const text = "#define OWN __attribute__((noinline, noclone))\nOWN int f(int i) { return i * 3; }\nOWN int g(int i) { return f(i) + 1; }\nint main(int n, char **v) { return g(n) - 4; }\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ command, name string }{
		{"gcc -O1 -pg -mfentry", "__fentry__"},
		{"gcc -O1 -pg -mfentry -fcf-protection=full -Wl,-z,now", "__fentry__"},
		{"gcc -O1 -pg -no-pie -fno-pie", "mcount"},
		{"gcc -O1 -pg -fno-plt", "mcount"},
		{"gcc -O1 -finstrument-functions", "__cyg_profile_func_enter"},
		{"gcc -O1 -finstrument-functions -fno-plt -fuse-ld=gold", "__cyg_profile_func_enter"},
		{"clang-22 -O1 -pg -mfentry -fuse-ld=lld", "__fentry__"},
		{"clang-22 -O1 -finstrument-functions -fuse-ld=lld -Wl,-z,now", "__cyg_profile_func_enter"},
		{"aarch64-linux-gnu-gcc -O1 -pg", "_mcount"},
		{"aarch64-linux-gnu-gcc -O1 -pg -mbranch-protection=standard -Wl,-z,now", "_mcount"},
		{"aarch64-linux-gnu-gcc -O1 -finstrument-functions -fno-plt", "__cyg_profile_func_enter"},
		{"clang-22 --target=aarch64-linux-gnu -O1 -finstrument-functions -fuse-ld=lld -mbranch-protection=standard", "__cyg_profile_func_enter"},
	} {
		argv := append(strings.Fields(c.command), "-o", filepath.Join(dir, "program"+string(rune('a'+i))), source)
		if missing(argv) {
			continue
		}
		if out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", c.command, err, out)
			continue
		}
		f, err := Open(argv[len(argv)-2])
		if err != nil {
			t.Fatal(err)
		}
		calls, err := f.CallSites("__fentry__", "mcount", "_mcount", "__cyg_profile_func_enter")
		if err != nil || len(calls) != 1 || calls[c.name] != 3 {
			t.Errorf("%s: %v, %v; want 3 of %s", c.command, calls, err, c.name)
		}
		loader := "ld-linux-x86-64"
		if strings.Contains(c.command, "aarch64") {
			loader = "ld-linux-aarch64"
		}
		if !strings.Contains(f.Interpreter(), loader) {
			t.Errorf("%s: its loader is %q", c.command, f.Interpreter())
		}
		f.Close()
	}
}
