//go:build linux && amd64

package ptrace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// spread makes pages.c: functions of more than a page each, of which every
// third is called, in an order that is not theirs, and tables in .text.
func spread(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("#include <stdio.h>\nstatic volatile int sink;\n")
	for i := range 30 {
		fmt.Fprintf(&b, "__attribute__((noinline, noclone)) int f%d(int x) {\n\tif (x > 1000) { __asm__ volatile(\".skip %d, 0x90\"); }\n\tsink = x;\n\treturn x + %d;\n}\n",
			i, 3000+i*170, i)
	}
	b.WriteString("int main(void) {\n\tint x = 0;\n")
	for i := 28; i >= 0; i -= 3 {
		fmt.Fprintf(&b, "\tx = f%d(x);\n", i)
	}
	b.WriteString("\tprintf(\"%d\\n\", x);\n\treturn 0;\n}\n")
	source := filepath.Join(t.TempDir(), "pages.c")
	if err := os.WriteFile(source, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return source
}

// TestTouchedPages checks that the pages are those in which valgrind sees instructions
// executed.
func TestTouchedPages(t *testing.T) {
	t.Parallel()
	source := spread(t)
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "pages")
			if out, err := exec.Command(k.compiler, append(k.flags, "-o", program, source)...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var out strings.Builder
			got, err := TouchedPages(limit(t), []string{program}, &Options{Stdout: &out})
			check(t, err)
			if out.String() != "145\n" || got.Status.Code != 0 {
				t.Errorf("it printed %q, %v", out.String(), got.Status)
			}
			if n := int(got.Hi-got.Lo) / pageSize; len(got.Pages) < 15 || len(got.Pages) > n {
				t.Errorf("%d of %d pages", len(got.Pages), n)
			}
			checkOrderOfPages(t, program, got)
			if strings.Contains(k.name, "static") {
				// Under valgrind the C library chooses other functions, and
				// the program is at another address than the linker's.
				return
			}
			want := executedPages(t, program, got.Lo, got.Hi)
			if pages := slices.Sorted(slices.Values(got.Pages)); !slices.Equal(pages, want) {
				t.Errorf("pages\n got %x\nwant %x", pages, want)
			}
		})
	}
}

// checkOrderOfPages compares with the order of first calls: a function's page
// is touched before the function after it begins.
func checkOrderOfPages(t *testing.T, program string, got *Touched) {
	t.Helper()
	rec, _, _ := record(t, program)
	seen := map[uint64]bool{}
	var want []uint64
	for _, c := range rec.Run.Calls {
		page := c.Entry &^ (pageSize - 1)
		if page >= got.Lo && page < got.Hi && !seen[page] {
			seen[page] = true
			want = append(want, page)
		}
	}
	// Pages that begin in the middle of a function come in between.
	entries := slices.DeleteFunc(slices.Clone(got.Pages), func(p uint64) bool { return !seen[p] })
	missing := 0
	for _, p := range want {
		if !slices.Contains(entries, p) {
			missing++
		}
	}
	if missing > 0 || entries[0] != want[0] {
		t.Errorf("order of pages\n got %x\nwant %x", entries, want)
	}
}

// executedPages returns the pages of a range in which valgrind's tracer saw
// instructions of the program, link-time addresses, ascending.
func executedPages(t *testing.T, program string, lo, hi uint64) []uint64 {
	t.Helper()
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		t.Skip("no valgrind")
	}
	log := filepath.Join(t.TempDir(), "log")
	cmd := exec.CommandContext(limit(t), valgrind, "--tool=lackey", "--trace-mem=yes", "--log-file="+log, program)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("valgrind: %v\n%s", err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	bias := valgrindBias(t, program, text)
	seen := map[uint64]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var addr, size uint64
		if n, _ := fmt.Sscanf(lines.Text(), "I  %x,%d", &addr, &size); n != 2 {
			continue
		}
		for _, a := range []uint64{addr - bias, addr + size - 1 - bias} {
			if a >= lo && a < hi {
				seen[a&^(pageSize-1)] = true
			}
		}
	}
	var pages []uint64
	for p := range seen {
		pages = append(pages, p)
	}
	slices.Sort(pages)
	return pages
}

// valgrindBias returns where valgrind loaded the program, found by where its entry is executed.
// It loads position-independent programs below 16 MiB; others are linked to addresses from 2
// MiB on.
func valgrindBias(t *testing.T, program string, log []byte) uint64 {
	t.Helper()
	entry := openFile(t, program).Entry()
	if entry >= 2<<20 {
		return 0
	}
	for lines := bufio.NewScanner(bytes.NewReader(log)); lines.Scan(); {
		var addr, size uint64
		if n, _ := fmt.Sscanf(lines.Text(), "I  %x,%d", &addr, &size); n == 2 && addr < 0x1000000 && addr&0xfff == entry&0xfff {
			return addr - entry
		}
	}
	t.Fatal("valgrind's log does not have the program's entry")
	return 0
}

