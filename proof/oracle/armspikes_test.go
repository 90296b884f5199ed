//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// armSpikes is spikeLogs for a program for Armv7.
func armSpikes(t *testing.T, settings, program string, args ...string) (string, []*tracelog.Log) {
	t.Helper()
	return spikeLogs(t, settings, armv7.command, append([]string{"-L", armv7.sysroot, program}, args...)...)
}

// TestArmPlanted compares the spikes of a program for Armv7 with what it measured itself, as TestTimedPlanted does.
func TestArmPlanted(t *testing.T) {
	t.Parallel()
	for _, line := range shorttest.Rows(
		2,
		"arm-linux-gnueabihf-gcc -O2", "clang-22 --target=armv7-linux-gnueabihf -O0",
		"arm-linux-gnueabihf-gcc -O0 -marm", "arm-linux-gnueabihf-gcc -O2 -static", "clang-22 --target=armv7-linux-gnueabihf -O2 -mthumb",
	) {
		t.Run(line, func(t *testing.T) {
			f := strings.Fields(line)
			program := build(t, "spike --small 0", f[0], append(f[1:], "-DINSTRUMENTED", "-g", "-pthread", timedSources+"planted.c")...)
			for _, kind := range []string{"b", "m"} {
				out, logs := armSpikes(t, "threshold=2ms,rate=100000", program, "-4", kind, "10", "1000", "1900", "2600", "4000")
				if len(logs) != 1 {
					t.Fatalf("%d logs", len(logs))
				}
				checkTruth(t, out, episodes(t, logs[0]))
			}
		})
	}
}

// TestArmStorms runs programs through what is hard on a runtime, as TestTimedStorms does.
func TestArmStorms(t *testing.T) {
	t.Parallel()
	program := build(t, "spike --small 0", "arm-linux-gnueabihf-gcc", "-DINSTRUMENTED", "-O2", "-g", "-pthread", timedSources+"storms.c")
	for _, args := range [][]string{{"threads", "200"}, {"small", "64"}, {"outer", "20000"}, {"bottom", "2000"}, {"jump", "3000"}, {"signals"}, {"chain", "10"}} {
		t.Run(args[0], func(t *testing.T) {
			_, logs := armSpikes(t, "threshold=3ms,rate=100000", program, args...)
			if len(logs) == 0 {
				t.Errorf("%d logs", len(logs))
			}
			for _, l := range logs {
				found := episodes(t, l)
				if len(found) == 0 && args[0] != "threads" && l.Trailer.Blind < 1_500_000 {
					t.Errorf("no episode; %+v", l.Trailer)
				}
				for _, e := range found {
					if e.Peak.Lo < e.Threshold || len(e.Stack) < 2 {
						t.Errorf("%+v", e)
					}
				}
			}
		})
	}
}

// armLate makes calls that are late on purpose, each the only one of its name.
const armLate = `#include <setjmp.h>
#include <stdexcept>
#include <cstdlib>
#include <csignal>
#include <ctime>
#include <pthread.h>
#define W extern "C" __attribute__((noinline))
static volatile int v;
static jmp_buf env;
W void late_spin() { timespec a, b; clock_gettime(CLOCK_MONOTONIC, &a); do { clock_gettime(CLOCK_MONOTONIC, &b); v++; } while ((b.tv_sec - a.tv_sec) * 1000L + (b.tv_nsec - a.tv_nsec) / 1000000 < 200); }
W void late_plain() { late_spin(); v++; }
W void late_jumps() { late_spin(); longjmp(env, 1); }
W void late_lands() { if (!setjmp(env)) late_jumps(); v++; }
W void late_throws(int n) { if (n) late_throws(n - 1); else late_spin(); throw std::runtime_error("late"); }
W void late_catches() { try { late_throws(2); } catch (std::exception &) { v++; } v++; }
W int late_compares(const void *a, const void *b) { late_plain(); return *(int *)a - *(int *)b; }
W void late_sorts() { int x[] = {2, 1}; qsort(x, 2, sizeof *x, late_compares); v++; }
W void late_handles(int) { late_plain(); v++; }
W void late_raises() { raise(SIGUSR1); v++; }
W void *late_thread(void *) { late_plain(); pthread_exit(0); }
int main()
{
	enum { SIZE = 1 << 20 };
	stack_t on = {malloc(SIZE), 0, SIZE}; /* below the stack of main, in this emulator too */
	struct sigaction act = {};
	act.sa_handler = late_handles, act.sa_flags = SA_ONSTACK;
	sigaltstack(&on, 0), sigaction(SIGUSR1, &act, 0);
	late_lands(), late_catches(), late_sorts(), late_raises();
	pthread_t t;
	pthread_create(&t, 0, late_thread, 0), pthread_join(t, 0);
}
`

