package nativert

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNamesApart checks that the runtimes of records and of time, which are members of one archive, have no name in common:
// the linker would take the member that comes first for the name of the other.
func TestNamesApart(t *testing.T) {
	t.Parallel()
	archive := timedRuntime(t, "gcc")
	of := map[string]string{}
	dir := build(t, X86_64)
	for _, o := range Objects(X86_64, ".") {
		f, err := elf.Open(filepath.Join(dir, o.Name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		symbols, err := f.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range symbols {
			if elf.ST_BIND(s.Info) != elf.STB_LOCAL && s.Section != elf.SHN_UNDEF {
				of[s.Name] = o.Name
			}
		}
	}
	out, err := exec.Command("nm", "-A", "-g", "--defined-only", archive).Output()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) < 3 {
			continue
		}
		n++
		if other, ok := of[words[len(words)-1]]; ok {
			t.Errorf("%s is in %s as well", line, other)
		}
	}
	if n == 0 || len(of) == 0 {
		t.Fatalf("%d and %d names", len(of), n)
	}
}
