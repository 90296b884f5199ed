//go:build linux && amd64

package ptrace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/prof"
)

// kinds are the ways to link a C program.
var kinds = []struct {
	name, compiler string
	flags          []string
}{
	{"gcc-pie", "gcc", []string{"-O1", "-pie", "-fPIE"}},
	{"gcc-no-pie", "gcc", []string{"-O1", "-no-pie", "-fno-pie"}},
	{"gcc-static", "gcc", []string{"-O1", "-static"}},
	{"gcc-static-pie", "gcc", []string{"-O1", "-static-pie", "-fPIE"}},
	{"clang-pie-lld", "clang-22", []string{"-O1", "-pie", "-fPIE", "-fuse-ld=lld"}},
	{"clang-no-pie-lld", "clang-22", []string{"-O1", "-no-pie", "-fno-pie", "-fuse-ld=lld"}},
	{"clang-static", "clang-22", []string{"-O1", "-static"}},
	{"clang-gold", "clang-22", []string{"-O1", "-fuse-ld=gold"}},
}

func TestKnownOrder(t *testing.T) {
	t.Parallel()
	want := []string{
		"_start", "built", "main", "first", "second", "third", "compare", "on_signal", "own", "on_trap",
		"aliased", "chosen", "at_end",
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			program := build(t, k.compiler, "order.c", k.flags...)
			rec, names, out := record(t, program, "3")
			if out != "1 2 3 of 2\n" || rec.Run.Status != (Status{Code: 3}) {
				t.Errorf("it printed %q and ended with %v", out, rec.Run.Status)
			}
			// The resolver, which shares its address with what it resolves, runs
			// before main or when it is needed, as the linker has it.
			// clang sees through it.
			if r := slices.Index(names, "by_resolver"); r < 0 && k.compiler == "gcc" || r > slices.Index(names, "chosen") {
				t.Errorf("the resolver is number %d", r)
			}
			got := only(names, want)
			if !slices.Equal(got, want) {
				t.Errorf("order:\n got %v\nwant %v", got, want)
			}
			if slices.Contains(names, "never") || slices.Contains(names, "another_name") {
				t.Errorf("never and another_name are not to be there: %v", names)
			}
			checkCallers(t, rec, names)
			roundTrip(t, rec.Module)
		})
	}
}

// checkCallers checks that first calls come from the functions that contain them.
func checkCallers(t *testing.T, rec *Recording, names []string) {
	t.Helper()
	m := rec.Module
	callers := map[string]string{"first": "main", "second": "first", "third": "second", "own": "main"}
	for k, i := range m.Traces[0].Funcs {
		c := &m.Counts[i]
		if c.Runs != 1 || c.OrderSum != uint64(k+1) || len(c.Callers) != 1 {
			t.Errorf("counts of %s: %+v", names[k], *c)
			continue
		}
		want, ok := callers[names[k]]
		if !ok {
			continue
		}
		if got := holder(m, c.Callers[0].Addr); got != want {
			// A tail call: the function returns to the caller's caller.
			if got != callers[want] {
				t.Errorf("%s was first called from %q, not %s", names[k], got, want)
			}
		}
	}
}

// holder returns the function that the instruction before addr is in.
func holder(m *prof.Module, addr uint64) string {
	for i := range m.Funcs {
		if f := &m.Funcs[i]; addr > f.Addr() && addr <= f.Addr()+f.Size() {
			return f.Name
		}
	}
	return ""
}

// roundTrip checks that the profile's format can hold what was recorded.
func roundTrip(t *testing.T, m *prof.Module) {
	t.Helper()
	var buf bytes.Buffer
	if err := mip.WriteProfile(&buf, &prof.Profile{Modules: []prof.Module{*m}}); err != nil {
		t.Fatal(err)
	}
	p, err := mip.ReadProfile(buf.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Modules[0].Traces; len(got) != 1 || !slices.Equal(got[0].Funcs, m.Traces[0].Funcs) || got[0].Scenario != "test" {
		t.Errorf("traces after writing and reading: %v", got)
	}
}

// TestSingleSteps checks that the order is that of single steps through the whole program.
func TestSingleSteps(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			program := build(t, k.compiler, "order.c", k.flags...)
			m, _, err := openFile(t, program).IdentifiedMap()
			if err != nil {
				t.Fatal(err)
			}
			steps, err := singleStep(program, m)
			check(t, err)
			rec, names, _ := record(t, program, "0", "plain")
			var want []string
			for _, i := range steps {
				want = append(want, m.Funcs[i].Name)
			}
			if !slices.Equal(names, want) {
				at := 0
				for at < min(len(names), len(want)) && names[at] == want[at] {
					at++
				}
				t.Errorf("order from number %d on:\n got %v\nwant %v", at, names[at:], want[at:])
			}
			t.Logf("%d of %d functions in %v", len(names), rec.Run.Planted, rec.Run.Elapsed)
		})
	}
}

