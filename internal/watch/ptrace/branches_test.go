//go:build linux && amd64

package ptrace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

type jump struct{ from, to uint64 }

// collector keeps the branches of a run.
type collector struct {
	jumps   []jump
	kernel  int
	threads map[int]int
}

func (c *collector) Start(int, func([]byte, uint64) error) error { return nil }
func (c *collector) Mapped()                                     {}

func (c *collector) Branch(b *Branch) error {
	if c.threads == nil {
		c.threads = map[int]int{}
	}
	c.threads[b.TID]++
	from := b.From
	if b.Class == controlflow.Other {
		c.kernel++
		from = 0
	}
	c.jumps = append(c.jumps, jump{from, b.To})
	return nil
}

// cpuid is emulated on virtual machines, of which some make one step of it and the next instruction.
var cpuid = []byte{0x0f, 0xa2}

// steps returns the branches of a program with one thread from its first instruction on,
// by single steps. Where the kernel led it elsewhere, a branch is from 0.
func steps(t *testing.T, path string) []jump {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(path)
	cmd.Stdout = new(bytes.Buffer) // a pipe, as in the other run
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	check(t, cmd.Start())
	defer cmd.Process.Kill()
	pid := cmd.Process.Pid
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	var ws syscall.WaitStatus
	wait := func() {
		if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	wait()
	var out []jump
	var regs syscall.PtraceRegs
	for last, sig, sent := uint64(0), 0, 0; ; {
		if err := syscall.PtraceGetRegs(pid, &regs); err != nil {
			t.Fatal(err)
		}
		if pc := regs.Rip; last != 0 && pc != last {
			code := make([]byte, x86.MaxLen)
			_, _ = mem.ReadAt(code, int64(last))
			if bytes.HasPrefix(code, cpuid) && pc != last+uint64(len(cpuid)) {
				last += uint64(len(cpuid)) // the trap after it was lost
				_, _ = mem.ReadAt(code, int64(last))
			}
			in, err := x86.Decode(code)
			switch {
			case sent != 0 && pc != last+uint64(in.Len), in.Class == controlflow.Syscall && pc != last+uint64(in.Len):
				out = append(out, jump{0, pc})
			case err != nil:
				t.Fatalf("at %#x: %v", last, err)
			case !ends(in) && pc != last+uint64(in.Len), ends(in):
				out = append(out, jump{last, pc})
			}
		}
		last, sent = regs.Rip, sig
		if err := request(syscall.PTRACE_SINGLESTEP, pid, 0, uintptr(sig)); err != nil {
			t.Fatal(err)
		}
		wait()
		if ws.Exited() {
			return out
		}
		if sig = int(ws.StopSignal()); sig == int(syscall.SIGTRAP) {
			sig = 0
		} else if err := syscall.PtraceGetRegs(pid, &regs); err == nil {
			last = regs.Rip
		}
	}
}

// ends reports whether control never continues after an instruction, except for calls.
func ends(in x86.Inst) bool {
	return in.Class.Ends() || in.Class.IsCall()
}

// sameWithBranches checks that a program does the same while its branches are watched.
func sameWithBranches(t *testing.T, argv ...string) *collector {
	t.Helper()
	plain := exec.Command(argv[0], argv[1:]...)
	want, _ := plain.Output()
	var c collector
	var out bytes.Buffer
	run, err := Branches(limit(t), argv, &c, &Options{Stdout: &out})
	check(t, err)
	if out.String() != string(want) || run.Status.Code != plain.ProcessState.ExitCode() {
		t.Errorf("it says %q and ends with %v; as it is, it says %q", out.String(), run.Status, want)
	}
	return &c
}

// sameAddresses reports whether programs can be given the same addresses in each run.
// Where a string lies in its page decides which way the C library looks for its end.
func sameAddresses() bool { return exec.Command("setarch", "-R", "true").Run() == nil }

// TestBranches compares the branches of a program with single steps: they are the same, with
// signals, faults and jumps out of handlers.
func TestBranches(t *testing.T) {
	t.Parallel()
	if again := "CAIRN_TEST_SAME_ADDRESSES"; os.Getenv(again) == "" && sameAddresses() {
		cmd := exec.CommandContext(limit(t), "setarch", "-R", os.Args[0], "-test.run=^TestBranches$", "-test.timeout=0")
		cmd.Env = append(os.Environ(), again+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	for _, compiler := range []string{"gcc", "clang-22"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			path := build(t, compiler, "branches.c", "-O2", "-static", "-mno-red-zone")
			sameWithBranches(t, path, "trap")
			c := sameWithBranches(t, path)
			stepped := steps(t, path)
			t.Logf("%d branches, %d of them by the kernel", len(c.jumps), c.kernel)
			if slices.Equal(stepped, c.jumps) {
				return
			}
			for i := range min(len(stepped), len(c.jumps)) {
				if stepped[i] != c.jumps[i] {
					t.Fatalf("branch %d of %d is %#x, by single steps %#x, behind %#x", i, len(c.jumps), c.jumps[i], stepped[i], stepped[max(i-3, 0):i])
				}
			}
			t.Fatalf("%d branches, by single steps %d", len(c.jumps), len(stepped))
		})
	}
}

// TestBranchesOfThreads follows threads, and lets children go.
func TestBranchesOfThreads(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"threads.c", "children.c"} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			path := build(t, "gcc", source, "-O2", "-pthread", "-static")
			c := sameWithBranches(t, path)
			if source == "threads.c" && len(c.threads) < 3 {
				t.Errorf("branches of threads: %v", c.threads)
			}
		})
	}
}

