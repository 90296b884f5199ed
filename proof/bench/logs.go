package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	logRuns = 3 // of every measurement of cairn
	logRows = 1650
)

// A logKind is a log that is hard to read in a way of its own.
type logKind struct {
	name    string
	file    string
	program string
	records int64
	peer    string // what llvm-xray is given, "" if it cannot read it
	verbs   []logVerb
}

// A logVerb is a command on a log, and that of llvm-xray for the same purpose.
type logVerb struct{ cairn, llvm []string }

var (
	stackVerb   = logVerb{[]string{"stacks"}, []string{"stack", "--keep-going"}}
	convertVerb = logVerb{[]string{"convert", "--format", "yaml", "-o", "/dev/null"}, []string{"convert", "--symbolize", "--output-format=yaml", "-o", "/dev/null"}}
	queryVerbs  = []logVerb{
		{[]string{"query", "SELECT function, count(*), max(duration) FROM calls GROUP BY func"}, nil},
		{[]string{"query", "SELECT function, duration FROM calls WHERE begin BETWEEN 100000000 AND 101000000"}, nil},
		{[]string{"query", "--calls", "calls.parquet"}, nil},
		{[]string{"account", "--from", "100ms", "--to", "101ms"}, nil},
	}
)

// logs measures what reading logs of all kinds costs, next to llvm-xray, and writes
// LOGS.md.
func (b *bench) logs(ctx context.Context) error {
	dir := filepath.Join(b.out, "logs")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	kinds, err := b.makeLogs(ctx, dir)
	if err != nil {
		return err
	}
	var tables bytes.Buffer
	for _, k := range kinds {
		rows := [][]string{{"command", "seconds", "M records/s", "bytes read", "peak memory"}}
		for _, v := range k.verbs {
			more, err := b.readLog(ctx, dir, &k, v)
			if err != nil {
				return err
			}
			rows = append(rows, more...)
		}
		info, err := os.Stat(k.file)
		if err != nil {
			return err
		}
		fmt.Fprintf(&tables, "## %s\n\n%s records, %s bytes.\n\n", k.name, thousands(k.records), thousands(info.Size()))
		table(&tables, rows)
	}
	var text bytes.Buffer
	b.writeHead(ctx, &text, "Reading logs of all kinds", logsHead, [][]string{{"clang", "clang-22", "--version"}, {"llvm-xray", "llvm-xray-22", "--version"}})
	text.WriteString(logsNotes)
	text.Write(tables.Bytes())
	if _, err := os.Stdout.Write(text.Bytes()); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(b.root, "bench", "LOGS.md"), text.Bytes(), 0o644); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// makeLogs records the logs.
func (b *bench) makeLogs(ctx context.Context, dir string) ([]logKind, error) {
	program, err := b.buildTraced(ctx, dir)
	if err != nil {
		return nil, err
	}
	calls := filepath.Join(dir, "calls")
	if _, err := output(ctx, b.out, "clang-22", "-O1", "-g", "-fxray-instrument", "-fxray-instruction-threshold=1",
		"calls.c", filepath.Join(b.root, "proof/oracle/testdata/xray/fdr.c"), "-o", calls); err != nil {
		return nil, err
	}
	recorder := "XRAY_FDR=func_duration_threshold_us=0 buffer_size=16384 buffer_max=5000"
	basic := "XRAY_BASIC_OPTIONS=func_duration_threshold_us=0 max_stack_depth=65536"
	kinds := []logKind{
		{name: "Flight data recorder", program: program, verbs: append([]logVerb{stackVerb}, queryVerbs...)},
		{name: "Basic mode", program: program, verbs: []logVerb{stackVerb, convertVerb}},
		{name: "YAML", program: program, verbs: []logVerb{stackVerb}},
		{name: "Deep recursion", program: calls, verbs: []logVerb{stackVerb}},
		{name: "Many stacks", program: calls, verbs: []logVerb{stackVerb}},
	}
	basicMode := "patch_premain=true xray_mode=xray-basic "
	for i, run := range []struct {
		options, env string
		args         []string
	}{
		{"", recorder, []string{strconv.Itoa(logRows), "speed.db"}},
		{basicMode, basic, []string{strconv.Itoa(logRows), "speed.db"}},
		{basicMode, basic, []string{strconv.Itoa(logRows / 8), "speed.db"}},
		{"", recorder, []string{"deep", "500"}},
		{"", recorder, []string{"many", "2000000"}},
	} {
		k := &kinds[i]
		base := filepath.Join(dir, fmt.Sprintf("log%d.", i))
		env := []string{"XRAY_OPTIONS=" + run.options + "xray_logfile_base=" + base, run.env}
		if _, err := finish(command(ctx, dir, env, append([]string{k.program}, run.args...)...)); err != nil {
			return nil, err
		}
		files, err := filepath.Glob(base + "*")
		if err != nil || len(files) != 1 {
			return nil, fmt.Errorf("%d logs %s*, want one (%w)", len(files), base, err)
		}
		k.file, k.peer = files[0], files[0]
		if k.records, _, err = countRecords(k.file); err != nil {
			return nil, err
		}
	}
	return kinds, makeYAML(ctx, &kinds[2])
}

