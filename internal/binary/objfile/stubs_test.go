package objfile

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

const stubSource = `#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	int (*volatile keep)(const char *) = puts; // which gives it a word of its own
	char *p = malloc(argc + 8);
	memcpy(p, argv[0], argc);
	keep(p);
	puts(getenv("HOME"));
	free(p);
	return 0;
}
`

var stubLabel = regexp.MustCompile(`(?m)^([0-9a-f]+) <([^>]+)@plt>:$`)

// TestStubs compares the names of stubs with objdump's, in the layouts that linkers have.
func TestStubs(t *testing.T) {
	t.Parallel()
	cross := crossClang("-fuse-ld=lld")
	for _, command := range shorttest.Rows(
		2,
		[]string{"gcc", "-O1"},
		[]string{"aarch64-linux-gnu-gcc", "-O1"},
		[]string{"gcc", "-O1", "-fcf-protection=full", "-Wl,-z,ibtplt", "-Wl,-z,lazy"},
		[]string{"gcc", "-O1", "-no-pie", "-fno-pie", "-Wl,-z,lazy", "-Wl,-z,noibtplt"},
		[]string{"gcc", "-O1", "-static"},
		[]string{"clang-22", "-O1", "-fuse-ld=lld"},
		[]string{"clang-22", "-O1", "-fuse-ld=lld", "-Wl,-z,force-ibt"},
		[]string{"aarch64-linux-gnu-gcc", "-O1", "-mbranch-protection=standard", "-Wl,-z,force-bti"},
		append(cross, "-O1", "-mbranch-protection=standard"),
	) {
		t.Run(strings.Join(command, " "), func(t *testing.T) {
			t.Parallel()
			objdump := "objdump"
			if strings.Contains(strings.Join(command, " "), "aarch64") {
				objdump = "aarch64-linux-gnu-objdump"
			}
			needs(t, command)
			needs(t, []string{objdump})
			dir := t.TempDir()
			source, program := filepath.Join(dir, "a.c"), filepath.Join(dir, "a")
			if err := os.WriteFile(source, []byte(stubSource), 0o600); err != nil {
				t.Fatal(err)
			}
			build := append(append([]string{}, command...), "-fno-builtin", "-o", program, source)
			if text, err := exec.Command(build[0], build[1:]...).CombinedOutput(); err != nil {
				t.Skipf("%v: %s", build, text) // not all versions have all options
			}
			text, err := exec.Command(objdump, "-d", program).Output()
			if err != nil {
				t.Fatal(err)
			}
			want := map[uint64]string{}
			for _, m := range stubLabel.FindAllStringSubmatch(string(text), -1) {
				at, _ := strconv.ParseUint(m[1], 16, 64)
				want[at] = m[2] + StubSuffix
			}
			got := stubsOf(t, program)
			for at, name := range want {
				if got[at] != name && !strings.HasPrefix(name, "*ABS*") {
					t.Errorf("%#x is %q, want %q", at, got[at], name)
				}
			}
			if len(want) < 4 && !strings.Contains(strings.Join(command, " "), "-static") {
				t.Errorf("objdump has only %v", want)
			}
			maps.DeleteFunc(got, func(at uint64, _ string) bool { return want[at] != "" })
			t.Logf("%d stubs; beyond those of objdump: %v", len(want), got)
		})
	}
}

// stubsOf returns the names of the stubs of a program by their addresses.
func stubsOf(t *testing.T, path string) map[uint64]string {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := f.ProgramOfSymbols()
	if err != nil {
		t.Fatal(err)
	}
	f.AddStubs(p)
	out := map[uint64]string{}
	for i := range p.Symbols {
		if s := &p.Symbols[i]; strings.HasSuffix(s.Name, StubSuffix) {
			if s.Size == 0 || i+1 < len(p.Symbols) && strings.HasSuffix(p.Symbols[i+1].Name, StubSuffix) && s.Addr+s.Size > p.Symbols[i+1].Addr {
				t.Errorf("%+v has a wrong size", s)
			}
			out[s.Addr] = s.Name
		}
	}
	return out
}
