package nativert

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// timedRuntime compiles the runtime of the timed modes into an archive, with
// more flags if they are given, and returns it.
func timedRuntime(t *testing.T, compiler string, flags ...string) string {
	t.Helper()
	return timedRuntimeFor(t, probe.Options{}, compiler, flags...)
}

// archives are the runtimes that tests share, in archiveDir, which TestMain makes.
var (
	archives   shorttest.Memo[string]
	archiveDir string
)

func TestMain(m *testing.M) {
	os.Exit(withArchives(m))
}

func withArchives(m *testing.M) int {
	dir, err := os.MkdirTemp("", "cairn-nativert-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	archiveDir = dir
	return m.Run()
}

// timedRuntimeFor compiles that for some options. Nobody may change it, or anything
// beside it.
func timedRuntimeFor(t *testing.T, options probe.Options, compiler string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("needs %s", compiler)
	}
	archive, err := archives.Get(fmt.Sprintf("%+v %s %q", options, compiler, flags), func() (string, error) {
		return makeArchive(options, compiler, flags)
	})
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

func makeArchive(options probe.Options, compiler string, flags []string) (string, error) {
	dir, err := os.MkdirTemp(archiveDir, "")
	if err != nil {
		return "", err
	}
	for _, f := range Sources() {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
			return "", err
		}
	}
	archive := filepath.Join(dir, "libtimed.a")
	members := []string{"rcs", archive}
	common := slices.Concat([]string{"-Os"}, TimedFlags(X86_64))
	if compiler == "gcc" {
		common = append(common, "-Wall", "-Wextra", "-Werror")
	}
	for _, o := range TimedObjects(X86_64, options) {
		if err := compileObject(dir, dir, compiler, slices.Concat(common, flags), o); err != nil {
			return "", err
		}
		members = append(members, o.Name)
	}
	return archive, toolIn(dir, "ar", members...)
}

// objectsMade are the objects of runtimes, by the command that compiles each. Most are the same with other
// options of the runtime.
var objectsMade shorttest.Memo[[]byte]

// compileObject puts an object into dir. It is compiled in src, where the sources are, if no test has compiled it
// with this compiler and these flags.
func compileObject(dir, src, compiler string, flags []string, o Object) error {
	file := filepath.Join(dir, o.Name)
	data, err := objectsMade.Get(fmt.Sprintf("%s %q %q", compiler, flags, o.Args), func() ([]byte, error) {
		if err := toolIn(src, compiler, slices.Concat(flags, []string{"-c", "-o", file}, o.Args)...); err != nil {
			return nil, err
		}
		return os.ReadFile(file)
	})
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// toolIn runs a tool that is to succeed in a directory.
func toolIn(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

func runTool(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	if err := toolIn(dir, name, args...); err != nil {
		t.Fatal(err)
	}
}

// withUnwinder are the linker's flags that bring the unwinder to a C program.
var withUnwinder = []string{"-Wl,--push-state,--no-as-needed", "-lgcc_s", "-Wl,--pop-state"}

// timedProgram builds a program of testdata/timed with the runtime.
func timedProgram(t *testing.T, compiler, archive string, sources []string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	args := []string{"-O2", "-g", "-pthread", "-o", program}
	for _, s := range sources {
		args = append(args, filepath.Join("testdata", "timed", s))
	}
	args = append(append(args, archive, "-Wl,-u,__cairn_preinit"), flags...)
	runTool(t, ".", compiler, args...)
	return program
}

// runTimed runs a program with CAIRN_SPIKE and returns what it prints and its logs.
func runTimed(t *testing.T, spike string, argv ...string) (string, []*spikeLog) {
	t.Helper()
	stdout, stderr, logs := execTimed(t, spike, argv...)
	if stderr != "" && !strings.Contains(spike, "stderr") {
		t.Errorf("%q says %s", argv, stderr)
	}
	return stdout, logs
}

// execTimed is runTimed for a program that may print errors.
func execTimed(t *testing.T, spike string, argv ...string) (stdout, stderr string, logs []*spikeLog) {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "CAIRN_SPIKE="+spike, "CAIRN_DIR="+dir, "ASAN_OPTIONS=detect_leaks=0")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, errs.String())
	}
	return out.String(), errs.String(), readLogs(t, dir)
}