// TestPageTrapPrograms checks that programs run normally although their code is unmapped.
func TestPageTrapPrograms(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		compiler, source string
		flags, args      []string
		out              string
		code             int
	}{
		{"gcc", "order.c", []string{"-O1"}, []string{"3"}, "1 2 3 of 2\n", 3},
		{"gcc", "order.c", []string{"-O1", "-static"}, []string{"3"}, "1 2 3 of 2\n", 3},
		{"gcc", "children.c", []string{"-O1"}, nil, "3 4 5\n", 0},
		{"gcc", "children.c", []string{"-O1", "-static"}, nil, "3 4 5\n", 0},
		{"gcc", "children.c", []string{"-O1"}, []string{"replaced"}, "", 9},
		{"g++", "throw.cc", []string{"-O1", "-fnon-call-exceptions"}, nil, "3 4\n", 0},
		{"g++", "throw.cc", []string{"-O1", "-fnon-call-exceptions", "-static"}, nil, "3 4\n", 0},
		{"clang++-22", "throw.cc", []string{"-O1"}, nil, "3 4\n", 0},
	} {
		program := build(t, test.compiler, test.source, test.flags...)
		var out strings.Builder
		got, err := TouchedPages(limit(t), append([]string{program}, test.args...), &Options{Stdout: &out, Stderr: &out})
		check(t, err)
		if out.String() != test.out || got.Status.Code != test.code || len(got.Pages) == 0 {
			t.Errorf("%s %s %v: it printed %q, %v, %d pages", test.compiler, test.source, test.flags, out.String(), got.Status, len(got.Pages))
		}
	}
}

func TestPageTrapThreads(t *testing.T) {
	t.Parallel()
	program := build(t, "gcc", "threads.c", "-O1", "-pthread", "-static")
	for range 5 {
		var out strings.Builder
		got, err := TouchedPages(limit(t), []string{program}, &Options{Stdout: &out})
		check(t, err)
		if out.String() == "" || got.Status.Code != 0 || len(got.Pages) < 10 {
			t.Fatalf("%q, %v, %d pages", out.String(), got.Status, len(got.Pages))
		}
	}
}

// TestPageTrapGo checks that a nil dereference is a panic, since the runtime keeps its handler.
func TestPageTrapGo(t *testing.T) {
	t.Parallel()
	program := t.TempDir() + "/goprog"
	if out, err := exec.CommandContext(limit(t), "go", "build", "-o", program, "./testdata/goprog").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	plain, _ := exec.Command(program).Output()
	var out strings.Builder
	got, err := TouchedPages(limit(t), []string{program}, &Options{Stdout: &out, Stderr: &out})
	check(t, err)
	if out.String() != string(plain) || got.Status.Code != 7 {
		t.Errorf("it printed %q, not %q; %v", out.String(), plain, got.Status)
	}
	t.Logf("%d of %d pages in %v", len(got.Pages), (got.Hi-got.Lo)/pageSize, got.Elapsed)
}

// TestPageTrapFault checks that a program that crashes still does so.
func TestPageTrapFault(t *testing.T) {
	t.Parallel()
	program := build(t, "gcc", "wait.c", "-O1")
	ctx := limit(t)
	signals := make(chan os.Signal, 1)
	time.AfterFunc(500*time.Millisecond, func() { signals <- syscall.SIGSEGV })
	got, err := TouchedPages(ctx, []string{program, "pause"}, &Options{Signals: signals})
	check(t, err)
	if got.Status.Signal != int(syscall.SIGSEGV) {
		t.Errorf("it ended with %v", got.Status)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "pages")
	if out, err := exec.Command("gcc", "-O1", "-o", program, spread(t)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	warm, err := WarmFaults(limit(t), []string{program}, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	if warm.Minor < 20 || warm.Status.Code != 0 {
		t.Errorf("warm: %+v", warm)
	}
	cold, err := ColdFaults(limit(t), []string{program}, &Options{})
	if errors.Is(err, ErrStaysCached) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	// At least its head had to come from disk.
	if cold.Major == 0 && !cold.ReadAhead || cold.Resident == 0 || cold.Resident > cold.TextPages || cold.TextPages < 30 {
		t.Errorf("cold: %+v", cold)
	}
	t.Logf("warm %+v, cold %+v", warm, cold)
}
