package tracelogtest

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
)

// Options of ptrace and wait4 that package syscall does not have.
const (
	traceGood = 1       // PTRACE_O_TRACESYSGOOD: stops at system calls have a signal of their own
	exitKill  = 1 << 20 // PTRACE_O_EXITKILL: the program ends with this process
	waitAll   = 1 << 30 // __WALL: threads as well
	callStop  = syscall.SIGTRAP | 0x80
)

// KillAt starts a program and kills it where it stops for the nth time before or after a system call, of any of its
// threads. It reports whether the program got that far before it ended. A program that is killed at each n in turn
// was killed in each state that its files can be in, except for what it writes through mappings.
func KillAt(cmd *exec.Cmd, n int) (reached bool, err error) {
	runtime.LockOSThread() // which traces
	defer runtime.UnlockOSThread()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Ptrace, cmd.SysProcAttr.Setpgid = true, true
	if err := cmd.Start(); err != nil {
		return false, err
	}
	pid := cmd.Process.Pid
	defer func() { _ = cmd.Process.Release() }() // it is waited for here
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
		return false, fmt.Errorf("the program did not stop at its start: %#x, %w", status, err)
	}
	if err := syscall.PtraceSetOptions(pid, traceGood|exitKill|syscall.PTRACE_O_TRACECLONE); err != nil {
		return false, err
	}
	for tid, signal := pid, syscall.Signal(0); ; {
		// A thread that another one just ended does not stop any more.
		if err := syscall.PtraceSyscall(tid, int(signal)); err != nil && err != syscall.ESRCH {
			return false, err
		}
		if tid, err = syscall.Wait4(-pid, &status, waitAll, nil); err != nil {
			return false, err
		}
		signal = 0
		switch {
		case tid == pid && !status.Stopped():
			return n <= 0, nil // it ended
		case !status.Stopped():
			// A thread ended. The others go on by themselves until they stop.
		case status.StopSignal() == callStop:
			if n--; n == 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		case status.StopSignal() != syscall.SIGTRAP && status.StopSignal() != syscall.SIGSTOP:
			signal = status.StopSignal()
		}
	}
}