// one is the only log.
func one(t *testing.T, logs []*spikeLog) *spikeLog {
	t.Helper()
	if len(logs) != 1 {
		t.Fatalf("%d logs, want 1", len(logs))
	}
	return logs[0]
}

// truth is a call as the program itself saw it: from outside and from inside.
type truth struct {
	tid                                        uint32
	outerStart, outerEnd, innerStart, innerEnd uint64
}

func readTruth(t *testing.T, text string) []truth {
	t.Helper()
	var out []truth
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		var x truth
		if _, err := fmt.Sscan(s.Text(), &x.tid, &x.outerStart, &x.outerEnd, &x.innerStart, &x.innerEnd); err != nil {
			t.Fatalf("%q: %v", s.Text(), err)
		}
		out = append(out, x)
	}
	return out
}

// checkPlanted compares a log with what the program saw. A host that stalls
// makes real spikes, so nothing is said of numbers: what is reported was as
// long, its interval holds the truth, and what was longer than the log's reach
// is reported. It returns how many calls were found of those that reach the
// threshold.
func checkPlanted(t *testing.T, l *spikeLog, calls []truth) (found, due int) {
	t.Helper()
	for _, e := range l.episodes {
		if e.lo < e.t || e.hi < e.lo {
			t.Errorf("episode of %d..%d, threshold %d", e.lo, e.hi, e.t)
		}
	}
	// No entry is known worse than to the worst interval of the clock, which counts
	// whole microseconds.
	reach := l.trailer.threshold + l.trailer.worst + 2000
	matched := map[uint64]bool{}
	for _, c := range calls {
		var hit *spikeEpisode
		for i, e := range l.episodes {
			if e.tid == c.tid && e.end >= c.innerEnd && e.end <= c.outerEnd {
				hit = &l.episodes[i]
				matched[e.number] = true
			}
		}
		inner, outer := c.innerEnd-c.innerStart, c.outerEnd-c.outerStart
		if inner >= l.trailer.threshold {
			due++
		}
		switch {
		case hit != nil:
			found++
			if outer < l.trailer.threshold {
				t.Errorf("a call of %d ns is reported, threshold %d", outer, l.trailer.threshold)
			}
			if hit.lo > outer || hit.hi < inner {
				t.Errorf("reported as %d..%d, was %d..%d", hit.lo, hit.hi, inner, outer)
			}
		case inner >= reach:
			t.Errorf("a call of %d ns is not reported, reach %d; %d borderline, %d slow exits, %d threads seen",
				inner, reach, l.trailer.borderline, l.trailer.slow, l.trailer.threads)
		}
	}
	if len(matched) != len(l.episodes) {
		t.Errorf("%d episodes, %d of them of calls that were made", len(l.episodes), len(matched))
	}
	if n := uint64(len(l.episodes)); l.trailer.dropped != 0 || l.trailer.limited != 0 || l.seen > n || l.seen+l.queued < n {
		t.Errorf("dropped %d, limited %d, seen %d, episodes %d", l.trailer.dropped, l.trailer.limited, l.seen, len(l.episodes))
	}
	if l.trailer.flags&1 == 0 {
		t.Error("the trailer is not final")
	}
	return found, due
}

