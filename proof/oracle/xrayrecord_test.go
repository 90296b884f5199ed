//go:build linux && amd64

package oracle

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// xrayDir holds the programs whose calls are traced; logs that were made of them
// once, with the maps of the programs, are beside the reader (xrayFixture).
const xrayDir = "testdata/xray"

const (
	xrayC    = "clang-22"
	xrayCXX  = "clang++-22"
	llvmXRay = "llvm-xray-22"
)

// xrayFlags instrument every function, and leave no call out.
var xrayFlags = []string{
	"-g", "-O1", "-fno-optimize-sibling-calls", "-pthread", "-I" + xrayDir,
	"-fxray-instrument", "-fxray-instruction-threshold=1",
}

// sharedObjects is the number of shared objects of the program objects.
const sharedObjects = 18

// An xrayProgram is a program that records what it calls.
type xrayProgram struct {
	source  string
	flags   []string
	foreign bool // for AArch64
	once    sync.Once
	path    string
	err     error
}

var xrayPrograms = map[string]*xrayProgram{
	"args":       {source: "args.c"},
	"tail":       {source: "tail.c"},
	"events":     {source: "events.c"},
	"typed":      {source: "events.c", flags: []string{"-DTYPED=1"}},
	"threads":    {source: "threads.c", flags: []string{"-no-pie"}},
	"live":       {source: "live.c"},
	"fork":       {source: "fork.c"},
	"leaves":     {source: "leaves.c"},
	"exceptions": {source: "exceptions.cc"},
	"late":       {source: "late.cc"},
	"recursion":  {source: "recursion.c", flags: []string{"-fuse-ld=lld"}},
	"ring":       {source: "ring.c"},
	"killed":     {source: "killed.c"},
	"filter":     {source: "filter.c"},
	"second":     {source: "second.c"},
	"tsc":        {source: "tsc.c"},
	"objects":    {source: "objects.c", flags: []string{"-fxray-shared"}},
	"entries":    {source: "entries.c", flags: []string{"-fxray-instrumentation-bundle=function-entry"}},
	"empty":      {source: "empty.c"},
}

// Programs for AArch64 run in qemu, with LLVM's own runtime for that machine.
const (
	onAArch64     = "-aarch64"
	xrayEmulator  = "qemu-aarch64"
	aarch64System = "/usr/aarch64-linux-gnu"
)

// xrayResources names the directory with that runtime.
var xrayResources = flag.String("xray-aarch64", "", "clang's resource `directory` with XRay's runtime for AArch64: lib/linux/libclang_rt.xray-aarch64.a")

func init() {
	for i := range xrayRecordings {
		if r := &xrayRecordings[i]; r.foreign() && xrayPrograms[r.binary()] == nil {
			xrayPrograms[r.binary()] = &xrayProgram{source: xrayPrograms[r.program()].source, foreign: true}
		}
	}
}

// An xrayRecording is a run of a program that writes a log.
type xrayRecording struct {
	name    string // basic-PROGRAM... or fdr-PROGRAM...
	options string // of the mode
	args    []string
	cut     int    // bytes that are cut off the end of the log
	tsc     bool   // with the time stamp counter as clock, which needs privileges
	facts   string // what the program cannot know, in its way of telling
}

// program is the name of the recording's program.
func (r *xrayRecording) program() string { return strings.Split(r.name, "-")[1] }

// foreign reports whether the program is one for AArch64.
func (r *xrayRecording) foreign() bool { return strings.HasSuffix(r.name, onAArch64) }

// binary names the program and its machine.
func (r *xrayRecording) binary() string {
	if r.foreign() {
		return r.program() + onAArch64
	}
	return r.program()
}

const (
	allCalls = "func_duration_threshold_us=0 "
	noCalls  = "func_duration_threshold_us=60000000 " // what a stalled machine makes long is left out, too
	allDepth = allCalls + "max_stack_depth=1000 "     // of basic mode
	soon     = "grace_period_ms=10 "                  // of FDR mode: how long the end waits for threads
)

