package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cairnprof/cairn/format/xray"
)

const (
	// defaultTraceRows make SQLite call and return 51 million times.
	defaultTraceRows = 26400
	traceRuns        = 5 // interleaved, of every measurement of cairn
	// llvmBytes is what llvm-xray needs of memory for a byte of log, and some more.
	llvmBytes = 24
)

// A tracedRun is a log and what reading it cost.
type tracedRun struct {
	file    string
	bytes   int64
	records int64
	one     readCost // on one core
	two     readCost // on two
}

// A readCost is what a command needed.
type readCost struct {
	seconds float64 // clock time, median
	peak    float64 // memory, largest of the runs, in MB
}

// trace measures how fast logs of SQLite become stacks, next to llvm-xray, and
// writes TRACE.md.
func (b *bench) trace(ctx context.Context) error {
	dir := filepath.Join(b.out, "trace")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	program, err := b.buildTraced(ctx, dir)
	if err != nil {
		return err
	}
	logs := make([]*tracedRun, 0, 5)
	for _, rows := range []int{b.traceRows / 8, b.traceRows / 4, b.traceRows / 2, b.traceRows, 2 * b.traceRows} {
		fmt.Fprintf(b.log, "tracing SQLite on %d rows\n", rows)
		l, err := recordTrace(ctx, dir, program, rows)
		if err != nil {
			return err
		}
		logs = append(logs, l)
	}
	for _, l := range logs {
		if err := b.stacks(ctx, program, l); err != nil {
			return err
		}
	}
	llvm, compared, err := b.llvmStack(ctx, program, logs[:len(logs)-1])
	if err != nil {
		return err
	}
	counted, err := b.countTraced(ctx, dir, program)
	if err != nil {
		return err
	}
	if err := b.reportTrace(ctx, logs, compared, llvm, counted); err != nil {
		return err
	}
	return os.RemoveAll(dir) // gigabytes
}

// buildTraced builds SQLite and the workload so that XRay traces every call.
func (b *bench) buildTraced(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "speed")
	fmt.Fprintln(b.log, "building SQLite for XRay")
	_, err := output(ctx, b.out, "clang-22", "-O1", "-g", "-w", "-fxray-instrument", "-fxray-instruction-threshold=1",
		"speed.c", "sqlite3.c", filepath.Join(b.root, "proof/oracle/testdata/xray/fdr.c"), "-o", program, "-lm", "-lpthread")
	return program, err
}

// recordTrace runs the workload and returns its log, of which nothing is missing.
func recordTrace(ctx context.Context, dir, program string, rows int) (*tracedRun, error) {
	const buffer = 16384
	// A row is about 2000 records of 8 bytes; the rest is room to spare.
	buffers := rows*2600*8/buffer + 500
	base := fmt.Sprintf("%s/log%d.", dir, rows)
	env := []string{
		"XRAY_OPTIONS=xray_logfile_base=" + base,
		fmt.Sprintf("XRAY_FDR=func_duration_threshold_us=0 buffer_size=%d buffer_max=%d", buffer, buffers),
	}
	if _, err := finish(command(ctx, dir, env, program, strconv.Itoa(rows), "speed.db")); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(base + "*")
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, fmt.Errorf("%d logs %s*, want one", len(files), base)
	}
	l := &tracedRun{file: files[0]}
	if l.records, l.bytes, err = countRecords(l.file); err != nil {
		return nil, err
	}
	if l.bytes > int64(buffers-1)*buffer {
		return nil, fmt.Errorf("%s: the ring of %d buffers was too small", l.file, buffers)
	}
	return l, nil
}

// countRecords returns the number of events in a log, and its size.
func countRecords(file string) (records, bytes int64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	log, err := xray.Open(f, info.Size(), file)
	if err != nil {
		return 0, 0, err
	}
	for i, t := range log.Threads() {
		for batch, err := range log.Batches(i, 0, t.Parts) {
			if err != nil {
				return 0, 0, err
			}
			records += int64(len(batch.Events))
		}
	}
	return records, info.Size(), nil
}

// stacks measures `cairn stacks` on one core and on two, in turn.
func (b *bench) stacks(ctx context.Context, program string, l *tracedRun) error {
	fmt.Fprintf(b.log, "cairn stacks, %s records\n", millions(l.records))
	costs := [...]*readCost{&l.one, &l.two}
	var seconds [len(costs)][]float64
	for range traceRuns {
		for i, c := range costs {
			s, peak, err := runTimed(ctx, []string{"GOMAXPROCS=" + strconv.Itoa(i+1)}, b.cairn, "stacks", "--map", program, l.file)
			if err != nil {
				return err
			}
			seconds[i] = append(seconds[i], s)
			c.peak = max(c.peak, peak)
		}
	}
	for i, c := range costs {
		c.seconds = median(seconds[i])
	}
	return nil
}

