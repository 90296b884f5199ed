package ptrace

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// From the program's first instruction on, each branch gets a breakpoint before a thread reaches it:
// instructions are decoded from the thread's place to the next branch. So only memory that is about to run is
// changed. At the breakpoint the branch is emulated with the thread's registers, and the breakpoint stays for
// other threads.
//
// Where the kernel moves a thread, it is followed by a single step. So are unsupported branch instructions, and
// code that cannot hold a breakpoint.

// mover is a trap that controls how threads continue, and watches their system calls.
type mover interface {
	trap
	resume(s *session, tid int, sig syscall.Signal) error
	syscallStop(s *session, tid int) error
}

// Branches runs a program to its end and reports every branch of its threads to w, also those in its libraries.
// It does not follow processes that the program forks.
func Branches(ctx context.Context, argv []string, w BranchWatcher, opts *Options) (*BranchRun, error) {
	bin, err := openProgram(argv)
	if err != nil {
		return nil, err
	}
	defer bin.Close()
	b := &branches{
		watcher: w, entry: bin.Entry(), planted: map[uint64]byte{}, pages: map[uint64]bool{},
		blocks: map[uint64]block{},
	}
	s, status, err := follow(ctx, argv, bin, b, opts)
	if err != nil {
		return nil, err
	}
	return &BranchRun{Status: status, Stops: b.stops, Elapsed: s.elapsed, Replaced: s.replaced}, nil
}

// branches is the trap at every branch.
type branches struct {
	watcher BranchWatcher
	entry   uint64 // of the program: link-time, in memory once it is started
	started bool
	stops   uint64

	planted map[uint64]byte // bytes that breakpoints replace
	pages   map[uint64]bool // that have some
	blocks  map[uint64]block
}

// block is the code from an address to the next branch.
type block struct {
	at   uint64 // of the branch
	inst x86.Inst
	seg  byte   // its prefix for a segment, or 0
	pop  uint64 // number of bytes that a return pops besides
}

// branchTask is the state of a thread.
type branchTask struct {
	step    bool   // it must run one instruction
	from    uint64 // its address then, or 0
	led     bool   // the kernel may move it meanwhile: it gets a signal
	replant uint64 // where a breakpoint must be set again after the step, or 0
	restore bool   // it is in rt_sigreturn
}

const longestBlock = 1 << 16 // bytes that are read for a branch

func (b *branches) task(s *session, tid int) *branchTask {
	if t := s.tasks[tid]; t != nil {
		return &t.branch
	}
	return &branchTask{} // it has ended
}

// set makes the program run to its first instruction.
func (b *branches) set(s *session) error {
	b.entry += s.bias
	return b.plant(s, b.entry)
}

// plant puts a breakpoint at an address.
func (b *branches) plant(s *session, at uint64) error {
	var was [1]byte
	if err := s.read(was[:], at); err != nil {
		return err
	}
	if _, ok := b.planted[at]; ok && was[0] == int3 {
		return nil
	}
	if _, err := s.mem.WriteAt([]byte{int3}, int64(at)); err != nil {
		return err
	}
	b.planted[at] = was[0]
	b.pages[at/pageSize] = true
	return nil
}

// unplant removes a breakpoint, if there is one.
func (b *branches) unplant(s *session, at uint64) error {
	was, ok := b.planted[at]
	if !ok {
		return nil
	}
	delete(b.planted, at)
	_, err := s.mem.WriteAt([]byte{was}, int64(at))
	return err
}

// next returns the block at an address, with a breakpoint at its end. It reports false if that is impossible.
func (b *branches) next(s *session, at uint64) (block, bool) {
	if found, ok := b.blocks[at]; ok {
		return found, true
	}
	found, ok := b.find(s, at)
	if !ok || b.plant(s, found.at) != nil {
		return block{}, false
	}
	b.blocks[at] = found
	return found, true
}

// find decodes the instructions from an address on.
func (b *branches) find(s *session, at uint64) (block, bool) {
	for end := at + longestBlock; at < end; {
		code := b.code(s, at)
		in, err := x86.Decode(code)
		if err != nil {
			return block{}, false
		}
		switch in.Class {
		case controlflow.Call, controlflow.IndirectCall, controlflow.Return, controlflow.Jump, controlflow.IndirectJump, controlflow.Conditional:
			found := block{at: at, inst: in, seg: segment(code)}
			if in.Class == controlflow.Return && in.ImmSize == 2 {
				found.pop = uint64(binary.LittleEndian.Uint16(code[in.ImmOff:]))
			}
			return found, true
		case controlflow.Trap:
			return block{}, false // it cannot continue by itself
		}
		at += uint64(in.Len)
	}
	return block{}, false
}

