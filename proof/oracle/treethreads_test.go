//go:build linux && amd64

package oracle

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/runtime/nativert"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestTreeCoroutines compares the tree of threads that change between coroutines at any depth
// with what the program counted itself.
func TestTreeCoroutines(t *testing.T) {
	t.Parallel()
	for _, line := range shorttest.Rows(
		2,
		"gcc -O2", "clang-22 -O0 -DBY_HAND", "gcc -O0", "clang-22 -O2", "gcc -Os -fcf-protection -DBY_HAND",
	) {
		for _, mode := range []string{"stacks", "stacks --counts", "stacks --max"} {
			if mode != "stacks" && line != "gcc -O2" {
				continue
			}
			t.Run(mode+" "+line, func(t *testing.T) {
				t.Parallel()
				f := strings.Fields(line)
				program := build(t, mode+" --only ^w_", f[0], append(f[1:], "-pthread", filepath.Join("testdata", "coroutines.c"))...)
				out, logs := stacksOf(t, program, "16")
				if len(logs) != 1 {
					t.Fatalf("%d logs", len(logs))
				}
				sameStacks(t, "stacks", plain(logs[0]), parseFolded(t, out))
			})
		}
	}
}

// TestTraceCoroutines compares the stacks of a log of all calls, and of selected parts of it, with what such a
// program counted itself.
func TestTraceCoroutines(t *testing.T) {
	t.Parallel()
	for _, line := range shorttest.Rows(2, "gcc -O2", "clang-22 -O0 -DBY_HAND", "clang-22 -O2", "gcc -Os -fcf-protection -DBY_HAND") {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			f := strings.Fields(line)
			program := build(t, "trace --only ^w_", f[0], append(f[1:], "-pthread", filepath.Join("testdata", "coroutines.c"))...)
			out, logs := callLogs(t, "file", program, "16")
			want, file := parseFolded(t, out), logs[0].Info().File
			sameStacks(t, "stacks", plain(foldedCalls(t, file)), want)
			within := output(t, command(t, cairn, "convert", "--format", "folded", "--by", "calls", "--within", "w_work", file))
			sameStacks(t, "selected stacks", plain(parseFolded(t, within)), below(want, "w_work"))
		})
	}
}

// below returns the stacks below the outermost call of a function.
func below(stacks map[string]uint64, fn string) map[string]uint64 {
	out := make(map[string]uint64)
	for stack, n := range stacks {
		names := strings.Split(stack, ";")
		if i := slices.Index(names, fn); i >= 0 {
			out[strings.Join(names[i:], ";")] += n
		}
	}
	return out
}

// TestTreeLives checks that nothing of threads that come and go is lost, and that they take no
// more memory and no longer log than the threads that exist at the same time.
func TestTreeLives(t *testing.T) {
	t.Parallel()
	type row struct{ cc, mode, run string }
	for _, c := range shorttest.Rows(
		4,
		row{"gcc -O2", "stacks", "5000 300"},
		row{"musl-gcc -O2 -static", "stacks", "3000 20"},
		row{"gcc -O2", "stacks --max", "3000 5"},
		row{"clang-22 -O1 -fsanitize=thread", "stacks", "500 150"},
		row{"gcc -O2", "stacks", "30000 8"},
		row{"musl-gcc -O2", "stacks", "3000 20"},
		row{"gcc -O1 -fsanitize=address", "stacks", "500 150"},
		row{"gcc -O1 -fsanitize=undefined", "stacks", "500 150"},
	) {
		t.Run(c.mode+" "+c.cc+" "+c.run, func(t *testing.T) {
			t.Parallel()
			f := strings.Fields(c.cc)
			program := build(t, c.mode+" --only ^w_", f[0], append(f[1:], "-pthread", filepath.Join("testdata", "lives.c"))...)
			dir := t.TempDir()
			cmd := command(t, program, strings.Fields(c.run)...)
			cmd.Env = append(cmd.Env, "CAIRN_DIR="+dir)
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, said.String())
			}
			log := mustGlob(t, filepath.Join(dir, "*.cairnlog"))[0]
			sameStacks(t, "stacks", plain(foldedCalls(t, log)), parseFolded(t, string(out)))
			info, err := os.Stat(log)
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() > 2<<20 {
				t.Errorf("a log of %d bytes", info.Size())
			}
			if strings.Contains(c.cc, "sanitize") {
				return
			}
			kb, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(said.String()), " KB"))
			if err != nil || kb > 64<<10 {
				t.Errorf("%s of memory (%v)", said.String(), err)
			}
		})
	}
}