// singleStep executes a program instruction by instruction and returns the
// functions in the order in which their first instructions were.
func singleStep(program string, m *prof.Map) (order []uint32, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		order, err = stepThrough(program, m)
	}()
	<-done
	return order, err
}

func stepThrough(program string, m *prof.Map) (order []uint32, err error) {
	cmd := exec.Command(program, "0", "plain")
	cmd.Stdout = new(strings.Builder) // a pipe, as in the other run: it makes a difference to stdio
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	bin, err := openProgram([]string{program})
	if err != nil {
		return nil, err
	}
	defer bin.Close()
	pid := cmd.Process.Pid
	ws, err := waitFor(pid, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.PtraceSetOptions(pid, optionExitKill); err != nil {
		return nil, err
	}
	s := &session{pid: pid, path: program}
	if err := s.locate(bin); err != nil {
		return nil, err
	}
	defer s.mem.Close()
	index := map[uint64]uint32{}
	for i := range m.Funcs {
		index[m.Funcs[i].Addr()+s.bias] = uint32(i)
	}
	for first := true; ws.Stopped(); first = false {
		var regs syscall.PtraceRegs
		if err := syscall.PtraceGetRegs(pid, &regs); err != nil {
			return nil, err
		}
		if i, ok := index[regs.Rip]; ok {
			delete(index, regs.Rip)
			order = append(order, i)
		}
		sig := ws.StopSignal()
		if info, err := getSigInfo(pid); err != nil || first || sig == syscall.SIGTRAP && info.code != siKernel && info.code > 0 {
			sig = 0 // our steps
		}
		if err := request(syscall.PTRACE_SINGLESTEP, pid, 0, uintptr(sig)); err != nil {
			return nil, err
		}
		if ws, err = waitFor(pid, 0); err != nil {
			return nil, err
		}
	}
	return order, nil
}

func TestThreads(t *testing.T) {
	t.Parallel()
	program := build(t, "gcc", "threads.c", "-O1", "-pthread")
	for range 10 {
		rec, names, out := record(t, program)
		n := 0
		for i := 10; i < 60; i++ {
			if slices.Contains(names, fmt.Sprintf("f%d", i)) {
				n++
			}
		}
		if n != 50 || rec.Run.Status.Code != 0 || out == "" {
			t.Fatalf("%d of 50 functions, %v, %q", n, rec.Run.Status, out)
		}
	}
}

func TestChildren(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"-O1"}, {"-O1", "-static"}} {
		program := build(t, "gcc", "children.c", flags...)
		rec, names, out := record(t, program)
		if out != "3 4 5\n" || rec.Run.Status.Code != 0 || rec.Run.Replaced {
			t.Errorf("%v: it printed %q, %v", flags, out, rec.Run.Status)
		}
		want := []string{"main", "code", "in_vfork", "after"}
		if got := only(names, append(want, "in_child")); !slices.Equal(got, want) {
			t.Errorf("%v: order: got %v, want %v", flags, got, want)
		}
		rec, _, _ = record(t, program, "replaced")
		if !rec.Run.Replaced || rec.Run.Status.Code != 9 {
			t.Errorf("%v: after exec: %+v", flags, rec.Run.Status)
		}
	}
}

func TestExceptions(t *testing.T) {
	t.Parallel()
	for _, compiler := range []string{"g++", "clang++-22"} {
		for _, link := range []string{"-pie", "-static"} {
			program := build(t, compiler, "throw.cc", "-O1", "-fnon-call-exceptions", link)
			_, names, out := record(t, program)
			if out != "3 4\n" {
				t.Errorf("%s %s: it printed %q", compiler, link, out)
			}
			want := []string{"main", "_ZL4deepi", "_ZN5GuardD2Ev", "_ZL8on_faulti", "_ZL12on_own_faulti"}
			got := only(names, append(want, "_ZN5GuardD1Ev"))
			if len(got) != len(want) || got[0] != "main" || !strings.HasPrefix(got[2], "_ZN5GuardD") || !slices.Equal(got[3:], want[3:]) {
				t.Errorf("%s %s: order: %v", compiler, link, got)
			}
		}
	}
}