// code reads an instruction without breakpoints.
func (b *branches) code(s *session, at uint64) []byte {
	code := make([]byte, x86.MaxLen)
	if s.read(code, at) != nil {
		// It may be the last of its page.
		code = code[:min(x86.MaxLen, pageSize-at%pageSize)]
		if s.read(code, at) != nil {
			return nil
		}
	}
	b.hide(code, at)
	return code
}

// hide replaces breakpoints in code by the original bytes.
func (b *branches) hide(code []byte, at uint64) {
	for i := range code {
		if code[i] != int3 {
			continue
		}
		if was, ok := b.planted[at+uint64(i)]; ok {
			code[i] = was
		}
	}
}

// signal handles our stops, and single-steps a thread that will get a signal.
func (b *branches) signal(s *session, tid int, sig syscall.Signal) (syscall.Signal, error) {
	b.stops++
	if sig != syscall.SIGTRAP {
		return sig, nil
	}
	info, err := getSigInfo(tid)
	if err != nil {
		return 0, err
	}
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return 0, err
	}
	t := b.task(s, tid)
	const (
		trapCall    = 1 // TRAP_BRKPT: a step over a system call
		trapStep    = 2 // TRAP_TRACE
		trapHandler = 5 // SIGTRAP: a step into a handler
	)
	switch at := regs.Rip - 1; {
	case t.step && (info.code == trapStep || info.code == trapCall || info.code == trapHandler):
		return 0, b.stepped(s, tid, t, &regs)
	case info.code != siKernel:
		return sig, s.passing(tid) // sent by a process
	case !b.started && at == b.entry:
		return 0, b.start(s, tid, &regs)
	case b.started && b.isPlanted(s, at):
		t.step, t.led = false, false
		if err := b.replant(s, t); err != nil {
			return 0, err
		}
		if err := s.repair(tid); err != nil {
			return 0, err
		}
		regs.Rip = at
		return 0, b.run(s, tid, t, &regs)
	}
	return sig, s.passing(tid) // an int3 of its own
}

// isPlanted reports whether there is a breakpoint at an address, or was when a thread reached it.
func (b *branches) isPlanted(s *session, at uint64) bool {
	if _, ok := b.planted[at]; ok {
		return true
	}
	for _, t := range s.tasks {
		if t.branch.replant == at {
			return true
		}
	}
	return false
}

// start begins to follow the program.
func (b *branches) start(s *session, tid int, regs *syscall.PtraceRegs) error {
	b.started = true
	if err := b.unplant(s, b.entry); err != nil {
		return err
	}
	read := func(data []byte, at uint64) error {
		err := s.read(data, at)
		b.hide(data, at)
		return err
	}
	if err := b.watcher.Start(s.pid, read); err != nil {
		return err
	}
	regs.Rip = b.entry
	return b.run(s, tid, b.task(s, tid), regs)
}

// replant restores the breakpoint that was removed for a thread's step.
func (b *branches) replant(s *session, t *branchTask) error {
	at := t.replant
	if at == 0 {
		return nil
	}
	t.replant = 0
	return b.plant(s, at)
}

// stepped handles the end of a single step.
func (b *branches) stepped(s *session, tid int, t *branchTask, regs *syscall.PtraceRegs) error {
	if err := b.replant(s, t); err != nil {
		return err
	}
	from, led := t.from, t.led
	t.step, t.led = false, false
	in, err := x86.Decode(b.code(s, from))
	if regs.Rip == from || err == nil && regs.Rip == from+uint64(in.Len) {
		return b.run(s, tid, t, regs) // it went on, or repeats
	}
	before := *regs
	switch {
	case led:
		from, in.Class = kernelAddress, controlflow.Other
	case in.Class.IsCall():
		before.Rsp += 8
	case in.Class == controlflow.Return:
		before.Rsp -= 8
	}
	if err := b.report(s, &Branch{TID: tid, From: from, To: regs.Rip, Class: in.Class, SP: before.Rsp, FP: before.Rbp}); err != nil {
		return err
	}
	return b.run(s, tid, t, regs)
}

