//go:build linux && amd64

package oracle

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	calls "github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// callLogs runs a program of mode trace, under a tool if one is named, and opens
// the logs that it leaves. It may be killed.
func callLogs(t *testing.T, settings string, argv ...string) (string, []*tracelog.Events) {
	t.Helper()
	dir := t.TempDir()
	cmd := command(t, argv[0], argv[1:]...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+dir, "CAIRN_TRACE="+settings)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && (!errors.As(err, &exit) || exit.Exited()) {
		t.Fatalf("%s: %v\n%s", cmd, err, errs.String())
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.cairnlog"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no logs: %v\n%s", err, errs.String())
	}
	var logs []*tracelog.Events
	var objects tracelog.Objects
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		l, err := tracelog.OpenEvents(f, st.Size(), name, &objects)
		if err != nil {
			t.Fatal(err)
		}
		if d := l.Info().Damage; len(d) > 0 {
			t.Errorf("%v", d[0])
		}
		logs = append(logs, l)
	}
	return out.String(), logs
}

// entered counts the enters of each function of the program, by its address.
func entered(t *testing.T, logs []*tracelog.Events) map[uint64]uint64 {
	t.Helper()
	counts := make(map[uint64]uint64)
	for _, l := range logs {
		for e, err := range l.Records() {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind.IsEnter() {
				counts[uint64(e.Func)<<2]++
			}
		}
	}
	return counts
}

// checkTold compares how often functions were entered with what the program
// says. slack is the part of a function's calls that may be missing.
func checkTold(t *testing.T, program, said string, counts map[uint64]uint64, slack float64) {
	t.Helper()
	names := symbolsOf(t, program)
	byName := make(map[string]uint64)
	for addr, n := range counts {
		byName[names[addr]] += n
	}
	lines := 0
	for s := bufio.NewScanner(strings.NewReader(said)); s.Scan(); lines++ {
		name, text, _ := strings.Cut(s.Text(), " ")
		want, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := byName[name]; got > want || float64(got) < float64(want)*(1-slack) {
			t.Errorf("%s: %d calls, it was called %d times", name, got, want)
		}
	}
	if lines == 0 {
		t.Errorf("the program says nothing: %q", said)
	}
}

func symbolsOf(t *testing.T, program string) map[uint64]string {
	t.Helper()
	f, err := objfile.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, _, err := f.IdentifiedMap()
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[uint64]string)
	for i := range m.Funcs {
		names[m.Funcs[i].Addr()] = m.Funcs[i].Name
	}
	return names
}

// TestTraceModeTold compares the calls in logs with what the program says of itself.
func TestTraceModeTold(t *testing.T) {
	t.Parallel()
	for _, options := range shorttest.Rows(
		1, []string{"gcc", "-O2"}, []string{"gcc", "-O0"}, []string{"gcc", "-O2", "-static"}, []string{"gcc", "-Os", "-fcf-protection"},
	) {
		t.Run(strings.Join(options, " "), func(t *testing.T) {
			t.Parallel()
			program := build(t, "trace", options[0], append(options[1:], filepath.Join("testdata", "calls.c"), "-lpthread")...)
			for _, run := range []struct {
				args  string
				slack float64
			}{
				{"threads 64", 0},
				{"forks 40", 0},
				{"kill 30000", 0},
				{"long 1", 0},
				// A handler that comes while a place is being taken loses its events.
				{"signals 300000", 0.2},
			} {
				t.Run(run.args, func(t *testing.T) {
					said, logs := callLogs(t, "file", append([]string{program}, strings.Fields(run.args)...)...)
					checkTold(t, program, said, entered(t, logs), run.slack)
				})
			}
		})
	}
}

// TestTraceModeRing fills a ring several times, and checks that it has the last calls, and that
// they nest.
func TestTraceModeRing(t *testing.T) {
	t.Parallel()
	program := build(t, "trace", "gcc", "-O2", filepath.Join("testdata", "calls.c"), "-lpthread")
	const size = 1 << 20
	_, logs := callLogs(t, "size=1MB", program, "long", "300000")
	l := logs[0]
	if l.About == nil || l.About.Ring != size || l.About.Over == 0 {
		t.Fatalf("%+v", l.About)
	}
	n, end := 0, ""
	names := symbolsOf(t, program)
	for e, err := range calls.Events(l, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if e.Kind == calls.Enter {
			end = names[uint64(e.Func)<<2]
		}
	}
	if n < size/8*9/10 || n > size/8 || end != "last" {
		t.Errorf("%d events, the last call is of %s", n, end)
	}
	checkNesting(t, l, 4, 3) // main and what was cut by the ring
	// More threads than chunks: each has one.
	said, logs := callLogs(t, "size=128KB", program, "threads", "64")
	if _, err := account.Run(context.Background(), logs[0], account.Options{}); err != nil || said == "" {
		t.Error(err)
	}
	if got := len(logs[0].Threads()); got < 2 {
		t.Errorf("%d threads", got)
	}
}

