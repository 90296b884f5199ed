package toolchain

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLocalNames compares the local symbols of objects with those that nm prints in small letters.
func TestLocalNames(t *testing.T) {
	t.Parallel()
	const source = `
static int zeroed, initialized = 3;
static const char text[] = "constant";
static _Thread_local int own;
int public_one;
extern int elsewhere;
__attribute__((weak)) int weak_one(void) { return 1; }
__attribute__((noinline)) static int put(int x) { own += x; return x + zeroed++ + initialized++ + text[x & 7] + elsewhere; }
int cairn_public(int x) { switch (x) { case 1: return put(3); case 2: return put(5); case 3: return 7; case 4: return put(1); } return public_one; }
__asm__(".set absolute, 42\n.Lhidden: .byte 0\nplain: .byte 0");
`
	for _, compiler := range []string{"gcc", "clang-22", "aarch64-linux-gnu-gcc", "arm-linux-gnueabihf-gcc"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(compiler); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			file, object := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.o")
			if err := os.WriteFile(file, []byte(source), 0o666); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(compiler, "-O1", "-c", "-o", object, file).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			nm := strings.TrimSuffix(compiler, "gcc") + "nm"
			if !strings.HasSuffix(compiler, "gcc") {
				nm = "nm"
			}
			out, err := exec.Command(nm, "-P", "--defined-only", object).Output()
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for line := range strings.Lines(string(out)) {
				if f := strings.Fields(line); len(f[1]) == 1 && strings.Contains("abdgprst", f[1]) {
					want = append(want, f[0])
				}
			}
			got, err := localNames(object)
			if err != nil {
				t.Fatal(err)
			}
			got = slices.DeleteFunc(got, func(name string) bool { return strings.HasPrefix(name, ".") })
			want = slices.DeleteFunc(want, func(name string) bool { return strings.HasPrefix(name, ".") })
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Contains(want, "put") || !slices.Equal(got, want) {
				t.Errorf("local symbols %q; nm prints %q", got, want)
			}
		})
	}
}
