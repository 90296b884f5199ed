package ptrace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// If a fault occurs while its signal is blocked or ignored, the kernel resets the signal's handler and unblocks
// it. Traps cause such faults where there were none: if a handler of that signal runs code for the first time,
// or a program blocks all signals.
//
// The guard stops the program's threads at their system calls to track rt_sigaction, and restores what the
// kernel has reset.

// guard preserves the program's handler of a signal. It is off while sig is 0.
type guard struct {
	sig    syscall.Signal
	action sigAction // that the program has asked for
}

// sigAction is the kernel's struct sigaction.
type sigAction struct{ Handler, Flags, Restorer, Mask uint64 }

const (
	handlerDefault = 0 // SIG_DFL
	handlerIgnore  = 1 // SIG_IGN
	sigActionSize  = 32
	resetHandler   = 0x80000000 // SA_RESETHAND
	redZone        = 128        // bytes below the stack that belong to the code
)

// protectSignal enables the guard in a stopped thread.
func (s *session) protectSignal(tid int, sig syscall.Signal) error {
	s.guard.sig = sig
	var err error
	s.guard.action, err = s.getAction(tid, sig)
	return err
}

// passing handles the program's own SIGTRAPs: a program that handles them will run code with SIGTRAP blocked.
func (s *session) passing(tid int) error {
	if s.guard.sig != 0 || signalSet(tid, "SigCgt:")&maskOf(syscall.SIGTRAP) == 0 {
		return nil
	}
	return s.protectSignal(tid, syscall.SIGTRAP)
}

// syscallStop handles a system call of a thread: rt_sigaction, at its end.
func (s *session) syscallStop(tid int) error {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	// At a call's start the result is ENOSYS. Children in vfork have handlers
	// of their own.
	if regs.Orig_rax == syscall.SYS_RT_SIGACTION && regs.Rax == 0 && regs.Rsi != 0 &&
		syscall.Signal(regs.Rdi) == s.guard.sig && s.tasks[tid].process == s.pid {
		return s.readAction(&s.guard.action, regs.Rsi)
	}
	return nil
}

// delivered records that the guarded signal is delivered to the program.
func (s *session) delivered(sig syscall.Signal) {
	if s.guard.sig == sig && s.guard.action.Flags&resetHandler != 0 {
		s.guard.action = sigAction{}
	}
}

// repair restores the program's handler if a trap in the stopped thread has reset it.
func (s *session) repair(tid int) error {
	g := &s.guard
	if g.sig == 0 || g.action.Handler == handlerDefault || s.tasks[tid] == nil || s.tasks[tid].process != s.pid {
		return nil
	}
	set := "SigCgt:"
	if g.action.Handler == handlerIgnore {
		set = "SigIgn:"
	}
	if signalSet(tid, set)&maskOf(g.sig) != 0 {
		return nil
	}
	if err := s.setAction(tid, g.sig, g.action); err != nil || g.action.Handler == handlerIgnore {
		return err
	}
	// It was blocked, then.
	var mask uint64
	if err := sigMask(requestGetSigMask, tid, &mask); err != nil {
		return err
	}
	mask |= maskOf(g.sig)
	return sigMask(requestSetSigMask, tid, &mask)
}

func maskOf(sig syscall.Signal) uint64 { return 1 << (sig - 1) }

// signalSet returns a set of signals from a thread's status in /proc.
func signalSet(tid int, field string) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(text, []byte("\n"+field))
	line, _, _ := bytes.Cut(after, []byte("\n"))
	n, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 64)
	if err != nil {
		return 0
	}
	return n
}

// getAction asks the kernel, through a stopped thread, for the action of a signal.
func (s *session) getAction(tid int, sig syscall.Signal) (a sigAction, err error) {
	err = s.withScratch(tid, func(at uint64) error {
		errno, err := s.inject(tid, syscall.SYS_RT_SIGACTION, uint64(sig), 0, at, 8)
		if err != nil || errno != 0 {
			return err // without a usable stack the action cannot be determined
		}
		return s.readAction(&a, at)
	})
	return a, err
}

// setAction sets the action of a signal.
func (s *session) setAction(tid int, sig syscall.Signal, a sigAction) error {
	return s.withScratch(tid, func(at uint64) error {
		var b [sigActionSize]byte
		if _, err := binary.Encode(b[:], binary.LittleEndian, a); err != nil {
			return err
		}
		if _, err := s.mem.WriteAt(b[:], int64(at)); err != nil {
			return err
		}
		_, err := s.inject(tid, syscall.SYS_RT_SIGACTION, uint64(sig), at, 0, 8)
		return err
	})
}

func (s *session) readAction(a *sigAction, at uint64) error {
	var b [sigActionSize]byte
	if err := s.read(b[:], at); err != nil {
		return err
	}
	_, err := binary.Decode(b[:], binary.LittleEndian, a)
	return err
}

// withScratch calls do with the address of scratch memory below a stopped thread's stack, whose contents it
// restores afterwards. A stack without room is left alone.
func (s *session) withScratch(tid int, do func(at uint64) error) error {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	at := (regs.Rsp - redZone - sigActionSize) &^ 15
	var old [sigActionSize]byte
	if s.read(old[:], at) != nil {
		return nil
	}
	if err := do(at); err != nil {
		return err
	}
	_, err := s.mem.WriteAt(old[:], int64(at))
	return err
}
