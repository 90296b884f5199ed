//go:build linux && amd64

package oracle

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

var sqliteLogs struct {
	sync.Once
	basic, fdr *xrayLog
	err        error
}

// recordSQLite traces every call of SQLite on a script, once for all tests, in
// both modes. llvm-xray can judge the basic log only: it brings blocks of FDR logs
// out of order.
func recordSQLite(t *testing.T) (basic, fdr *xrayLog) {
	t.Helper()
	skipLong(t)
	mustHave(t, xrayC)
	dir := goModule(t, sqliteModule)
	s := &sqliteLogs
	s.Do(func() { s.basic, s.fdr, s.err = traceSQLite(t, dir) })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.basic, s.fdr
}

func traceSQLite(t *testing.T, dir string) (basic, fdr *xrayLog, err error) {
	out, err := os.MkdirTemp(workDir, "xray-sqlite-")
	if err != nil {
		return nil, nil, err
	}
	program := filepath.Join(out, "sqlite")
	build := command(t, xrayC, "-O1", "-g", "-w", "-fxray-instrument", "-fxray-instruction-threshold=1", "-I"+dir,
		"-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION", filepath.Join("testdata", "sqlite.c"),
		filepath.Join(dir, "sqlite3-binding.c"), filepath.Join(xrayDir, "fdr.c"), "-lm", "-o", program)
	if said, err := build.CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w\n%s", build, err, said)
	}
	log := func(name string, env ...string) (*xrayLog, error) {
		run := command(t, program, sqliteArgs(t, "3")...)
		run.Env = append(run.Env, env...)
		if said, err := run.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", run, err, said)
		}
		logs, err := filepath.Glob(filepath.Join(out, name+".*"))
		if err != nil || len(logs) != 1 {
			return nil, fmt.Errorf("SQLite left %d logs: %w", len(logs), err)
		}
		return &xrayLog{name: name + "-sqlite", file: logs[0], elf: program, maps: []string{program}, truth: parseXRayTruth(t, "")}, nil
	}
	if basic, err = log("basic", "XRAY_OPTIONS=patch_premain=true xray_mode=xray-basic xray_logfile_base="+out+"/basic.",
		"XRAY_BASIC_OPTIONS="+allDepth); err != nil {
		return nil, nil, err
	}
	fdr, err = log("fdr", "XRAY_OPTIONS=xray_logfile_base="+out+"/fdr.", "XRAY_FDR="+allCalls+"buffer_max=20000")
	return basic, fdr, err
}

// TestXRaySQLiteFDR compares an FDR log of thousands of blocks with a basic log of the same
// work, which llvm-xray has judged: all stacks have as many calls.
func TestXRaySQLiteFDR(t *testing.T) {
	t.Parallel()
	basic, fdr := recordSQLite(t)
	want := parseFolded(t, onLog(t, basic, "stacks", "--folded", "--by", "count"))
	got := parseFolded(t, onLog(t, fdr, "stacks", "--folded", "--by", "count"))
	c := tally{t: t}
	for stack, n := range want {
		c.check(got[stack] == n, "%s: %d calls, %d in the basic log", stack, got[stack], n)
	}
	for stack, n := range got {
		c.check(want[stack] != 0, "%s: %d calls, none in the basic log", stack, n)
	}
	c.done(fmt.Sprintf("stacks of %d calls", sum(want)))
	one := parseFolded(t, onLog(t, fdr, "stacks", "--folded", "--jobs", "1"))
	if two := parseFolded(t, onLog(t, fdr, "stacks", "--folded", "--jobs", "2")); !maps.Equal(one, two) {
		t.Error("two cores come to other times than one")
	}
}