// TestArmLate checks the stacks of calls that are late: below functions without probes, in handlers on a stack of their own, and
// left by longjmp, by exceptions, and by the end of their thread.
func TestArmLate(t *testing.T) {
	t.Parallel()
	for _, line := range shorttest.Rows(
		2,
		"arm-linux-gnueabihf-g++ -O2", "clang++-22 --target=armv7-linux-gnueabihf -O1 -marm", "arm-linux-gnueabihf-g++ -O0 -marm", "arm-linux-gnueabihf-g++ -Os -static",
		"clang++-22 --target=armv7-linux-gnueabihf -O2 -mthumb", "clang++-22 --target=armv7-linux-gnueabihf -O0",
	) {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			f, file := strings.Fields(line), filepath.Join(t.TempDir(), "late.cc")
			writeTestFile(t, file, armLate)
			program := build(t, "spike --small 0", f[0], append(f[1:], "-w", "-pthread", "-fno-optimize-sibling-calls", file)...)
			_, logs := armSpikes(t, "threshold=100ms,rate=1000", program)
			if len(logs) != 1 {
				t.Fatalf("%d logs", len(logs))
			}
			got := lateStacks(t, program, logs[0])
			slices.Sort(got)
			want := []string{
				"late_spin late_jumps late_lands",
				"late_spin late_plain late_compares late_sorts",
				"late_spin late_plain late_handles late_raises",
				"late_spin late_plain late_thread",
				"late_spin late_throws late_throws late_throws late_catches",
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q\nwant %q", got, want)
			}
		})
	}
}

// lateStacks returns the functions named late_ of each spike, in order.
func lateStacks(t *testing.T, program string, l *tracelog.Log) (out []string) {
	t.Helper()
	at := elfSymbols(t, program)
	nameOf := func(pc uint64) string {
		for _, s := range at {
			if a := pc - biasOf(l); a >= s.Value&^1 && a < s.Value&^1+s.Size && strings.HasPrefix(s.Name, "late_") {
				return s.Name
			}
		}
		return ""
	}
	for _, e := range episodes(t, l) {
		var stack []string
		for i := range e.Stack {
			if name := nameOf(e.Stack[i].PC); name != "" {
				stack = append(stack, name)
			}
		}
		if len(stack) > 0 { // main is late as well
			out = append(out, strings.Join(stack, " "))
		}
	}
	return out
}

// armLeft has a function without probes to which calls jump back many times, before one of them is late.
const armLeft = `#include <setjmp.h>
#include <stdlib.h>
#include <time.h>
#define N __attribute__((noinline))
static volatile int v;
static jmp_buf env;
N void late_spin(void) { struct timespec a, b; clock_gettime(CLOCK_MONOTONIC, &a); do { clock_gettime(CLOCK_MONOTONIC, &b); v++; } while ((b.tv_sec - a.tv_sec) * 1000L + (b.tv_nsec - a.tv_nsec) / 1000000 < 200); }
N void late_inner(int deep) { volatile char room[16]; room[0] = 1; if (deep) late_inner(deep - 1); else if (v < 20) { v++; longjmp(env, 1); } else late_spin(); v += room[0]; }
N void late_outer(int deep) { late_inner(deep); v++; }
N void plain_catches(void) { volatile int deep = 6; setjmp(env); deep = deep % 7 + 1; late_outer(deep % 3); v++; }
N void late_around(void) { plain_catches(); v++; }
int main(void) { v = 0; late_around(); return 0; }
`

