package objfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// crossClang is clang for AArch64, with the libraries of the cross compiler of gcc.
func crossClang(flags ...string) []string {
	return append([]string{"clang-22", "--target=aarch64-linux-gnu"}, flags...)
}

// missing reports whether a compiler, or what it needs for another machine, is not installed.
func missing(command []string) bool {
	if _, err := exec.LookPath(command[0]); err != nil {
		return true
	}
	_, err := exec.LookPath("aarch64-linux-gnu-g++")
	return err != nil && slices.Contains(command, "--target=aarch64-linux-gnu")
}

func needs(t *testing.T, command []string) {
	t.Helper()
	if missing(command) {
		t.Skip("tools")
	}
}

const crossSource = `#include <stdexcept>
#include <string>
#include <vector>
#include <algorithm>
static int twice(int n) { return n * 2; }
__attribute__((noinline)) int thrower(int n) { if (n > 3) throw std::runtime_error(std::to_string(n)); return twice(n); }
int catcher(int n) {
	try { return thrower(n); }
	catch (const std::exception &e) { return (int)std::string(e.what()).size(); }
}
int main(int argc, char **argv)
{
	std::vector<int> v;
	for (int i = 0; i < 8 * argc; i++) v.push_back(catcher(i));
	std::sort(v.begin(), v.end());
	return v[0];
}
`

// TestAArch64 reads C++ programs for AArch64 as cross compilers make them.
func TestAArch64(t *testing.T) {
	t.Parallel()
	for _, command := range shorttest.Rows(
		1,
		[]string{"clang++-22", "--target=aarch64-linux-gnu", "-O2", "-fuse-ld=lld", "-mbranch-protection=standard"},
		[]string{"aarch64-linux-gnu-g++", "-O2"},
		[]string{"aarch64-linux-gnu-g++", "-O2", "-static", "-mbranch-protection=standard"},
		[]string{"aarch64-linux-gnu-g++", "-O2", "-static-pie", "-gdwarf-4"},
	) {
		t.Run(strings.Join(command, " "), func(t *testing.T) {
			t.Parallel()
			needs(t, command)
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "app.cc"), []byte(crossSource), 0o644); err != nil {
				t.Fatal(err)
			}
			run(t, dir, command[0], append(command[1:], "-g", "-Wl,--build-id", "-o", "app", "app.cc")...)
			bin := filepath.Join(dir, "app")
			agreesWithNm(t, bin)
			f := open(t, bin)
			if f.Machine() != machine.AArch64 {
				t.Errorf("it is for %v", f.Machine())
			}
			p, err := f.Program()
			if err != nil {
				t.Fatal(err)
			}
			if p.Machine != machine.AArch64 || len(p.Unwind.Rows()) < 10 || len(p.Ranges) < 3 {
				t.Errorf("%v, %d rows, %d ranges", p.Machine, len(p.Unwind.Rows()), len(p.Ranges))
			}
			mapped := 0
			for i := range p.Symbols {
				if s := &p.Symbols[i]; s.Maps() {
					mapped++
				} else if strings.HasPrefix(s.Name, "$") && s.Name != "$x" {
					t.Errorf("%s is no mapping symbol", s.Name)
				}
			}
			if mapped < 4 {
				t.Errorf("%d mapping symbols", mapped)
			}
			sameAsSymbolizer(t, bin, p)
		})
	}
}

// sameAsSymbolizer compares the functions and lines of the program's own code with
// llvm-symbolizer's.
func sameAsSymbolizer(t *testing.T, bin string, p *Program) {
	t.Helper()
	symbolizer, err := exec.LookPath("llvm-symbolizer-22")
	if err != nil {
		return
	}
	compared, inlined, _ := compareFrames(t, symbolizer, bin, "main", "_Z7throweri", "_Z7catcheri")
	if compared < 30 || inlined < 5 {
		t.Errorf("%d addresses compared, %d of inlined code", compared, inlined)
	}
}
