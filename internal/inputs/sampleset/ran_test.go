package sampleset

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/verb"
)

// TestFindBinaries leaves out files that were mapped and are on no stack, and has those of callers.
func TestFindBinaries(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"caller", "unused", "leaf"} {
		p := filepath.Join(dir, name)
		if err := os.Link(self, p); err != nil {
			t.Skip(err)
		}
		paths = append(paths, p)
	}
	text := ""
	for i, p := range paths {
		text += fmt.Sprintf("PERF_RECORD_MMAP2 71/71: [%#x(0x1000) @ 0 fe:00 543 0]: r-xp %s\n", 0x10000*(i+1), p)
	}
	text += "app 71/71\n\t30010\n\t10020\n\n"
	file := filepath.Join(dir, "app.perf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := FindBinaries(t.Context(), &verb.Streams{Err: t.Output()}, []string{file})
	if want := []string{paths[2], paths[0]}; err != nil || !slices.Equal(found.Binaries, want) {
		t.Fatalf("%v, %v, want %v", found, err, want)
	}
}

// TestManyFiles says how many samples are in files beyond those that are looked for.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("PERF_RECORD_MMAP2 71/71: [0x10000(0x1000) @ 0 fe:00 543 0]: r-xp %s\n", self)
	for i := range maxRan {
		text += fmt.Sprintf("PERF_RECORD_MMAP2 71/71: [%#x(0x1000) @ 0 fe:00 543 0]: r-xp /not/here/%d.so\n", 0x20000+0x1000*i, i)
	}
	text += "app 71/71\n\t10010\n\n"
	for i := range maxRan { // the last is one too many
		text += fmt.Sprintf("app 71/71\n\t%x\n\n", 0x20010+0x1000*i)
	}
	file := filepath.Join(t.TempDir(), "app.perf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var notes bytes.Buffer
	if _, err := FindBinaries(t.Context(), &verb.Streams{Err: &notes}, []string{file}); err != nil {
		t.Fatal(err)
	}
	if want := "without names, as more than 255 files ran (name those of interest among the arguments): 0.4% of the samples"; !strings.Contains(notes.String(), want) {
		t.Errorf("no %q in %.300s", want, notes.String())
	}
}