// TestTimedPlanted compares what is reported with calls of known length.
func TestTimedPlanted(t *testing.T) {
	t.Parallel()
	archive := timedRuntime(t, "gcc")
	program := timedProgram(t, "gcc", archive, []string{"planted.c"}, withUnwinder...)
	const threshold = 2000 // us
	lengths := []string{}
	for _, x := range []float64{0.5, 0.9, 1.05, 1.25, 1.5, 2, 10} {
		lengths = append(lengths, strconv.Itoa(int(threshold*x)))
	}
	for kind, name := range map[string]string{"b": "busy", "s": "sleep", "p": "faults", "m": "mutex"} {
		t.Run(name, func(t *testing.T) {
			out, logs := runTimed(t, "threshold=2ms,rate=100000", append([]string{program, kind, "15"}, lengths...)...)
			l := one(t, logs)
			found, due := checkPlanted(t, l, readTruth(t, out))
			t.Logf("%d of %d found, %d borderline, blind %.1f ms, worst gap %.1f ms, %d slow exits",
				found, due, l.trailer.borderline, float64(l.trailer.blind)/1e6, float64(l.trailer.worst)/1e6, l.trailer.slow)
			for _, e := range l.episodes {
				if len(e.stack) < 3 || e.flags&0xc != 0 {
					t.Errorf("a stack of %d entries, flags %#x", len(e.stack), e.flags)
				}
			}
		})
	}
	t.Run("threads", func(t *testing.T) {
		out, logs := runTimed(t, "threshold=2ms,rate=100000", program, "-64", "b", "4", "1000", "3000", "6000")
		checkPlanted(t, one(t, logs), readTruth(t, out))
	})
	t.Run("idle", func(t *testing.T) {
		out, logs := runTimed(t, "threshold=10ms,rate=100000", program, "s", "2", "1400000", "12600", "17000")
		l := one(t, logs)
		checkPlanted(t, l, readTruth(t, out))
		if l.trailer.idle == 0 && l.trailer.blind == 0 {
			t.Error("the clock went slowly and does not say so")
		}
	})
	t.Run("starved", func(t *testing.T) {
		if _, err := exec.LookPath("taskset"); err != nil {
			t.Skip("needs taskset")
		}
		argv := []string{"taskset", "-c", "0", program, "-4", "b", "8", "1500", "2500", "4000"}
		out, logs := runTimed(t, "threshold=2ms,rate=100000", argv...)
		checkPlanted(t, one(t, logs), readTruth(t, out))
		// Without the right to go before others the clock is late.
		if _, err := exec.LookPath("setpriv"); err != nil || os.Getuid() != 0 {
			t.Skip("needs setpriv and root")
		}
		argv = append([]string{"setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"}, argv...)
		out, logs = runTimed(t, "threshold=2ms,rate=100000", argv...)
		l := one(t, logs)
		found, due := checkPlanted(t, l, readTruth(t, out))
		t.Logf("%d of %d found, blind %.1f ms, worst gap %.1f ms, %d stalls", found, due,
			float64(l.trailer.blind)/1e6, float64(l.trailer.worst)/1e6, len(l.stalls))
		if l.trailer.worst > 3*l.trailer.period && l.trailer.blind == 0 {
			t.Error("the clock was late and does not say so")
		}
	})
}

// shared are the names that modules find each other by.
var shared = []string{"__cairn_process"}

// TestTimedSize checks the size of the members, that they export only the names by which
// modules find each other, and that they need nothing that a program may lack.
func TestTimedSize(t *testing.T) {
	t.Parallel()
	options := probe.Options{Timing: probe.Timing{Flight: true}}
	archive := timedRuntimeFor(t, options, "gcc")
	var total uint64
	for _, o := range TimedObjects(X86_64, options) {
		object := filepath.Join(filepath.Dir(archive), o.Name)
		f, err := elf.Open(object)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, s := range f.Sections {
			if s.Flags&elf.SHF_ALLOC != 0 && s.Type != elf.SHT_NOBITS && o.Name != "timed_mark.o" && !strings.HasPrefix(o.Name, "tree") && !strings.HasPrefix(o.Name, "flight") {
				total += s.Size
			}
		}
		checkSymbols(t, object, shared...)
	}
	t.Logf("%d bytes", total)
	if total > 100<<10 {
		t.Errorf("%d bytes, 100 KiB are allowed", total)
	}
}

// TestTimedMemory: what a process has once is not in each module's variables.
func TestTimedMemory(t *testing.T) {
	t.Parallel()
	archive := timedRuntimeFor(t, probe.Options{}, "gcc")
	program := timedProgram(t, "gcc", archive, []string{"registers.c", "registers.S"}, withUnwinder...)
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if bss := f.Section(".bss"); bss != nil && bss.Size > 16<<10 {
		t.Errorf(".bss has %d bytes", bss.Size)
	}
}
