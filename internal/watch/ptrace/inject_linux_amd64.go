package ptrace

import (
	"bytes"
	"errors"
	"syscall"
)

// inject makes a stopped thread execute a system call and restores the thread. Signals wait until then. errno
// is the result of the call.
func (s *session) inject(tid int, nr uint64, args ...uint64) (errno syscall.Errno, err error) {
	if err := s.findSyscall(); err != nil {
		return 0, err
	}
	var saved syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &saved); err != nil {
		return 0, err
	}
	var mask uint64
	if err := sigMask(requestGetSigMask, tid, &mask); err != nil {
		return 0, err
	}
	all := ^uint64(0)
	if err := sigMask(requestSetSigMask, tid, &all); err != nil {
		return 0, err
	}
	regs := saved
	regs.Rip, regs.Rax, regs.Orig_rax = s.syscallAt, nr, ^uint64(0)
	for i, arg := range args {
		*[]*uint64{&regs.Rdi, &regs.Rsi, &regs.Rdx, &regs.R10}[i] = arg
	}
	if err := syscall.PtraceSetRegs(tid, &regs); err != nil {
		return 0, err
	}
	for range 2 { // to its entry, to its exit
		if err := s.toSyscallStop(tid); err != nil {
			return 0, err
		}
	}
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return 0, err
	}
	if err := syscall.PtraceSetRegs(tid, &saved); err != nil {
		return 0, err
	}
	if r := int64(regs.Rax); r < 0 {
		errno = syscall.Errno(-r)
	}
	return errno, sigMask(requestSetSigMask, tid, &mask)
}

// toSyscallStop lets a thread run to where it enters or leaves a system call.
func (s *session) toSyscallStop(tid int) error {
	var held syscall.Signal
	for {
		if err := syscall.PtraceSyscall(tid, 0); err != nil {
			return err
		}
		ws, err := waitFor(tid, syscall.WALL)
		if err != nil {
			return err
		}
		switch {
		case !ws.Stopped():
			s.pending = append(s.pending, change{tid, ws})
			return syscall.ESRCH
		case ws.StopSignal() == syscall.SIGTRAP|0x80:
			if held != 0 {
				return syscall.Kill(tid, held) // again
			}
			return nil
		case int(ws)>>16 == 0:
			held = ws.StopSignal() // SIGSTOP, which no mask holds back
		}
	}
}

// errNoSyscall: the program's memory has no instruction to inject with.
var errNoSyscall = errors.New("no system call instruction outside of the program's code (is the vdso disabled?)")

// findSyscall finds a syscall instruction in code outside the program's own, such as the vdso.
func (s *session) findSyscall() error {
	if s.syscallAt != 0 {
		return nil
	}
	maps, err := s.mappings()
	if err != nil {
		return err
	}
	for _, m := range maps {
		if !m.Exec || m.Name == "[vsyscall]" || holdsAny(&m, s.code, s.bias) {
			continue
		}
		mem := make([]byte, min(m.Hi-m.Lo, maxChunk))
		if s.read(mem, m.Lo) != nil {
			continue
		}
		if i := bytes.Index(mem, []byte{0x0f, 0x05}); i >= 0 {
			s.syscallAt = m.Lo + uint64(i)
			return nil
		}
	}
	return errNoSyscall
}