// makeYAML makes of a log the YAML that llvm-xray prints, and for itself such as it
// reads: of version 1 only.
func makeYAML(ctx context.Context, k *logKind) error {
	text := k.file + ".yaml"
	if _, err := output(ctx, "", "llvm-xray-22", "convert", "--output-format=yaml", "-o", text, k.file); err != nil {
		return err
	}
	k.file, k.peer = text, text+".1"
	// Not in memory: what this program takes would count as its children's.
	if _, err := output(ctx, "", "cp", k.file, k.peer); err != nil {
		return err
	}
	_, err := output(ctx, "", "sed", "-i", "1,9s/version:  *3$/version: 1/", k.peer)
	return err
}

// readLog measures a verb on a log, and llvm-xray's. What is looked at by time is
// measured without anything in the cache and again.
func (b *bench) readLog(ctx context.Context, dir string, k *logKind, v logVerb) ([][]string, error) {
	fmt.Fprintf(b.log, "%s: %s\n", k.name, v.cairn[0])
	row := func(what string, c logCost) []string {
		return []string{
			what, fmt.Sprintf("%.2f", c.seconds),
			fmt.Sprintf("%.2f", float64(k.records)/1e6/c.seconds), thousands(c.read), fmt.Sprintf("%.0f MB", c.peak),
		}
	}
	var rows [][]string
	shown := strings.Join(v.cairn, " ")
	argv := append([]string{b.cairn, v.cairn[0], "--map", k.program, k.file}, v.cairn[1:]...)
	runs := []string{shown}
	timed := strings.Contains(shown, "--from")
	if timed {
		runs = []string{shown, shown + ", again"}
	}
	cache := filepath.Join(dir, "cache")
	for i, what := range runs {
		var costs []logCost
		for range logRuns {
			if timed && i == 0 {
				if err := os.RemoveAll(cache); err != nil {
					return nil, err
				}
			}
			c, err := costOf(command(ctx, dir, []string{"CAIRN_CACHE=" + cache}, argv...))
			if err != nil {
				return nil, err
			}
			costs = append(costs, c)
		}
		rows = append(rows, row("cairn "+what, middle(costs)))
	}
	if v.llvm == nil {
		return rows, nil
	}
	c, err := costOf(command(ctx, dir, nil, append(append([]string{"llvm-xray-22"}, v.llvm...), "-m", k.program, k.peer)...))
	if err != nil {
		return nil, err
	}
	return append(rows, row("llvm-xray "+strings.Join(v.llvm, " "), c)), nil
}

// A logCost is what a command needed.
type logCost struct {
	seconds float64 // of processors
	peak    float64 // memory, MB
	read    int64   // bytes
}

// middle returns the median time, and the largest memory.
func middle(costs []logCost) logCost {
	var seconds []float64
	c := costs[len(costs)-1]
	for _, one := range costs {
		seconds = append(seconds, one.seconds)
		c.peak = max(c.peak, one.peak)
	}
	c.seconds = median(seconds)
	return c
}

// costOf runs a command. The bytes that it read are asked for when its output has
// ended, and before it is waited for: then they are forgotten.
func costOf(cmd *exec.Cmd) (logCost, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return logCost{}, err
	}
	var said lastBytes
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return logCost{}, err
	}
	_, copied := io.Copy(io.Discard, out)
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", cmd.Process.Pid))
	if err := cmp.Or(cmd.Wait(), copied); err != nil {
		return logCost{}, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, said.text)
	}
	c := logCost{seconds: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.peak = float64(usage.Maxrss) * 1024 / 1e6
	}
	if _, err := fmt.Sscanf(string(text), "rchar: %d", &c.read); err != nil {
		return logCost{}, fmt.Errorf("what a command read: %w", err)
	}
	return c, nil
}

// logsHead says how far the figures can be trusted.
const logsHead = `Seconds are processor time of whole commands, of cairn
the median of three: compare them within this report only.`

// logsNotes say how to read the table.
const logsNotes = `## How to read this

The logs are of XRay. The flight data recorder's, the basic one and the YAML are of
SQLite, the amalgamation and ` + "`proof/bench/c/speed.c`" + ` at -O1; deep recursion and many stacks
of ` + "`proof/bench/c/calls.c`" + `. Nothing is left out of them. A record is a call that begins or ends.
Bytes read are those of system calls, the program's symbols among them; llvm-xray maps
files instead. It is run once, on YAML of version 1, the only one that it reads. With --from
the second run has in the cache what the first left there. All others but the first of the
three find where the blocks of the log are there, which spares reading basic logs and YAML
twice. Memory is the largest resident set.

`