// llvmStack measures llvm-xray on the largest of the logs for which there is
// memory, once: it takes long and always as long.
func (b *bench) llvmStack(ctx context.Context, program string, logs []*tracedRun) (readCost, *tracedRun, error) {
	l := logs[0]
	for _, next := range logs[1:] {
		if next.bytes*llvmBytes < availableMemory() {
			l = next
		}
	}
	fmt.Fprintf(b.log, "llvm-xray stack, %s records\n", millions(l.records))
	s, peak, err := runTimed(ctx, nil, "llvm-xray-22", "stack", "--keep-going", "-m", program, l.file)
	return readCost{s, peak}, l, err
}

// runTimed runs a command and returns how long it took and its peak memory in MB.
func runTimed(ctx context.Context, env []string, argv ...string) (seconds, peak float64, err error) {
	return timeOf(command(ctx, "", env, argv...))
}

// timeOf does what runTimed does.
func timeOf(cmd *exec.Cmd) (seconds, peak float64, err error) {
	var said lastBytes
	cmd.Stdout, cmd.Stderr = io.Discard, &said
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, said.text)
	}
	seconds = time.Since(start).Seconds()
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		peak = float64(usage.Maxrss) * 1024 / 1e6
	}
	return seconds, peak, nil
}

// lastBytes keeps the end of what is written: llvm-xray writes a line for every
// record that it does not like.
type lastBytes struct{ text []byte }

func (l *lastBytes) Write(p []byte) (int, error) {
	const keep = 1000
	l.text = append(l.text, p[max(0, len(p)-keep):]...)
	if len(l.text) > keep {
		l.text = slices.Delete(l.text, 0, len(l.text)-keep)
	}
	return len(p), nil
}

// availableMemory returns the bytes that programs can have without others
// being put off, or 0 if the kernel does not say.
func availableMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemAvailable:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				return 0
			}
			return kb * 1024
		}
	}
	return 0
}

// tracedCount is what callgrind counts, for the difference of two logs, so that
// starting is not in it.
type tracedCount struct {
	records     int64
	ours, llvms float64 // instructions a record
}

var collectedTrace = regexp.MustCompile(`Collected : (\d+)`)

// countTraced counts instructions on two small logs.
func (b *bench) countTraced(ctx context.Context, dir, program string) (*tracedCount, error) {
	var ours, llvms [2]int64
	var logs [2]*tracedRun
	for i, rows := range []int{200, 600} {
		l, err := recordTrace(ctx, dir, program, rows)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(b.log, "counting instructions, %d records\n", l.records)
		// One thread, and none that is interrupted by the scheduler's signals.
		env := []string{"GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1"}
		if ours[i], err = instructions(ctx, dir, env, b.cairn, "stacks", "--map", program, l.file); err != nil {
			return nil, err
		}
		if llvms[i], err = instructions(ctx, dir, nil, "llvm-xray-22", "stack", "--keep-going", "-m", program, l.file); err != nil {
			return nil, err
		}
		logs[i] = l
	}
	c := &tracedCount{records: logs[1].records}
	more := float64(logs[1].records - logs[0].records)
	c.ours, c.llvms = float64(ours[1]-ours[0])/more, float64(llvms[1]-llvms[0])/more
	return c, nil
}

func instructions(ctx context.Context, dir string, env []string, argv ...string) (int64, error) {
	log := filepath.Join(dir, "callgrind.log")
	cmd := command(ctx, dir, env, append([]string{"valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-file=" + log}, argv...)...)
	var said lastBytes
	cmd.Stdout, cmd.Stderr = io.Discard, &said
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, said.text)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		return 0, err
	}
	m := collectedTrace.FindSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("callgrind counted nothing: %s", text)
	}
	return strconv.ParseInt(string(m[1]), 10, 64)
}

// rate returns millions of records a second.
func (l *tracedRun) rate(c readCost) float64 { return float64(l.records) / 1e6 / c.seconds }

