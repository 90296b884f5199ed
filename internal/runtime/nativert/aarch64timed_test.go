package nativert

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/prof"
)

// timed makes an archive of members for a timed mode.
func (c *cross) timed(objects []Object) string {
	c.t.Helper()
	archive := filepath.Join(c.t.TempDir(), "libtimed.a")
	members := []string{"rcs", archive}
	for _, o := range objects {
		if err := compileObject(c.dir, c.dir, crossCompiler, append([]string{"-Oz"}, TimedFlags(AArch64)...), o); err != nil {
			c.t.Fatal(err)
		}
		members = append(members, o.Name)
	}
	c.command("ar", members...)
	return archive
}

// calls builds calls.c with the code of a timed mode, which is a macro of timed.S. Its
// functions are where its symbols say.
func (c *cross) calls(archive string, macros ...string) string {
	c.t.Helper()
	return c.linked(crossCompiler, archive, slices.Concat([]string{"-no-pie"}, withUnwinder), macros...)
}

// linked does so by a compiler, with flags for the linker.
func (c *cross) linked(compiler, archive string, flags []string, macros ...string) string {
	c.t.Helper()
	program := filepath.Join(c.t.TempDir(), "calls")
	args := []string{"-O1", "-mbranch-protection=standard", "-o", program}
	for _, m := range macros {
		args = append(args, "-D"+m)
	}
	c.command(compiler, slices.Concat(args, c.sources("timed.S", "registers.S", "calls.c"), []string{archive, "-pthread", "-Wl,--build-id,-u,__cairn_preinit"}, flags)...)
	return program
}

// logged runs a program of a timed mode that leaves one log.
func (c *cross) logged(program string, args ...string) string {
	c.t.Helper()
	return c.loggedBy(nil, program, args...)
}

// loggedBy does so with options for the emulator.
func (c *cross) loggedBy(qemu []string, program string, args ...string) string {
	c.t.Helper()
	e := c.start(execution{qemu: qemu, before: c.limit, env: []string{"CAIRN_SPIKE=threshold=5ms,rate=1000"}}, program, args...)
	logs, err := filepath.Glob(filepath.Join(e.dir, "d", "*.cairnlog"))
	if err != nil || e.err != nil || e.output != "" || len(logs) != 1 {
		c.t.Fatalf("%s %q: %v, logs %q, output:\n%s", filepath.Base(program), args, e.err, logs, e.output)
	}
	return logs[0]
}

// TestAArch64Timed: the timed modes find what programs do, and their code keeps all registers
// that it must.
func TestAArch64Timed(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	c := newCross(t)
	run := func(name string, test func(*cross)) {
		t.Run(name, func(t *testing.T) {
			own := *c
			own.t = t
			test(&own)
		})
	}
	run("spike", func(c *cross) { c.spikes("SPIKE", probe.Options{Mode: prof.ModeSpike}) })
	run("exact", func(c *cross) {
		c.spikes("EXACT", probe.Options{Mode: prof.ModeSpike, Timing: probe.Timing{Exact: true}})
	})
	run("flight", func(c *cross) {
		c.spikes("FLIGHT", probe.Options{Mode: prof.ModeSpike, Timing: probe.Timing{Flight: true}})
	})
	run("stacks", (*cross).stacks)
	run("trace", (*cross).trace)
}

// within returns the function of a test program that an address is in.
func within(symbols map[string]uint64, pc uint64) (name string) {
	for _, f := range []string{"outer", "middle", "nap", "quick", "last", "vectors_kept", "registers_kept", "work", "main"} {
		if at := symbols[f]; at < pc && (name == "" || at > symbols[name]) {
			name = f
		}
	}
	return name
}

// spikes: calls that take long are found with their stacks, and their callers. On a machine
// that is busy there may be others, and the coarse clock may be late for some.
func (c *cross) spikes(macro string, options probe.Options) {
	t := c.t
	program := c.calls(c.timed(TimedObjects(AArch64, options)), macro)
	l := readLogs(t, filepath.Dir(c.logged(program, "registers", "20")))[0]
	if l.trailer.slow < 2 {
		t.Errorf("%d slow exits", l.trailer.slow)
	}
	l = readLogs(t, filepath.Dir(c.logged(program, "threads", "40")))[0]
	symbols, found := addresses(t, program), 0
	for _, e := range l.episodes {
		if within(symbols, e.stack[0].pc) != "nap" {
			continue
		}
		found++
		stack := ""
		for _, x := range e.stack[:min(len(e.stack), 4)] {
			stack += " " + within(symbols, x.pc)
		}
		if stack != " nap middle outer work" {
			t.Errorf("a stack of%s", stack)
			continue
		}
		// Callers take as long as what they call, but for the error of the rate of ticks: it is measured again
		// while the program runs, so that the two may be by different rates.
		least := e.lo - e.lo/100_000
		if e.lo < 5e6 || e.hi < 40e6 || e.lo > 10e9 || e.stack[1].hi < least || e.stack[2].hi < least {
			t.Errorf("%d to %d ns, callers %+v", e.lo, e.hi, e.stack[1:3])
		}
	}
	if found > 9 || found < 1 || options.Exact && found != 9 || len(l.parents) < found || l.trailer.dropped != 0 {
		t.Errorf("%d spikes of 9, %d callers, %d dropped", found, len(l.parents), l.trailer.dropped)
	}
	if limited := c.limit != ""; limited != (l.trailer.window > 0) {
		t.Errorf("a window of %d MiB", l.trailer.window)
	}
	if !slices.ContainsFunc(l.modules, func(m spikeModule) bool { return m.instrumented && m.path == program }) {
		t.Errorf("modules %+v", l.modules)
	}
}