// report sets the process of a branch, and passes it on.
func (b *branches) report(s *session, found *Branch) error {
	found.PID = s.pid
	if t := s.tasks[found.TID]; t != nil {
		found.PID = t.process
	}
	return b.watcher.Branch(found)
}

// run emulates the branches at a thread's place, and makes it continue after them.
func (b *branches) run(s *session, tid int, t *branchTask, regs *syscall.PtraceRegs) error {
	const most = 64 // in a row: a jump to itself must not block us
	for range most {
		found, ok := b.next(s, regs.Rip)
		if !ok {
			t.step, t.from = true, regs.Rip
			break
		}
		if found.at != regs.Rip {
			break // it has something to run before
		}
		after := *regs
		e := emulator{regs: &after, read: s.read, write: func(data []byte, at uint64) error {
			_, err := s.mem.WriteAt(data, int64(at))
			return err
		}}
		taken, err := e.branch(&found)
		if err != nil {
			if gone(err) && s.read(make([]byte, 1), found.at) != nil {
				return err // it is gone, and not where the branch wanted to read
			}
			// It must execute it itself, or receive the fault.
			if err := b.unplant(s, found.at); err != nil {
				return err
			}
			t.step, t.from, t.replant = true, regs.Rip, found.at
			break
		}
		if taken {
			if err := b.report(s, &Branch{TID: tid, From: regs.Rip, To: after.Rip, Class: found.inst.Class, SP: regs.Rsp, FP: regs.Rbp}); err != nil {
				return err
			}
		}
		*regs = after
	}
	return syscall.PtraceSetRegs(tid, regs)
}

// resume lets a thread run to its next branch, system call or instruction.
func (b *branches) resume(s *session, tid int, sig syscall.Signal) error {
	t := b.task(s, tid)
	if b.started && sig != 0 {
		// If it has a handler for the signal, the step ends before that.
		var regs syscall.PtraceRegs
		if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
			return err
		}
		t.step, t.led, t.from = true, true, regs.Rip
	}
	if t.step {
		return request(syscall.PTRACE_SINGLESTEP, tid, 0, uintptr(sig))
	}
	return syscall.PtraceSyscall(tid, int(sig))
}

// syscallStop follows a thread that returns from a handler, and forgets code that is mapped again.
func (b *branches) syscallStop(s *session, tid int) error {
	b.stops++
	if !b.started {
		return nil
	}
	if s.guard.sig != 0 {
		if err := s.syscallStop(tid); err != nil {
			return err
		}
	}
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	t := b.task(s, tid)
	if t.restore { // it has returned
		t.restore = false
		if err := b.report(s, &Branch{TID: tid, From: kernelAddress, To: regs.Rip, Class: controlflow.Other, SP: regs.Rsp, FP: regs.Rbp}); err != nil {
			return err
		}
		return b.run(s, tid, t, &regs)
	}
	atStart := int64(regs.Rax) == -int64(syscall.ENOSYS)
	const pkeyMprotect = 329
	switch regs.Orig_rax {
	case syscall.SYS_RT_SIGRETURN:
		t.restore = atStart
	case syscall.SYS_MMAP, syscall.SYS_MPROTECT, pkeyMprotect:
		if regs.Rdx&syscall.PROT_EXEC != 0 {
			b.forget()
		}
	case syscall.SYS_MUNMAP, syscall.SYS_MREMAP:
		if b.touches(regs.Rdi, regs.Rsi) {
			b.forget()
		}
	}
	return nil
}

// forget discards the decoded code. Existing breakpoints stay.
func (b *branches) forget() {
	clear(b.blocks)
	b.watcher.Mapped()
}

// touches reports whether there may be breakpoints in a range.
func (b *branches) touches(at, size uint64) bool {
	if size/pageSize > uint64(len(b.pages)) {
		return true
	}
	for page := at / pageSize; page <= (at+size)/pageSize; page++ {
		if b.pages[page] {
			return true
		}
	}
	return false
}

// unset restores the code of a process.
func (b *branches) unset(s *session, pid int) error {
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	for at, was := range b.planted {
		var now [1]byte
		if _, err := mem.ReadAt(now[:], int64(at)); err != nil || now[0] != int3 {
			continue // it is no longer mapped, or is other code
		}
		if _, err := mem.WriteAt([]byte{was}, int64(at)); err != nil && !errors.Is(err, syscall.EIO) {
			return err
		}
	}
	return nil
}
