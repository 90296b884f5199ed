package machinecode

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/qemulog"
)

// crossBuilds are ways to compile cross.cc for AArch64.
var crossBuilds = []string{
	"aarch64-linux-gnu-g++ -O2",
	"aarch64-linux-gnu-g++ -O2 -fomit-frame-pointer -mbranch-protection=standard",
	"aarch64-linux-gnu-g++ -O3",
	"aarch64-linux-gnu-g++ -O0",
	"clang++-22 --target=aarch64-linux-gnu -fuse-ld=lld -O2 -mbranch-protection=standard",
	"clang++-22 --target=aarch64-linux-gnu -fuse-ld=lld -Os -fno-omit-frame-pointer",
	"clang++-22 --target=aarch64-linux-gnu -fuse-ld=lld -O1",
}

// crossBuild compiles cross.cc.
func crossBuild(t *testing.T, command string) string {
	t.Helper()
	words := strings.Fields(command)
	for _, tool := range []string{words[0], "aarch64-linux-gnu-g++", "aarch64-linux-gnu-objdump", "qemu-aarch64"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("tools")
		}
	}
	program := filepath.Join(t.TempDir(), "cross")
	args := append(words[1:], "-g", "-static", "-nostdlib", "-ffreestanding", "-fno-rtti", "-fno-exceptions", "-fasynchronous-unwind-tables", "-o", program)
	if out, err := exec.Command(words[0], append(args, "testdata/cross.cc")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// emulate calls visit with each instruction that a program runs.
func emulate(t *testing.T, program string, visit func(qemulog.Step)) {
	t.Helper()
	cmd := exec.Command("qemu-aarch64", "-singlestep", "-d", "exec,cpu,nochain", program)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	err = qemulog.Read(log, func(s qemulog.Step) error { visit(s); return nil })
	if wait := cmd.Wait(); err != nil || wait != nil {
		t.Fatal(err, wait)
	}
}

// TestAArch64Listing compares which bytes are instructions with objdump: data in the code
// is none.
func TestAArch64Listing(t *testing.T) {
	t.Parallel()
	for _, command := range crossBuilds {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			program := crossBuild(t, command)
			_, s := load(t, program)
			out, err := exec.Command("aarch64-linux-gnu-objdump", "-d", "-z", "-j", ".text", program).Output()
			if err != nil {
				t.Fatal(err)
			}
			n, data := 0, 0
			for line := range strings.Lines(string(out)) {
				addr, rest, ok := strings.Cut(strings.TrimSpace(line), ":\t")
				at, err := strconv.ParseUint(addr, 16, 64)
				if !ok || err != nil {
					continue
				}
				is := !strings.Contains(rest, "\t.word") && !strings.Contains(rest, "\t.inst") && !strings.Contains(rest, "\t.xword")
				if r := s.Binaries()[0].At(at); r.IsInstruction() != is {
					t.Errorf("%s: %v", strings.TrimSpace(line), r.IsInstruction())
				}
				if n++; !is {
					data++
				}
			}
			if n < 300 || data == 0 {
				t.Errorf("%d lines, %d of data", n, data)
			}
		})
	}
}

// opened is a call that is open: the state when it was made.
type opened struct{ sp, fp, ret uint64 }

// follower compares what runs with a Set and with rows of .eh_frame.
type follower struct {
	t     *testing.T
	s     *Set
	b     *Binary
	rows  []ehframe.Row
	bias  uint64
	last  qemulog.Step
	at    Ref
	stack []opened

	taken, own, caller, unwound, signed, unsigned int
	bad                                           int
}

func (f *follower) fail(format string, args ...any) {
	if f.bad++; f.bad <= 10 {
		f.t.Errorf("%#x: "+format, append([]any{f.last.PC - f.bias}, args...)...)
	}
}