// TestTreeSanitized checks that a program that is built with a sanitizer has the same tree.
func TestTreeSanitized(t *testing.T) {
	t.Parallel()
	for _, line := range shorttest.Rows(
		1,
		"g++ -O1 -fsanitize=address,undefined", "clang++-22 -O1 -fsanitize=address", "g++ -O1 -fsanitize=thread",
	) {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			f := strings.Fields(line)
			program := build(t, "stacks --only ^w_", f[0], append(f[1:], "-pthread", filepath.Join("testdata", "tree.cc"))...)
			out, logs := stacksOf(t, program, "8", "60")
			sameStacks(t, "stacks", plain(logs[0]), parseFolded(t, out))
		})
	}
}

// TestTreeReplay checks that the tree made of a log of every call is the one that the program
// makes while it runs.
func TestTreeReplay(t *testing.T) {
	skipLong(t)
	t.Parallel()
	told, trees := stacksOf(t, buildSQLite(t, "stacks", "gcc", "-O1", "-ffunction-sections"), sqliteArgs(t, "3")...)
	said, events := callLogs(t, "file", append([]string{buildSQLite(t, "trace", "gcc", "-O1", "-ffunction-sections")}, sqliteArgs(t, "3")...)...)
	if told != said {
		t.Fatal("the program's answers differ")
	}
	replayed := foldedCalls(t, events[0].Info().File)
	online := without(trees[0], replayed)
	sameStacks(t, "stacks", online, without(replayed, online))
	if len(online) < 5000 {
		t.Errorf("%d stacks: that proves little", len(online))
	}
}

// TestTraceSanitized checks that a program that is built with a sanitizer, or with another C
// library, has the same calls in its log.
func TestTraceSanitized(t *testing.T) {
	t.Parallel()
	for _, line := range shorttest.Rows(
		2,
		"clang-22 -O1 -fsanitize=thread", "musl-gcc -O2", "gcc -O1 -fsanitize=address", "gcc -O1 -fsanitize=undefined", "musl-gcc -O2 -static",
	) {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			f := strings.Fields(line)
			program := build(t, "trace --only ^w_", f[0], append(f[1:], "-pthread", filepath.Join("testdata", "lives.c"))...)
			said, logs := callLogs(t, "file", program, "300", "8")
			sameStacks(t, "stacks", plain(foldedCalls(t, logs[0].Info().File)), parseFolded(t, said))
		})
	}
}

// jumpsProgram leaves calls by longjmp and exceptions, again and again.
const jumpsProgram = `#include <csetjmp>
static jmp_buf to;
#define W extern "C" __attribute__((noinline))
#define NOW __asm__ volatile("")
W void jump(int n) { if (n) jump(n - 1); else longjmp(to, 1); NOW; }
W void fling(int n) { if (n) fling(n - 1); else throw n; NOW; }
W void leaf(void) { NOW; }
W void mark(int a, int b, int c, int d, int e, int f, int g, int h) { leaf(); if (a + b + c + d + e + f + g + h) leaf(); NOW; }
W void lands(int n) { if (!setjmp(to)) jump(n); NOW; }
W void catches(int n) { try { fling(n); } catch (int) { NOW; } }
int main() {
  for (int i = 0; i < 300; i++) {
    lands(i % 7);
    mark(1, 2, 3, 4, 5, 6, 7, 8);
    catches(i % 5);
    leaf();
  }
}
`

// TestTraceDepth checks that a log with a limited depth has the calls of one without, except
// for the deeper ones, and that it is right again after calls that were left by longjmp or an
// exception.
func TestTraceDepth(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nested, jumps := filepath.Join(dir, "nested.c"), filepath.Join(dir, "jumps.cc")
	writeTestFile(t, nested, stacksProgram)
	writeTestFile(t, jumps, jumpsProgram)
	for _, prefix := range shorttest.Rows(2, "", "arm-linux-gnueabihf-") {
		if prefix != "" {
			mustHave(t, prefix+"gcc")
		}
		checkTraceDepth(t, prefix, nested, jumps)
	}
}

func checkTraceDepth(t *testing.T, prefix, nested, jumps string) {
	t.Helper()
	calls := func(mode string, line ...string) map[string]uint64 {
		argv := []string{build(t, mode, prefix+line[0], line[1:]...)}
		if prefix != "" {
			argv = []string{armv7.command, "-L", armv7.sysroot, argv[0]}
		}
		_, logs := callLogs(t, "file", argv...)
		return plain(foldedCalls(t, logs[0].Info().File))
	}
	for _, level := range []string{"-O0", "-O2"} {
		all := calls("trace", "gcc", level, nested)
		for _, depth := range []int{1, 4} {
			want := map[string]uint64{}
			for stack, n := range all {
				if strings.Count(stack, ";") < depth {
					want[stack] = n
				}
			}
			sameStacks(t, level+" of depth "+strconv.Itoa(depth), calls("trace --depth "+strconv.Itoa(depth), "gcc", level, nested), want)
		}
		sameStacks(t, level+" with jumps", calls("trace --depth 2", "g++", level, jumps),
			map[string]uint64{"main": 1, "main;lands": 300, "main;mark": 300, "main;catches": 300, "main;leaf": 300})
	}
}

