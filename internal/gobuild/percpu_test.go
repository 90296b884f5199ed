package gobuild_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/procmaps"
	"github.com/cairnprof/cairn/internal/gobuild/rewrite"
)

// bySystemCall has each processor count by itself where the kernel does not allow the
// instruction that does it.
const bySystemCall = "CAIRN_GO_COUNTERS=arch_prctl"

// canSetGS reports whether the kernel allows programs to set the base of segment gs.
func canSetGS(t *testing.T) bool {
	t.Helper()
	const fsgsbase = 1 << 1
	auxv, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		t.Skip(err)
	}
	features, _ := procmaps.Auxiliary(auxv, procmaps.AuxHWCap2)
	return features&fsgsbase != 0
}

// processor is what runs programs on a processor with the instruction, whatever the kernel allows.
func processor(t *testing.T) []string {
	t.Helper()
	path, err := exec.LookPath("qemu-x86_64")
	if err != nil {
		t.Skip(err)
	}
	return []string{path, "-cpu", "max"}
}

// parallelSource writes the program parallel.go.txt, with a function that is too large for the
// compiler to inline what it calls.
func parallelSource(t *testing.T, dir string) {
	t.Helper()
	src, err := os.ReadFile("testdata/parallel.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	const large = 700
	text := strings.ReplaceAll(string(src), "LARGE", strconv.Itoa(large))
	text += "\nfunc large(x int) int {\n" + strings.Repeat("\tx = leaf(x) + small(x)>>1\n", large) + "\treturn x\n}\n"
	writeFiles(t, dir, map[string]string{"main.go": text})
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestProcessorCounts compares the counts of goroutines that run in parallel with what the
// program knows of itself, and looks for marks of counts that are not exact.
func TestProcessorCounts(t *testing.T) {
	cairn, _ := needsGo(t)
	direct := canSetGS(t)
	for _, row := range []struct {
		name  string
		build []string // flags of go build
		env   []string // of the build
		run   []string // of the program
		exact bool
	}{
		{"default", nil, nil, nil, direct},
		{"shared", nil, nil, []string{"CAIRN_GO_COUNTERS=shared"}, false},
		{"emulator", nil, nil, []string{"CAIRN_GO_COUNTERS=wrgsbase"}, true},
		{"system call", nil, nil, []string{bySystemCall}, true},
		{"go1.25", nil, []string{"GOTOOLCHAIN=go1.25.5"}, []string{bySystemCall}, true},
		{"pie", []string{"-buildmode=pie"}, nil, []string{bySystemCall}, true},
		{"stripped", []string{"-ldflags=-s -w", "-trimpath"}, nil, []string{bySystemCall}, true},
		{"more processors", nil, nil, []string{bySystemCall, "GOMAXPROCS=9"}, true},
		{"one processor", nil, nil, []string{bySystemCall, "GOMAXPROCS=1"}, true},
		{"unoptimized", []string{"-gcflags=-N -l"}, nil, []string{bySystemCall}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir, raws := t.TempDir(), t.TempDir()
			parallelSource(t, dir)
			do(t, dir, "", append([]string{"CGO_ENABLED=0"}, row.env...), cairn, slices.Concat([]string{"go", "--mode", "count", "build"}, row.build, []string{"-o", "app", "main.go"})...)
			words := []string{"./app"}
			if row.name == "emulator" {
				words = append(processor(t), words...)
			}
			want := do(t, dir, "", append([]string{"CAIRN_DIR=" + raws}, row.run...), words[0], words[1:]...)
			do(t, dir, "", nil, cairn, "merge", "-o", "app.mip", "app", raws)
			checkPrinted(t, filepath.Join(dir, "app.mip"), want, 11, row.exact)
			checkExact(t, filepath.Join(dir, "app.mip"), row.exact)
		})
	}
}

// checkExact looks for marks of counts that are not exact: none has one, or all of functions that ran.
func checkExact(t *testing.T, profile string, exact bool) {
	t.Helper()
	m := readProfile(t, profile).Modules[0]
	for i, f := range m.Funcs {
		if c := &m.Counts[i]; c.Calls > 0 && c.Inexact == exact {
			t.Errorf("%s: %d calls, inexact %v", f.Name, c.Calls, c.Inexact)
		}
	}
}

// TestProbeForms looks for the functions that probes call in a program in which the compiler did
// not inline all of them, and checks that package percpu changed their instructions.
func TestProbeForms(t *testing.T) {
	cairn, _ := needsGo(t)
	dir := t.TempDir()
	parallelSource(t, dir)
	do(t, dir, "", []string{"CGO_ENABLED=0"}, cairn, "go", "--mode", "count", "build", "-o", "app", "main.go")
	image := readImage(t, filepath.Join(dir, "app"))
	symbols, err := image.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	const compare, increment = "\x65\x83", "\x65\xff"
	found := 0
	for _, s := range symbols {
		code := image.At(s.Addr)
		switch s.Name {
		case "main." + rewrite.Counted:
			found++
			if !strings.Contains(string(code[:s.Size]), compare) {
				t.Errorf("%s: % x", s.Name, code[:s.Size])
			}
		case "main." + rewrite.CountedAlone:
			found++
			if text := string(code[:s.Size]); !strings.Contains(text, compare) || !strings.Contains(text, increment) {
				t.Errorf("%s: % x", s.Name, code[:s.Size])
			}
		}
	}
	if found != 2 {
		t.Errorf("%d functions, want 2: the compiler inlined the others", found)
	}
}

// TestOldLanguage builds a module of an old version of Go's language, of which the added code may
// use no more.
func TestOldLanguage(t *testing.T) {
	cairn, _ := needsGo(t)
	for _, mode := range []string{"cover", "count", "order", "block"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dir, raws := t.TempDir(), t.TempDir()
			writeFiles(t, dir, map[string]string{
				"main.go": "package main\n\nfunc main() { println(leaf(3), called(4)) }\n\nfunc leaf(x int) int { return x + 1 }\n\nfunc called(x int) int { return leaf(x) }\n",
				"go.mod":  "module old\n\ngo 1.13\n",
			})
			do(t, dir, "", []string{"CGO_ENABLED=0"}, cairn, "go", "--mode", mode, "build", "-o", "app", ".")
			do(t, dir, "", []string{"CAIRN_DIR=" + raws}, "./app")
			do(t, dir, "", nil, cairn, "merge", "-o", "app.mip", "app", raws)
			if out := do(t, dir, "", nil, cairn, "covered", "app.mip"); !strings.Contains(out, "main.leaf") || !strings.Contains(out, "main.called") {
				t.Errorf("covered: %s", out)
			}
		})
	}
}