func TestGoProgram(t *testing.T) {
	t.Parallel()
	program := t.TempDir() + "/goprog"
	if out, err := exec.CommandContext(limit(t), "go", "build", "-o", program, "./testdata/goprog").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	rec, names, out := record(t, program)
	plain, _ := exec.Command(program).Output()
	if out != string(plain) || rec.Run.Status.Code != 7 {
		t.Errorf("it printed %q, not %q; %v", out, plain, rec.Run.Status)
	}
	want := []string{"_rt0_amd64_linux", "runtime.rt0_go.abi0", "runtime.schedinit", "runtime.main", "main.main", "main.spin", "main.faulty"}
	if got := only(names, want); !slices.Equal(got, want) {
		t.Errorf("order: got %v, want %v", got, want)
	}
	t.Logf("%d of %d functions in %v", len(names), rec.Run.Planted, rec.Run.Elapsed)
}

// TestContext checks that a run ends with its context, whatever the program does.
func TestContext(t *testing.T) {
	t.Parallel()
	program := build(t, "gcc", "wait.c", "-O1")
	for _, arg := range []string{"pause", "stop", "spin"} {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		_, err := Record(ctx, []string{program, arg}, "", &Options{})
		cancel()
		if errors.Is(err, syscall.EPERM) {
			t.Skip(err)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

// TestSignals checks that signals and stops have the effects that they have without a tracer.
func TestSignals(t *testing.T) {
	t.Parallel()
	program := build(t, "gcc", "wait.c", "-O1")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	signals := make(chan os.Signal)
	go func() {
		defer write.Close()
		rec, err := Record(limit(t), []string{program, "echo"}, "", &Options{Stdout: write, Signals: signals})
		if err != nil {
			fmt.Fprintln(write, err)
			return
		}
		fmt.Fprintln(write, rec.Run.Status)
	}()
	lines := bufio.NewReader(read)
	line := func() string {
		text, _ := lines.ReadString('\n')
		return text
	}
	pid := 0
	if first := line(); strings.Contains(first, "not permitted") {
		t.Skip(first)
	} else if _, err := fmt.Sscanf(first, "ready %d", &pid); err != nil {
		t.Fatalf("it said %q", first)
	}
	signals <- syscall.SIGUSR1
	if got := line(); got != "signal 10\n" {
		t.Errorf("it said %q", got)
	}
	// Not SIGTSTP: the kernel drops it where no shell is there that could continue
	// the process (an orphaned process group).
	signals <- syscall.SIGSTOP
	waitState(t, pid, "T t")
	signals <- syscall.SIGUSR1 // waits until it continues
	time.Sleep(20 * time.Millisecond)
	waitState(t, pid, "T t")
	signals <- syscall.SIGCONT
	got := line()
	for !strings.Contains(got, "signal 10\n") || !strings.Contains(got, "signal 18\n") {
		next := line()
		if next == "" {
			t.Fatalf("it said %q", got)
		}
		got += next
	}
	signals <- syscall.SIGINT
	if got := line(); got != "signal 2\n" {
		t.Errorf("it said %q", got)
	}
	if got := line(); got != "signal 15\n" { // it kills itself
		t.Errorf("it ended with %q", got)
	}
}

// waitState waits until a process is in one of the states.
func waitState(t *testing.T, pid int, states string) {
	t.Helper()
	var state string
	for range 60000 { // ten minutes, on a machine that has other things to do
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if f := strings.Fields(string(text)); len(f) > 2 {
			if state = f[2]; strings.Contains(states, state) {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("process %d is in state %q, not %s", pid, state, states)
}

func TestErrors(t *testing.T) {
	t.Parallel()
	script := t.TempDir() + "/script"
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	stripped := build(t, "gcc", "order.c", "-static", "-s")
	for _, test := range []struct{ program, want string }{
		{"/nowhere/to/be/found", "no such file"},
		{script, "not an ELF file"},
		{stripped, "stripped"},
	} {
		_, err := Record(limit(t), []string{test.program}, "", &Options{})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.program) {
			t.Errorf("%s: %v", test.program, err)
		}
	}
}

func TestDerivedID(t *testing.T) {
	t.Parallel()
	program := build(t, "gcc", "order.c", "-Wl,--build-id=none")
	rec, _, _ := record(t, program)
	if !rec.Derived || len(rec.Module.BuildID) != 20 {
		t.Errorf("derived %v, %d bytes", rec.Derived, len(rec.Module.BuildID))
	}
	roundTrip(t, rec.Module)
}
