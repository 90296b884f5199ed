//go:build linux && amd64

package oracle

import (
	"bufio"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// The tracer puts a breakpoint on the entry of every function and takes it
// away when it is hit: what it sees is the order of first executions, at the
// cost of two stops per function.
//
// It runs in a process of its own, which is this test binary again: it waits
// for any child of its thread, and among the tests that would be other tests'
// compilers.

// traceRequestEnv makes the test binary a tracer. It names the file with the
// request.
const traceRequestEnv = "ORACLE_TRACE_REQUEST"

// traceRequest is what the tracer is to do. Addresses are link-time addresses.
type traceRequest struct {
	Program string
	Args    []string
	Env     []string
	Entries []uint64
	Result  string // file for the []firstCall
}

// firstCall is the first execution of a function.
type firstCall struct {
	Entry  uint64
	Return uint64 // return address on the stack
}

// trace runs a program with probes under the tracer. It returns its answer,
// and what the tracer and the probes saw in that same run.
func trace(t *testing.T, program string, args ...string) (string, []firstCall, *prof.Module) {
	t.Helper()
	dir := t.TempDir()
	raws := filepath.Join(dir, "raws")
	req := traceRequest{Program: program, Args: args, Result: filepath.Join(dir, "calls.json"), Entries: entries(t, program)}
	cmd := command(t, os.Args[0])
	req.Env = append(cmd.Env, "CAIRN_DIR="+raws)
	request := filepath.Join(dir, "request.json")
	text, err := json.Marshal(req)
	if err == nil {
		err = os.WriteFile(request, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, traceRequestEnv+"="+request)
	answer := output(t, cmd)
	var calls []firstCall
	if text, err = os.ReadFile(req.Result); err == nil {
		err = json.Unmarshal(text, &calls)
	}
	if err != nil {
		t.Fatal(err)
	}
	return answer, calls, profile(t, program, raws)
}

// entries returns the addresses of a program's functions.
func entries(t *testing.T, program string) []uint64 {
	t.Helper()
	m := emptyProfile(t, program)
	out := make([]uint64, len(m.Funcs))
	for i := range m.Funcs {
		out[i] = m.Funcs[i].Addr()
	}
	return out
}

// serveTrace is the tracer's main function.
func serveTrace(request string) error {
	text, err := os.ReadFile(request)
	if err != nil {
		return err
	}
	var req traceRequest
	if err := json.Unmarshal(text, &req); err != nil {
		return err
	}
	tr, err := startTraced(&req)
	if err != nil {
		return err
	}
	if err := tr.follow(); err != nil {
		return err
	}
	if text, err = json.Marshal(tr.calls); err != nil {
		return err
	}
	return os.WriteFile(req.Result, text, 0o644)
}

// tracer is a traced program.
type tracer struct {
	pid   int
	bias  uint64   // address in memory less link-time address
	mem   *os.File // its memory
	armed map[uint64]byte
	ours  map[uint64]bool // where a breakpoint is or was
	known map[int]bool    // threads that have had their first stop
	calls []firstCall
}

// startTraced starts the program and stops it at its first instruction, with
// all breakpoints set. The thread stays the tracer.
func startTraced(req *traceRequest) (*tracer, error) {
	runtime.LockOSThread()
	cmd := exec.Command(req.Program, req.Args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = req.Env, os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	tr := &tracer{pid: cmd.Process.Pid, armed: map[uint64]byte{}, ours: map[uint64]bool{}, known: map[int]bool{}}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(tr.pid, &status, 0, nil); err != nil || !status.Stopped() {
		return nil, fmt.Errorf("the program did not stop at its start: %v, status %#x", err, status)
	}
	tr.known[tr.pid] = true
	const exitKill = 1 << 20
	if err := syscall.PtraceSetOptions(tr.pid, syscall.PTRACE_O_TRACECLONE|exitKill); err != nil {
		return nil, err
	}
	if err := tr.locate(req.Program); err != nil {
		return nil, err
	}
	var err error
	if tr.mem, err = os.OpenFile(fmt.Sprintf("/proc/%d/mem", tr.pid), os.O_RDWR, 0); err != nil {
		return nil, err
	}
	for _, entry := range req.Entries {
		if err := tr.arm(entry); err != nil {
			return nil, err
		}
	}
	return tr, nil
}

// locate finds where in memory the program is.
func (tr *tracer) locate(program string) error {
	file, err := elf.Open(program)
	if err != nil {
		return err
	}
	defer file.Close()
	if file.Type != elf.ET_DYN {
		return nil // linked to where it runs
	}
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", tr.pid))
	if err != nil {
		return err
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if strings.HasSuffix(lines.Text(), program) {
			_, err := fmt.Sscanf(lines.Text(), "%x-", &tr.bias)
			return err
		}
	}
	return errors.New("the program is not in its own memory map")
}

// int3 is the breakpoint instruction.
const int3 = 0xcc

func (tr *tracer) arm(entry uint64) error {
	b := make([]byte, 1)
	if _, err := tr.mem.ReadAt(b, int64(tr.bias+entry)); err != nil {
		return err
	}
	tr.ours[entry] = true
	tr.armed[entry] = b[0]
	_, err := tr.mem.WriteAt([]byte{int3}, int64(tr.bias+entry))
	return err
}

// follow lets the program run to its end.
func (tr *tracer) follow() error {
	if err := syscall.PtraceCont(tr.pid, 0); err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		tid, err := syscall.Wait4(-1, &status, syscall.WALL, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		switch {
		case (status.Exited() || status.Signaled()) && tid == tr.pid:
			if status.ExitStatus() != 0 {
				return fmt.Errorf("the program ended with status %#x", status)
			}
			return nil
		case !status.Stopped():
			continue // the end of a thread
		}
		sig, err := tr.stopped(tid, status)
		if err == nil {
			err = syscall.PtraceCont(tid, int(sig))
		}
		// A thread may be gone: another one ended the process.
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
}

// stopped handles a stop and returns the signal that the thread is to get.
func (tr *tracer) stopped(tid int, status syscall.WaitStatus) (syscall.Signal, error) {
	if !tr.known[tid] {
		tr.known[tid] = true
		return 0, nil // a new thread starts with a stop
	}
	sig := status.StopSignal()
	if sig != syscall.SIGTRAP {
		return sig, nil
	}
	if status.TrapCause() > 0 {
		return 0, nil // it has made a thread
	}
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return 0, err
	}
	entry := regs.Rip - 1 - tr.bias
	if !tr.ours[entry] {
		return sig, nil
	}
	if err := tr.hit(entry, &regs); err != nil {
		return 0, err
	}
	regs.Rip--
	return 0, syscall.PtraceSetRegs(tid, &regs)
}

// hit notes the first execution of a function and removes its breakpoint. Two
// threads can run into the same one: the second has nothing left to do.
func (tr *tracer) hit(entry uint64, regs *syscall.PtraceRegs) error {
	old, first := tr.armed[entry]
	if !first {
		return nil
	}
	delete(tr.armed, entry)
	if _, err := tr.mem.WriteAt([]byte{old}, int64(tr.bias+entry)); err != nil {
		return err
	}
	var ret uint64
	b := make([]byte, 8)
	if _, err := tr.mem.ReadAt(b, int64(regs.Rsp)); err != nil {
		return err
	}
	for i, c := range b {
		ret |= uint64(c) << (8 * i)
	}
	tr.calls = append(tr.calls, firstCall{entry, ret - tr.bias})
	return nil
}
