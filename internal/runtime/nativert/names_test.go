package nativert

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// TestTimedNames checks that timed_names.h has only names of the sources that the runtimes of Windows and macOS are made of.
func TestTimedNames(t *testing.T) {
	t.Parallel()
	words, read := map[string]bool{}, map[string]bool{}
	word, include := regexp.MustCompile(`\w+`), regexp.MustCompile(`(?m)^#include "(?:\.\./)?([^"]+)"`)
	var visit func(path string)
	visit = func(path string) {
		text, err := os.ReadFile(path)
		if err != nil || read[path] || strings.HasSuffix(path, "names.h") {
			return // not in that directory
		}
		read[path] = true
		for _, w := range word.FindAllString(string(text), -1) {
			words[w] = true
		}
		for _, m := range include.FindAllStringSubmatch(string(text), -1) {
			for _, dir := range []string{"c", "c/timed", "c/coff", "c/macho"} {
				visit(filepath.Join(dir, filepath.Base(m[1])))
			}
		}
	}
	for _, dir := range []string{"c/coff", "c/macho"} {
		files, _ := filepath.Glob(dir + "/*.[ch]")
		for _, file := range files {
			visit(file)
		}
	}
	names, err := os.ReadFile("c/timed_names.h")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^#define (\w+) `).FindAllStringSubmatch(string(names), -1) {
		if !words[m[1]] {
			t.Errorf("no source has %s", m[1])
		}
	}
	if len(words) < 1000 {
		t.Errorf("%d words", len(words))
	}
}
