package pipeline

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

const stubProgram = `#include <stdlib.h>
__attribute__((noinline)) int work(void *p) { free(p); return 2; }
int main(void) { return work(malloc(8)) + 1; }
`

// TestStubs checks that a stub of the dynamic linker has its name on stacks, not on those with branches.
func TestStubs(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	dir := t.TempDir()
	source, program, input := filepath.Join(dir, "a.c"), filepath.Join(dir, "a"), filepath.Join(dir, "a.perf")
	if err := os.WriteFile(source, []byte(stubProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("gcc", "-O1", "-no-pie", "-fno-pie", "-fno-builtin", "-fno-omit-frame-pointer", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	stub, call := callOf(t, program, "free@plt")
	_, outer := callOf(t, program, "work")
	const size = 5 // of a call
	for _, tc := range []struct {
		line string // of branches
		want []string
	}{
		// A walk of frame pointers misses the caller of the stub.
		{"", []string{"free@plt", "main", "work"}},
		{fmt.Sprintf(" 0x%x/0x%x/P/-/-/0\n", call, stub), []string{"[outside]", "main"}},
	} {
		text := fmt.Sprintf("a 7 PERF_RECORD_MMAP2 7/7: [0x400000(0x10000) @ 0 08:01 1 1]: r-xp %s\n\n", program)
		text += strings.Repeat(fmt.Sprintf("a 7\n\t%x\n\t%x\n%s\n", stub, outer+size, tc.line), 3)
		if err := os.WriteFile(input, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		host := Host{Note: t.Logf, Progress: func(*atomic.Int64, int) func() { return func() {} }}
		made, err := Run(t.Context(), &Plan{Product: Stacks, Inputs: Inputs{Samples: []string{input}, Binaries: []string{program}}, Unwinding: Unwinding{Infer: InferFull}}, host)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for id := range made.Stacks.Funcs {
			got = append(got, made.Stacks.Funcs.Name(id))
		}
		if slices.Sort(got); !slices.Equal(got, tc.want) {
			t.Errorf("the stacks have %v, want %v", got, tc.want)
		}
	}
}

// callOf returns the addresses of a function and of a call of it.
func callOf(t *testing.T, path, name string) (entry, call uint64) {
	t.Helper()
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := f.ProgramOfSymbols()
	if err != nil {
		t.Fatal(err)
	}
	f.AddStubs(p)
	for _, s := range p.Symbols {
		if s.Name == name {
			entry = s.Addr
		}
	}
	set, err := machinecode.NewSet(p)
	if err != nil {
		t.Fatal(err)
	}
	b := set.Binaries()[0]
	for r := b.First; r < b.End; r++ {
		if to, ok := set.Target(r); ok && to == entry {
			return entry, set.Address(r)
		}
	}
	t.Fatalf("nothing calls %s at %#x", name, entry)
	return 0, 0
}

// TestStubsOfPipe checks that samples from a pipe, which can be read once, are not read to see whether they have branches.
func TestStubsOfPipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if text, err := exec.Command("mkfifo", pipe).CombinedOutput(); err != nil {
		t.Skipf("needs mkfifo: %s", text)
	}
	r := run{Plan: &Plan{Product: Stacks, Inputs: Inputs{Samples: []string{pipe}}}}
	if r.namesStubs() { // it would wait for a writer
		t.Error("stubs have names, though the samples are not known yet")
	}
}
