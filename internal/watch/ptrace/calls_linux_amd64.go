package ptrace

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// Requests, options and events that package syscall lacks; from
// include/uapi/linux/ptrace.h.
const (
	requestSeize      = 0x4206
	requestInterrupt  = 0x4207
	requestListen     = 0x4208
	requestGetSigInfo = 0x4202
	requestGetSigMask = 0x420a
	requestSetSigMask = 0x420b

	optionExitKill = 1 << 20

	eventStop = 128

	waitNoThread = 0x20000000 // __WNOTHREAD: only our own thread's children
	waitNoReap   = 0x01000000 // WNOWAIT
	waitExited   = 4          // WEXITED

	offsetRIP = 128 // of rip in struct user

	siKernel   = 0x80 // si_code of an int3
	segvAccErr = 2    // si_code of an access that the page's protection forbids
)

// request makes a ptrace call and returns its result.
func request(req, tid int, addr, data uintptr) error {
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, uintptr(req), uintptr(tid), addr, data, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// sigInfo is the head of a siginfo_t.
type sigInfo struct {
	signo, errno, code, _ int32
	addr                  uint64 // of a fault
	_                     [104]byte
}

func getSigInfo(tid int) (info sigInfo, err error) {
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, requestGetSigInfo, uintptr(tid), 0, uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 {
		return info, errno
	}
	return info, nil
}

// sigMask sets or gets the blocked signals of a stopped thread.
func sigMask(req, tid int, mask *uint64) error {
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, uintptr(req), uintptr(tid), unsafe.Sizeof(*mask), uintptr(unsafe.Pointer(mask)), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// setPC sets where a stopped thread continues.
func setPC(tid int, pc uint64) error {
	return request(syscall.PTRACE_POKEUSR, tid, offsetRIP, uintptr(pc))
}

// resume lets a stopped thread run, with a signal or 0.
func resume(tid int, sig syscall.Signal) error {
	return request(syscall.PTRACE_CONT, tid, 0, uintptr(sig))
}

func detach(tid int, sig syscall.Signal) error {
	return request(syscall.PTRACE_DETACH, tid, 0, uintptr(sig))
}

// peekChange returns a child of this thread whose state has changed, and whether it has ended. wait4 can still
// collect the change.
func peekChange() (pid int, ended bool, err error) {
	const anyProcess = 0 // P_ALL
	var info struct {
		signo, errno, code, _ int32
		pid                   int32
		_                     [108]byte
	}
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, anyProcess, 0, uintptr(unsafe.Pointer(&info)),
			waitExited|waitNoReap|waitNoThread|syscall.WALL, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 {
			return 0, false, errno
		}
		const lastEnd = 3 // CLD_EXITED, CLD_KILLED, CLD_DUMPED
		return int(info.pid), info.code <= lastEnd, nil
	}
}

// sharesMemory reports whether two processes share their memory.
func sharesMemory(a, b int) bool {
	const (
		sysKcmp = 312
		kcmpVM  = 1
	)
	r, _, errno := syscall.Syscall6(sysKcmp, uintptr(a), uintptr(b), kcmpVM, 0, 0, 0)
	if errno == 0 {
		return r == 0
	}
	// Without kcmp: the parent of a vfork waits in the system call.
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", a))
	if err != nil {
		return false
	}
	var nr, flags uint64
	if n, _ := fmt.Sscanf(string(text), "%d %v", &nr, &flags); n < 2 {
		return false
	}
	return nr == syscall.SYS_VFORK || nr == syscall.SYS_CLONE && flags&syscall.CLONE_VM != 0
}