// TestArmLeft checks the stack of a late call behind many that a longjmp to a function without probes has left.
func TestArmLeft(t *testing.T) {
	t.Parallel()
	for _, line := range shorttest.Rows(1, "arm-linux-gnueabihf-gcc -O2", "arm-linux-gnueabihf-gcc -O0 -marm", "clang-22 --target=armv7-linux-gnueabihf -O1") {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			f, file := strings.Fields(line), filepath.Join(t.TempDir(), "left.c")
			writeTestFile(t, file, armLeft)
			program := build(t, "spike --small 0 --skip ^plain_", f[0], append(f[1:], "-w", "-fno-optimize-sibling-calls", file)...)
			_, logs := armSpikes(t, "threshold=100ms,rate=1000", program)
			if len(logs) != 1 {
				t.Fatalf("%d logs", len(logs))
			}
			got := lateStacks(t, program, logs[0])
			if len(got) != 1 || !strings.HasPrefix(got[0], "late_spin late_inner ") || !strings.HasSuffix(got[0], " late_outer late_around") {
				t.Errorf("%q", got)
			}
			for _, e := range episodes(t, logs[0]) {
				if e.Flags&tracelog.Cut != 0 {
					t.Errorf("%+v is cut", e)
				}
			}
		})
	}
}

// TestArmMarks runs the scenarios of marks of programs.
func TestArmMarks(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"spike --small 0", "spike --only ^$"} {
		t.Run(mode, func(t *testing.T) {
			program := build(t, mode, "arm-linux-gnueabihf-gcc", "-O2", "-g", timedSources+"marks.c")
			symbols := elfSymbols(t, program)
			for i := range symbols {
				symbols[i].Value &^= 1
			}
			checkMarks(t, mode, func(scenario ...string) string {
				return toldBy(t, symbols, armv7.command, append([]string{"-L", armv7.sysroot, program}, scenario...)...)
			})
		})
	}
}

// armCircle has two stacks, of which a switch is known by the name of swapcontext and another is hidden by a pointer. Then the call of
// the coroutine and one of the program are both around the other, and a longjmp comes from there.
const armCircle = `#define _GNU_SOURCE
#include <ucontext.h>
#include <setjmp.h>
#include <stdlib.h>
#define N __attribute__((noinline))
static ucontext_t outer, inner, coroutine;
static char stack[1 << 16];
static jmp_buf env;
static volatile int v;
static int (*volatile hidden)(ucontext_t *, const ucontext_t *) = swapcontext;
N void body(void) { swapcontext(&coroutine, &inner); hidden(&coroutine, &outer); abort(); }
N void leaves(void) { v++; longjmp(env, 1); }
N void calls(int first) { volatile char room[64]; room[0] = 0; if (first) swapcontext(&inner, &coroutine); else leaves(); v += room[0] + 1; }
N void again(void) { calls(1); hidden(&outer, &coroutine); calls(0); v++; }
int main(void)
{
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = stack, coroutine.uc_stack.ss_size = sizeof stack;
	makecontext(&coroutine, body, 0);
	if (!setjmp(env)) again();
}
`

// TestArmCircle checks that a program whose calls are around each other ends.
func TestArmCircle(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "circle.c")
	writeTestFile(t, file, armCircle)
	program := build(t, "spike --small 0", "arm-linux-gnueabihf-gcc", "-O2", "-w", "-fno-optimize-sibling-calls", file)
	armSpikes(t, "threshold=100ms", program)
}