// TestProcessorThreads counts calls from threads that C made, and calls of a library in a program
// that uses segment gs itself.
func TestProcessorThreads(t *testing.T) {
	cairn, _ := needsGo(t)
	for _, row := range []struct{ name, mode, source, host string }{
		{"callbacks", "exe", callbacks, ""},
		{"library", "c-shared", library, libraryHost},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir, raws := t.TempDir(), t.TempDir()
			writeFiles(t, dir, map[string]string{"main.go": row.source, "go.mod": "module threads\n\ngo 1.25\n", "host.c.txt": row.host})
			do(t, dir, "", []string{"CGO_ENABLED=1"}, cairn, "go", "--mode", "count", "build", "-buildmode="+row.mode, "-o", "app", ".")
			program := filepath.Join(dir, "app")
			if row.host != "" {
				program = filepath.Join(dir, "host")
				do(t, dir, "", nil, "gcc", "-x", "c", "-o", "host", "host.c.txt", "-x", "none", "./app", "-lpthread", "-Wl,-rpath,"+dir)
			}
			want := do(t, dir, "", []string{"CAIRN_DIR=" + raws, bySystemCall}, program)
			do(t, dir, "", nil, cairn, "merge", "-o", "app.mip", "app", raws)
			checkPrinted(t, filepath.Join(dir, "app.mip"), want, 2, row.host == "")
			checkExact(t, filepath.Join(dir, "app.mip"), row.host == "")
		})
	}
}

var callbacks = fmt.Sprintf(threads, `
static void *run(void *p) {
	for (int i = 0; i < 20000; i++)
		called(i);
	return p;
}
static void start(void) {
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], 0, run, 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
}`, `
	C.start()
	fmt.Println("main.called", 80000)
	fmt.Println("main.second", 80000)`)

var library = fmt.Sprintf(threads, "", "")

const threads = `package main

/*
#include <pthread.h>
extern int called(int);
%s
*/
import "C"
import "fmt"

var _ = fmt.Sprint

//export called
func called(x C.int) C.int { return C.int(second(int(x))) }

//go:noinline
func second(x int) int { return x + 1 }

func main() {%s
}
`

// libraryHost has its own base of segment gs, at which there is no memory below its data.
const libraryHost = `
#include <asm/prctl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
extern int called(int);
static int data[1024] = {42};
static void *run(void *p) {
	int seen = 0;
	syscall(SYS_arch_prctl, ARCH_SET_GS, data);
	for (int i = 0; i < 1000; i++)
		called(i);
	__asm__("mov %%gs:0, %0" : "=r"(seen));
	if (seen != 42)
		return (void *)1;
	return p;
}
int main(void) {
	pthread_t t[4];
	void *wrong = 0;
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], 0, run, 0);
	for (int i = 0; i < 4; i++) {
		void *got;
		pthread_join(t[i], &got);
		if (got)
			wrong = got;
	}
	printf("main.called 4000\nmain.second 4000\n");
	return wrong != 0;
}
`
