package objfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

const pointingSource = `
static int a(void) { return 1; }
static int b(void) { return 2; }
int (*table[])(void) = {a, b, a};
int exported(int i) { return table[i](); }
int main(int argc, char **argv) { return exported(argc); }
`

// TestProgramPointers finds pointers to functions in data, however they are
// relocated.
func TestProgramPointers(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"at a fixed address": {"gcc", "-no-pie"},
		"anywhere":           {"gcc", "-fPIE", "-pie"},
		"shared":             {"gcc", "-fPIC", "-shared"},
		"aarch64":            {"aarch64-linux-gnu-gcc", "-fPIE", "-pie"},
		"aarch64 fixed":      {"aarch64-linux-gnu-gcc", "-no-pie", "-fno-pie"},
		"aarch64 packed":     crossClang("-fPIE", "-pie", "-fuse-ld=lld-22", "-Wl,--pack-dyn-relocs=relr"),
		"packed relocations": {"clang-22", "-fPIE", "-pie", "-fuse-ld=lld-22", "-Wl,--pack-dyn-relocs=relr"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, command)
			dir := t.TempDir()
			source, program := filepath.Join(dir, "pointing.c"), filepath.Join(dir, "pointing")
			if err := os.WriteFile(source, []byte(pointingSource), 0o600); err != nil {
				t.Fatal(err)
			}
			args := append(slices.Clone(command[1:]), "-O1", "-fno-inline", "-o", program, source)
			if out, err := exec.CommandContext(t.Context(), command[0], args...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			p, err := open(t, program).Program()
			if err != nil {
				t.Fatal(err)
			}
			at := map[string]uint64{}
			for _, s := range p.Symbols {
				at[s.Name] = s.Addr
			}
			var got []Pointer
			for _, x := range p.Pointers {
				if x.At-at["table"] < 24 {
					got = append(got, x)
				}
			}
			want := []Pointer{{at["table"], at["a"]}, {at["table"] + 8, at["b"]}, {at["table"] + 16, at["a"]}}
			if !slices.Equal(got, want) {
				t.Errorf("%#x, want %#x", got, want)
			}
			if exports := slices.Contains(p.Exports, at["exported"]); exports != (name == "shared") {
				t.Errorf("exported: %v", exports)
			}
		})
	}
}