var xrayRecordings = []xrayRecording{
	{name: "basic-args", options: allCalls},
	{name: "basic-args-cut", options: allCalls, cut: 1, facts: "open 1\ndamage 1"},
	{name: "basic-tail", options: allCalls},
	{name: "basic-threads", options: allCalls},
	{name: "basic-fork", options: allCalls},
	{name: "basic-leaves", options: allCalls},
	{name: "basic-exceptions", options: allCalls},
	{name: "basic-recursion", options: allDepth},
	{name: "basic-killed", options: allCalls + "thread_buffer_size=64"},
	{name: "basic-filter"},
	{name: "basic-objects", options: allCalls},
	{name: "basic-entries", options: allCalls},
	{name: "basic-empty", options: noCalls},
	{name: "fdr-args", options: allCalls},
	{name: "fdr-args-cut", options: allCalls, cut: 21, facts: "open 2\ndamage 1"},
	{name: "fdr-tail", options: allCalls},
	{name: "fdr-events", options: allCalls},
	{name: "fdr-typed", options: allCalls, facts: "damage 1"},
	{name: "fdr-threads", options: allCalls},
	{name: "fdr-live", options: allCalls},
	{name: "fdr-leaves", options: allCalls},
	{name: "fdr-exceptions", options: allCalls},
	{name: "fdr-late", options: allCalls},
	{name: "fdr-recursion", options: allCalls},
	{name: "fdr-ring", options: allCalls + "buffer_size=512 buffer_max=4"},
	{name: "fdr-filter"},
	{name: "fdr-second", options: allCalls + "buffer_size=1024"},
	{name: "fdr-objects", options: allCalls},
	{name: "fdr-entries", options: allCalls},
	{name: "fdr-empty", options: noCalls},
	{name: "fdr-empty-header", options: noCalls, cut: 80}, // only the header is left
	{name: "fdr-tsc", options: allCalls, tsc: true},
	{name: "basic-args" + onAArch64, options: allCalls},
	{name: "basic-tail" + onAArch64, options: allCalls},
	{name: "basic-leaves" + onAArch64, options: allCalls},
	{name: "basic-exceptions" + onAArch64, options: allCalls},
	{name: "fdr-args" + onAArch64, options: allCalls},
	{name: "fdr-tail" + onAArch64, options: allCalls},
	{name: "fdr-threads" + onAArch64, options: allCalls},
	{name: "fdr-exceptions" + onAArch64, options: allCalls},
	{name: "fdr-recursion" + onAArch64, options: allCalls},
	{name: "fdr-ring" + onAArch64, options: allCalls + "buffer_size=512 buffer_max=4"},
}

// buildXRay returns the program, which is built once.
func buildXRay(t *testing.T, name string) string {
	t.Helper()
	mustHave(t, xrayC)
	mustHave(t, xrayCXX)
	p := xrayPrograms[name]
	p.once.Do(func() { p.path, p.err = p.build(t, name) })
	if p.err != nil {
		if os.Getenv("CI") == "" && strings.Contains(p.err.Error(), "libclang_rt.xray") {
			t.Skipf("XRay's runtime is not installed: %v", p.err)
		}
		t.Fatal(p.err)
	}
	return p.path
}

func (p *xrayProgram) build(t *testing.T, name string) (string, error) {
	dir, err := os.MkdirTemp(workDir, "xray-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	compiler := xrayC
	if strings.HasSuffix(p.source, ".cc") {
		compiler = xrayCXX
	}
	// The part that turns tracing on is C in every program.
	runtimePart := filepath.Join(dir, "fdr.o")
	flags := p.flags
	if p.foreign {
		flags = []string{"-target", "aarch64-linux-gnu", "-resource-dir", *xrayResources, "-fuse-ld=lld", "-Wno-unused-command-line-argument"}
	}
	steps := [][]string{append([]string{xrayC, "-O1", "-c", filepath.Join(xrayDir, "fdr.c"), "-o", runtimePart}, flags...)}
	link := append(append([]string{compiler}, xrayFlags...), flags...)
	link = append(link, filepath.Join(xrayDir, p.source), runtimePart, "-o", path)
	if name == "objects" {
		for n := 1; n <= sharedObjects; n++ {
			lib := filepath.Join(dir, fmt.Sprintf("lib%d.so", n))
			build := append(append([]string{xrayC}, xrayFlags...), "-fxray-shared", "-fPIC", "-shared",
				fmt.Sprintf("-DN=%d", n), filepath.Join(xrayDir, "object.c"), "-o", lib)
			steps = append(steps, build)
			link = append(link, lib)
		}
		link = append(link, "-Wl,-rpath,$ORIGIN")
	}
	for _, argv := range append(steps, link) {
		if out, err := command(t, argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out)
		}
	}
	return path, nil
}