// openLog reads a log, and returns with it the names of functions by their numbers.
func openLog(t *testing.T, program, path string) (log *bytes.Reader, objects *tracelog.Objects, name func(calllog.FuncID) string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	symbols := addresses(t, program)
	objects = &tracelog.Objects{}
	return bytes.NewReader(data), objects, func(id calllog.FuncID) string {
		for _, o := range objects.List() {
			for symbol, at := range symbols {
				if o.Number == id.Object() && symbol != "" && o.Holds(at) && o.Function(at) == id && !strings.HasPrefix(symbol, "$") {
					return symbol
				}
			}
		}
		return fmt.Sprintf("%#x", id)
	}
}

// stacks: the tree of calls has each stack as often as it was.
func (c *cross) stacks() {
	archive := c.timed(TimedObjects(AArch64, probe.Options{Mode: prof.ModeStacks}))
	program := c.calls(archive, "STACKS")
	c.logged(program, "registers", "20")
	c.tree(program, c.logged(program, "threads", "5"))
	for _, size := range []string{"16384", "65536"} {
		c.tree(program, c.loggedBy([]string{"-p", size}, program, "threads", "5"))
	}
	// Linkers shorten the way to what a thread has of its own.
	for _, flags := range []string{"-static", "-static-pie -fPIE", "-pie -fPIE"} {
		program = c.linked(crossCompiler, archive, strings.Fields(flags), "STACKS")
		c.tree(program, c.logged(program, "threads", "5"))
	}
	if clang, err := exec.LookPath("clang-22"); err == nil {
		program = c.linked(clang, archive, []string{"--target=aarch64-linux-gnu", "-fuse-ld=lld"}, "STACKS")
		c.tree(program, c.logged(program, "threads", "5"))
	}
	if !c.timedNap { // a clock that waits for a processor sees none in one of the programs
		c.t.Error("no program has the time of its naps")
	}
}

// tree checks what the log of three threads says.
func (c *cross) tree(program, path string) {
	t := c.t
	t.Helper()
	log, objects, name := openLog(t, program, path)
	l, err := tracelog.OpenStacks(log, log.Size(), "log", objects)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for i := range l.Threads() {
		nodes := l.Nodes(i)
		for _, n := range nodes {
			stack := name(n.Func)
			for at := n; at.Parent >= 0; {
				at = nodes[at.Parent]
				stack = name(at.Func) + " " + stack
			}
			got[stack] += n.Calls
			if n.Unwound+n.Open != 0 || n.Total > 2e9 {
				t.Errorf("%s: %+v", stack, n)
			}
			c.timedNap = c.timedNap || strings.HasSuffix(stack, "nap") && n.Total >= 5e6
		}
	}
	want := map[string]uint64{"outer": 9, "outer middle": 9, "outer middle nap": 9, "quick": 60000, "last": 60000}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// trace: a trace has each call as often as it was, or those of a small depth.
func (c *cross) trace() {
	t := c.t
	for _, depth := range []int{0, 2} {
		macros, want := []string{"TRACE"}, map[string]int{"outer": 9, "middle": 9, "nap": 9, "quick": 60000, "last": 60000}
		if depth > 0 {
			macros = append(macros, "DEPTH")
			delete(want, "nap")
		}
		program := c.calls(c.timed(TraceObjects(AArch64, "", depth)), macros...)
		c.logged(program, "registers", "20")
		log, objects, name := openLog(t, program, c.logged(program, "threads", "5"))
		events, err := tracelog.OpenEvents(log, log.Size(), "log", objects)
		if err != nil {
			t.Fatal(err)
		}
		enters, exits := map[calllog.FuncID]int{}, map[calllog.FuncID]int{}
		for i, thread := range events.Threads() {
			for batch, err := range events.Batches(i, 0, thread.Parts) {
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range batch.Events {
					if e.Kind.IsEnter() {
						enters[e.Func]++
					} else {
						exits[e.Func]++
					}
				}
			}
		}
		got := map[string]int{}
		for id, n := range enters {
			got[name(id)] = n
		}
		if !maps.Equal(got, want) || !maps.Equal(enters, exits) {
			t.Errorf("depth %d: %v, want %v; exits %v", depth, got, want, exits)
		}
	}
}