func (f *follower) step(s qemulog.Step) {
	at := f.b.At(s.PC - f.bias)
	if !at.IsInstruction() {
		f.t.Fatalf("%#x runs, and is no instruction", s.PC)
	}
	if f.at != None {
		f.branch(s, at)
	}
	f.last, f.at = s, at
	if len(f.stack) > 0 {
		f.frame(s, at)
	}
}

// branch compares where control went.
func (f *follower) branch(s qemulog.Step, at Ref) {
	next := s.PC == f.last.PC+4
	class := f.s.Class(f.at)
	if target, ok := f.s.Target(f.at); ok && target != s.PC-f.bias && (class != controlflow.Conditional || !next) {
		f.fail("goes to %#x, not to %#x", s.PC-f.bias, target)
	}
	if class == controlflow.Other && !next {
		f.fail("is no branch, and goes to %#x", s.PC-f.bias)
	}
	switch {
	case class.IsCall():
		f.stack = append(f.stack, opened{s.SP, s.FP, f.last.PC + 4})
	case class == controlflow.Return:
		if n := len(f.stack); n == 0 || f.stack[n-1].ret != s.PC {
			f.fail("returns to %#x, not to where it was called", s.PC-f.bias)
		} else {
			f.stack = f.stack[:n-1]
		}
	}
	if !next {
		f.taken++
	}
}

// frame compares what is said of the frame with what was when the function was called.
func (f *follower) frame(s qemulog.Step, at Ref) {
	call := f.stack[len(f.stack)-1]
	switch f.s.Frame(at) {
	case FrameOwn:
		if f.own++; s.FP == call.fp {
			f.fail("the frame pointer is the caller's")
		}
	case FrameCaller:
		if f.caller++; s.FP != call.fp {
			f.fail("the frame pointer is not the caller's")
		}
	}
	i := sort.Search(len(f.rows), func(i int) bool { return f.rows[i].PC > s.PC-f.bias }) - 1
	if i < 0 || f.rows[i].CFA == ehframe.CFAUnknown {
		return
	}
	row := f.rows[i]
	cfa := s.SP
	if row.CFA == ehframe.CFAFrame {
		cfa = s.FP
	}
	f.unwound++
	if cfa += uint64(int64(row.Offset)); cfa != call.sp {
		f.fail("the frame is at %#x, not at %#x", cfa, call.sp)
	}
	const address = 1<<48 - 1 // without the signature
	if row.Return == ehframe.ReturnRegister && s.LR&address != call.ret {
		f.fail("the return address is %#x, not %#x", s.LR, call.ret)
	}
	// The signature has a few bits. Of some addresses it is nothing by chance.
	switch signed := row.Return == ehframe.ReturnRegister && s.LR != call.ret; {
	case signed && !row.Signed:
		f.fail("the return address %#x is signed", s.LR)
	case signed:
		f.signed++
	case row.Signed && row.Return == ehframe.ReturnRegister:
		f.unsigned++
	}
}

// TestAArch64Runs follows programs, instruction by instruction.
func TestAArch64Runs(t *testing.T) {
	t.Parallel()
	for _, command := range crossBuilds {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			program := crossBuild(t, command)
			p, s := load(t, program)
			f := &follower{t: t, s: s, b: s.Binaries()[0], rows: p.Unwind.Rows()}
			entry := uint64(0)
			for _, sym := range p.Symbols {
				if sym.Name == "_start" {
					entry = sym.Addr
				}
			}
			emulate(t, program, func(s qemulog.Step) {
				if f.at == None {
					f.bias = s.PC - entry
				}
				f.step(s)
			})
			what := fmt.Sprintf("%d branches taken, %d own frames, %d callers', %d unwound, %d signed", f.taken, f.own, f.caller, f.unwound, f.signed)
			t.Log(what)
			framed := !strings.Contains(command, "-fomit") && !strings.Contains(command, "-O1")
			if f.taken < 500 || f.unwound < 5000 || framed && f.own < 500 || f.caller < 500 || strings.Contains(command, "protection") != (f.signed > 0) || f.unsigned > f.signed {
				t.Error(what)
			}
		})
	}
}