// TestOperands tries addresses that programs hardly have.
func TestOperands(t *testing.T) {
	t.Parallel()
	const target = 0x1234567812345678
	for _, c := range []struct {
		code []byte
		at   uint64 // of the word that is read
	}{
		{[]byte{0xff, 0x24, 0x25, 0x10, 0x20, 0, 0}, 0x2010},       // jmp *0x2010
		{[]byte{0xff, 0x25, 0x10, 0, 0, 0}, 0x1016},                // jmp *0x10(%rip)
		{[]byte{0xff, 0x64, 0xc8, 0xf8}, 0xa000 + 8*0xb0 - 8},      // jmp *-8(%rax,%rcx,8)
		{[]byte{0x43, 0xff, 0x24, 0xec}, 0xc000 + 8*0xd0},          // jmp *(%r12,%r13,8)
		{[]byte{0xff, 0x24, 0xcd, 0, 0x10, 0, 0}, 0x1000 + 8*0xb0}, // jmp *0x1000(,%rcx,8)
		{[]byte{0x64, 0xff, 0x20}, 0xa000 + 0x70000},               // jmp *%fs:(%rax)
		{[]byte{0x65, 0xff, 0x20}, 0xa000 + 0x80000},               // jmp *%gs:(%rax)
		{[]byte{0x67, 0xff, 0x22}, 0xe000},                         // jmp *(%edx)
		{[]byte{0xff, 0x64, 0x24, 0x08}, 0xf008},                   // jmp *8(%rsp)
		{[]byte{0x3e, 0xff, 0xa5, 0, 1, 0, 0}, 0x5100},             // notrack jmp *0x100(%rbp)
	} {
		in, err := x86.Decode(c.code)
		if err != nil {
			t.Fatal(err)
		}
		regs := syscall.PtraceRegs{
			Rax: 0xa000, Rcx: 0xb0, Rdx: 0xffff00000000e000, Rsp: 0xf000, Rbp: 0x5000, R12: 0xc000, R13: 0xd0,
			Fs_base: 0x70000, Gs_base: 0x80000,
		}
		var read uint64
		e := emulator{regs: &regs, read: func(b []byte, addr uint64) error {
			read = addr
			binary.LittleEndian.PutUint64(b, target)
			return nil
		}}
		if taken, err := e.branch(&block{at: 0x1000, inst: in, seg: segment(c.code)}); !taken || err != nil || read != c.at || regs.Rip != target {
			t.Errorf("%x: taken %v, %v, read at %#x, to %#x", c.code, taken, err, read, regs.Rip)
		}
	}
}