// reportTrace writes TRACE.md.
func (b *bench) reportTrace(ctx context.Context, logs []*tracedRun, compared *tracedRun, llvm readCost, counted *tracedCount) error {
	half, whole := logs[len(logs)-2], logs[len(logs)-1]
	faster := llvm.seconds / compared.two.seconds
	var text bytes.Buffer
	b.writeHead(ctx, &text, "Reading call traces", traceHead, traceTools)
	growth := whole.two.peak/half.two.peak - 1
	writeTargets(&text, []target{
		{"records in the log that llvm-xray reads too", ">= 50 million", millions(compared.records), compared.records >= 50e6},
		{"stacks, against llvm-xray stack", ">= 20x as fast", fmt.Sprintf("%.1fx", faster), faster >= 20},
		{"peak memory of stacks, that log", "<= 300 MB", fmt.Sprintf("%.0f MB", compared.two.peak), compared.two.peak <= 300},
		{"the same, growth for twice the log", "<= +10.00 %", percent(growth), growth <= 0.1},
		{"records per second, one core", ">= 40 million", fmt.Sprintf("%.1f million", half.rate(half.one)), half.rate(half.one) >= 40},
		{"two cores against one", ">= 1.70x", fmt.Sprintf("%.2fx", half.one.seconds/half.two.seconds), half.one.seconds/half.two.seconds >= 1.7},
	})
	text.WriteString(traceNotes)
	rows := [][]string{{"log", "bytes", "records", "seconds, 1 core", "M records/s", "seconds, 2 cores", "M records/s", "peak memory"}}
	for _, l := range logs {
		rows = append(rows, []string{
			fmt.Sprintf("%.1fx", float64(l.records)/float64(logs[0].records)), thousands(l.bytes), thousands(l.records),
			fmt.Sprintf("%.3f", l.one.seconds), fmt.Sprintf("%.1f", l.rate(l.one)),
			fmt.Sprintf("%.3f", l.two.seconds), fmt.Sprintf("%.1f", l.rate(l.two)), fmt.Sprintf("%.0f MB", l.two.peak),
		})
	}
	fmt.Fprint(&text, "## Cost against the size of the log\n\n")
	table(&text, rows)
	fmt.Fprintf(&text, "## Against llvm-xray\n\nThe log of %s records.\n\n", thousands(compared.records))
	table(&text, [][]string{
		{"command", "seconds", "M records/s", "peak memory", "instructions a record"},
		{"cairn stacks, 2 cores", fmt.Sprintf("%.3f", compared.two.seconds), fmt.Sprintf("%.1f", compared.rate(compared.two)), fmt.Sprintf("%.0f MB", compared.two.peak), ""},
		{"cairn stacks, 1 core", fmt.Sprintf("%.3f", compared.one.seconds), fmt.Sprintf("%.1f", compared.rate(compared.one)), fmt.Sprintf("%.0f MB", compared.one.peak), fmt.Sprintf("%.0f", counted.ours)},
		{"llvm-xray stack --keep-going", fmt.Sprintf("%.3f", llvm.seconds), fmt.Sprintf("%.1f", compared.rate(llvm)), fmt.Sprintf("%.0f MB", llvm.peak), fmt.Sprintf("%.0f", counted.llvms)},
	})
	if _, err := os.Stdout.Write(text.Bytes()); err != nil || b.traceRows != defaultTraceRows {
		return err
	}
	return os.WriteFile(filepath.Join(b.root, "bench", "TRACE.md"), text.Bytes(), 0o644)
}

func millions(n int64) string { return fmt.Sprintf("%.1f million", float64(n)/1e6) }

// traceHead says how far the figures can be trusted.
const traceHead = `Times are clock time of whole commands: compare
them within this report only. Instruction counts repeat within a percent.`

var traceTools = [][]string{
	{"clang", "clang-22", "--version"},
	{"llvm-xray", "llvm-xray-22", "--version"},
	{"valgrind", "valgrind", "--version"},
}

// traceNotes say how to read the tables.
const traceNotes = `## How to read this

The logs are of SQLite, the amalgamation and ` + "`proof/bench/c/speed.c`" + ` at -O1, with every
function traced by XRay's flight data recorder and nothing left out: one thread. A
record is a call that begins or ends. Times are those of the whole command, which names
functions too, median of five, with the log in the page cache; one core is GOMAXPROCS=1.
Memory is the largest resident set. llvm-xray is run once; it puts logs that cross a
second of the clock in a wrong order and drops stacks for it, so its answer is another.
Instructions are callgrind's, of the difference between two small logs.

`