// An xrayLog is a log with what is needed to read and check it.
type xrayLog struct {
	name  string
	file  string
	maps  []string // values of --map
	elf   string   // the program for llvm-xray, "" for a checked-in log
	truth *xrayTruth
}

// program is the name of the log's program.
func (l *xrayLog) program() string { return strings.Split(l.name, "-")[1] }

// record runs the program and returns its log.
func (r *xrayRecording) record(t *testing.T) *xrayLog {
	t.Helper()
	program := buildXRay(t, r.binary())
	dir := t.TempDir()
	env := []string{"XRAY_FDR=" + soon + r.options, "XRAY_OPTIONS=xray_logfile_base=" + dir + "/log."}
	if strings.HasPrefix(r.name, "basic-") {
		env = []string{
			"XRAY_OPTIONS=patch_premain=true xray_mode=xray-basic xray_logfile_base=" + dir + "/log.",
			"XRAY_BASIC_OPTIONS=" + r.options,
		}
	}
	argv := append([]string{program}, r.args...)
	if r.foreign() {
		argv = append([]string{xrayEmulator, "-L", aarch64System}, argv...)
	}
	if r.tsc {
		argv = withTSC(t, argv)
	}
	cmd := command(t, argv[0], argv[1:]...)
	cmd.Env = append(cmd.Env, env...)
	said := output(t, cmd) + r.facts
	logs, err := filepath.Glob(filepath.Join(dir, "log.*"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%s left %d logs: %v", r.name, len(logs), err)
	}
	if r.cut > 0 {
		info, err := os.Stat(logs[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(logs[0], info.Size()-int64(r.cut)); err != nil {
			t.Fatal(err)
		}
	}
	l := &xrayLog{name: r.name, file: logs[0], elf: program, maps: []string{program}, truth: parseXRayTruth(t, said)}
	for number, file := range l.truth.objects {
		if number > 0 {
			l.maps = append(l.maps, fmt.Sprintf("%d=%s", number, filepath.Join(filepath.Dir(program), file)))
		}
	}
	return l
}

// withTSC returns a command that runs argv where XRay's runtime finds out the
// rate of the time stamp counter, which it does not on most virtual machines:
// in a namespace of its own, where a file says it.
func withTSC(t *testing.T, argv []string) []string {
	t.Helper()
	if runtime.NumCPU() < 2 {
		t.Skip("one CPU only: no thread can move")
	}
	needsRDTSCP(t)
	const cpu0 = "/sys/devices/system/cpu/cpu0"
	within := []string{"unshare", "-m", "sh", "-ec", `mount -t tmpfs none ` + cpu0 + `; echo "$1" >` + cpu0 + `/tsc_freq_khz; shift; exec "$@"`, "sh"}
	if out, err := exec.Command(within[0], append(within[1:], "1", "true")...).CombinedOutput(); err != nil {
		t.Skipf("no mount namespace may be made here: %v: %s", err, out)
	}
	return append(append(within, strconv.Itoa(tscKHz(t))), argv...)
}

// needsRDTSCP skips a test if the processor does not have the instruction, which virtual machines may
// hide. XRay then asks the system for the time. Its records have no number of a CPU, and where that
// takes microseconds all calls are long, so cairn does not know that short ones were not filtered.
func needsRDTSCP(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil || !slices.Contains(strings.Fields(string(text)), "rdtscp") {
		t.Skip("XRay needs the instruction rdtscp")
	}
}

// tscKHz returns the rate of the CPU as the kernel has measured it.
func tscKHz(t *testing.T) int {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "cpu MHz" {
			mhz, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(mhz * 1000)
		}
	}
	t.Skip("/proc/cpuinfo has no rate")
	return 0
}