// checkNesting holds that nearly every call has an exit, in order.
func checkNesting(t *testing.T, l *tracelog.Events, orphans, open uint64) {
	t.Helper()
	r, err := account.Run(context.Background(), l, account.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if st := r.Total(); st.Orphans > orphans || st.Open > open {
		t.Errorf("%+v", st)
	}
}

// TestTraceModeCallgrind compares the calls of SQLite with what callgrind counted in the same
// run.
func TestTraceModeCallgrind(t *testing.T) {
	t.Parallel()
	mustHave(t, "valgrind")
	program := buildSQLite(t, "trace", "gcc", "-O2")
	out := filepath.Join(t.TempDir(), "callgrind.out")
	argv := underCallgrind(out, "--dump-instr=yes", program, sqliteArgs(t, allPhases)...)
	answer, logs := callLogs(t, "file,period=1ms", argv...)
	checkAnswer(t, answer, sqliteAnswer(t))
	ran := executed(t, out, program)
	counts := entered(t, logs)
	c := tally{t: t}
	total := uint64(0)
	for addr, name := range symbolsOf(t, program) {
		if n, ok := counts[addr]; ok {
			c.check(n == ran.instr[addr], "%s: %d calls, callgrind has %d", name, n, ran.instr[addr])
			total += n
		}
	}
	c.done(fmt.Sprintf("counts of %d calls", total))
	if len(counts) < 500 || total < 1e6 {
		t.Errorf("%d calls of %d functions: that proves nothing", total, len(counts))
	}
	checkNesting(t, logs[0], 0, 1)
}

// stacksProgram recurses, calls through pointers and ends in tail calls.
const stacksProgram = `#include <stdlib.h>
__attribute__((noinline)) int leaf(int x) { __asm__ volatile(""); return x + 1; }
__attribute__((noinline)) int fib(int n) { return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) int hand(int n) { return fib(n); }
__attribute__((noinline)) int odd(int n, int (*f)(int));
__attribute__((noinline)) int even(int n, int (*f)(int)) { return n ? odd(n - 1, f) : f(7); }
__attribute__((noinline)) int odd(int n, int (*f)(int)) { return n ? even(n - 1, f) : f(9); }
__attribute__((noinline)) int order(const void *a, const void *b) { return leaf(*(int *)a) - leaf(*(int *)b); }
int main(void) {
  int v[500], s = 0;
  for (int i = 0; i < 500; i++) v[i] = (i * 7919) % 503;
  qsort(v, 500, sizeof v[0], order);
  for (int i = 0; i < 50; i++) s += hand(i % 12) + even(i, i % 2 ? hand : leaf);
  return s == 0;
}
`

// TestTraceModeXRay compares the stacks of a log, with the calls of each, with those of XRay's
// log of the same source from the same compiler.
func TestTraceModeXRay(t *testing.T) {
	t.Parallel()
	mustHave(t, xrayC)
	source := filepath.Join(t.TempDir(), "stacks.c")
	writeTestFile(t, source, stacksProgram)
	for _, level := range shorttest.Rows(1, "-O2", "-O1", "-O0") {
		theirs := filepath.Join(t.TempDir(), "theirs")
		if out, err := command(t, xrayC, level, "-fxray-instrument", "-fxray-instruction-threshold=1", "-o", theirs, source).CombinedOutput(); err != nil {
			if os.Getenv("CI") == "" && bytes.Contains(out, []byte("libclang_rt.xray")) {
				t.Skipf("XRay's runtime is not installed: %s", out)
			}
			t.Fatalf("%v\n%s", err, out)
		}
		run := command(t, theirs)
		run.Env = append(run.Env, "XRAY_OPTIONS=patch_premain=true xray_mode=xray-basic xray_logfile_base="+theirs+".log.",
			"XRAY_BASIC_OPTIONS=func_duration_threshold_us=0")
		output(t, run)
		want := output(t, command(t, cairn, "convert", "--format", "folded", "--by", "calls", "--map", theirs, mustGlob(t, theirs+".log.*")[0]))
		_, logs := callLogs(t, "file", build(t, "trace", xrayC, level, source))
		got := output(t, command(t, cairn, "convert", "--format", "folded", "--by", "calls", logs[0].Info().File))
		if got != want || strings.Count(got, "\n") < 20 {
			t.Errorf("%s: stacks are not those of XRay's log:\n%s\nXRay:\n%s", level, got, want)
		}
	}
}