// TestTreeLeaving checks that nothing is lost of a program that does not end by exit, or that
// runs another program.
func TestTreeLeaving(t *testing.T) {
	t.Parallel()
	once := map[string]uint64{"main": 1, "main;work": 1, "main;work;leaf": 100}
	for _, c := range []struct{ mode, line string }{{"stacks", "gcc -O2"}, {"stacks", "clang-22 -O0"}, {"stacks --counts", "gcc -O2"}} {
		if testing.Short() && c.mode+c.line == "stacksgcc -O2" {
			continue // the other two differ from it in one way each
		}
		line := c.mode + " " + c.line
		f := strings.Fields(c.line)
		program := build(t, c.mode, f[0], append(f[1:], filepath.Join("testdata", "leaves.c"))...)
		for way, want := range map[string][]map[string]uint64{
			"x": {once}, "q": {once}, "a": {once}, "v": {once}, "e": {once, once},
			"t": {{"main": 1, "main;work": 1, "main;work;leaf": 100, "main;tail": 1, "main;tail;work": 1, "main;tail;work;leaf": 100}},
			"f": {once, {"main;work": 2, "main;work;leaf": 200}},
			"g": {once, once}, // the child has no log if it is quick, what it becomes has one
		} {
			dir := t.TempDir()
			cmd := command(t, program, way)
			cmd.Env = append(cmd.Env, "CAIRN_DIR="+dir)
			_ = cmd.Run() // by a signal, for one
			sum, all := map[string]uint64{}, map[string]uint64{}
			logs := 0
			for _, log := range mustGlob(t, filepath.Join(dir, "*.cairnlog")) {
				stacks := foldedCalls(t, log)
				if way == "g" && len(stacks) == 0 { // of a child that became another program just then
					continue
				}
				logs++
				for stack, n := range stacks {
					sum[stack] += n
				}
			}
			if way == "g" && logs == 3 { // the child was slow to become another
				want = append(want, map[string]uint64{"main;work": 1, "main;work;leaf": 100})
			}
			for _, one := range want {
				for stack, n := range one {
					all[stack] += n
				}
			}
			if logs != len(want) {
				t.Errorf("%s %s: %d logs, want %d", line, way, logs, len(want))
			}
			if waits := "main;wait"; strings.Contains("vfg", way) && c.mode == "stacks" {
				all[waits] = 1 // of the parent, for its child
			}
			sameStacks(t, line+" "+way, sum, all)
		}
	}
}

// TestTreeRuntimeSanitized checks that the code that makes trees has no undefined behaviour and
// accesses only its own memory.
func TestTreeRuntimeSanitized(t *testing.T) {
	t.Parallel()
	mustHave(t, "gcc")
	dir := t.TempDir()
	for _, f := range nativert.Sources() {
		writeTestFile(t, filepath.Join(dir, f.Name), string(f.Data))
	}
	for _, c := range []struct{ name, runtime, program string }{
		{"undefined", "-fsanitize=undefined -fsanitize-undefined-trap-on-error", "-O2"},
		{"address", "-fsanitize=address", "-O1 -fsanitize=address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			flags := slices.DeleteFunc(nativert.TimedFlags(nativert.X86_64), func(f string) bool { return f == "-fno-sanitize=all" })
			var objects []string
			for _, name := range []string{"tree", "tree_log"} {
				object := filepath.Join(out, name+".o")
				args := append([]string{"-O1"}, flags...)
				output(t, command(t, "gcc", append(append(args, strings.Fields(c.runtime)...), "-c", "-o", object, filepath.Join(dir, name+".c"))...))
				objects = append(objects, object)
			}
			for source, run := range map[string]string{"coroutines.c": "8", "lives.c": "500 150", "leaves.c": "f"} {
				only := " --only ^w_"
				if source == "leaves.c" {
					only = ""
				}
				args := append(strings.Fields(c.program), "-pthread", filepath.Join("testdata", source))
				program := build(t, "stacks"+only, "gcc", append(args, objects...)...)
				told, logs := stacksOf(t, "env", append([]string{"ASAN_OPTIONS=detect_leaks=0", program}, strings.Fields(run)...)...)
				if len(logs) == 1 {
					sameStacks(t, source, plain(logs[0]), parseFolded(t, told))
				}
			}
		})
	}
}
