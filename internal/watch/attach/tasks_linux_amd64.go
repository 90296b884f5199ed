package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// Requests, options and events that package syscall lacks; from
// include/uapi/linux/ptrace.h.
const (
	requestGetRegSet  = 0x4204
	requestSeize      = 0x4206
	requestInterrupt  = 0x4207
	requestGetSigMask = 0x420a
	requestSetSigMask = 0x420b

	noteXState = 0x202 // NT_X86_XSTATE
	eventStop  = 128
	offsetRIP  = 128 // of rip in struct user

	// The thread stops within that time, unless its wait cannot be interrupted.
	stopPatience = 5 * time.Second
)

func request(req, tid int, addr, data uintptr) error {
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, uintptr(req), uintptr(tid), addr, data, 0, 0)
		switch errno {
		case 0:
			return nil
		case syscall.EINTR:
		default:
			return errno
		}
	}
}

func sigMask(req, tid int, mask *uint64) error {
	return request(req, tid, unsafe.Sizeof(*mask), uintptr(unsafe.Pointer(mask)))
}

// thread is one of the program's threads under ptrace.
type thread struct {
	tid     int
	stopped bool
	regs    syscall.PtraceRegs // of when it was stopped
	changed bool               // regs must be written before it continues
}

// process is a running program whose threads can be stopped. One OS thread of ours does everything, as ptrace
// requires. If we are killed, the kernel releases the threads.
type process struct {
	ctx     context.Context
	pid     int
	mem     *os.File
	threads map[int]*thread
	calls   *caller
	unwind  []unwindModule // unwind tables of the modules
	first   time.Time      // when the first of the threads was found stopped
}

func openProcess(ctx context.Context, pid int) (*process, error) {
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return &process{ctx: ctx, pid: pid, mem: mem, threads: map[int]*thread{}}, nil
}

func (p *process) read(b []byte, at uint64) error {
	if n, err := p.mem.ReadAt(b, int64(at)); n < len(b) {
		return fmt.Errorf("reading its memory at %#x: %w", at, err)
	}
	return nil
}

func (p *process) write(b []byte, at uint64) error {
	if n, err := p.mem.WriteAt(b, int64(at)); n < len(b) {
		return fmt.Errorf("writing its memory at %#x: %w", at, err)
	}
	return nil
}

func (p *process) word(at uint64) (uint64, error) {
	var b [8]byte
	err := p.read(b[:], at)
	return le.Uint64(b[:]), err
}

func (p *process) setWord(at, v uint64) error { return p.write(le.AppendUint64(nil, v), at) }

// stop stops all threads of the program except those of the library.
func (p *process) stop() error {
	deadline := time.Now().Add(stopPatience)
	for {
		list, err := tasks(p.pid)
		if err != nil {
			return fmt.Errorf("process %d: %w", p.pid, ErrEnded)
		}
		found := 0
		for _, tid := range list {
			if th := p.threads[tid]; th == nil && !isOwn(p.pid, tid) {
				found++
				if err := p.seize(tid); err != nil {
					return err
				}
			} else if th != nil && !th.stopped {
				found++
				if err := request(requestInterrupt, tid, 0, 0); err != nil && !errors.Is(err, syscall.ESRCH) {
					return err
				}
			}
		}
		for _, th := range p.threads {
			if th.stopped {
				continue
			}
			if err := p.await(th, deadline); err != nil {
				return err
			}
		}
		if found == 0 {
			return p.ctx.Err()
		}
	}
}

func (p *process) seize(tid int) error {
	err := request(requestSeize, tid, 0, syscall.PTRACE_O_TRACESYSGOOD)
	if errors.Is(err, syscall.ESRCH) {
		return nil // it has ended
	}
	if err != nil {
		return whyNotTraced(p.pid, err)
	}
	p.threads[tid] = &thread{tid: tid}
	if err := request(requestInterrupt, tid, 0, 0); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// errGone reports that a thread has ended.
var errGone = errors.New("the thread has ended")

// wait waits for the next event of a thread.
func (p *process) wait(tid int, deadline time.Time) (syscall.WaitStatus, error) {
	for nap := 20 * time.Microsecond; ; nap = min(2*nap, time.Millisecond) {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(tid, &ws, syscall.WALL|syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.ECHILD):
			return 0, errGone
		case err != nil:
			return 0, err
		case got == tid && ws.Stopped():
			return ws, nil
		case got == tid:
			return 0, errGone
		case time.Now().After(deadline):
			return 0, fmt.Errorf("thread %d does not stop: it is in an uninterruptible system call", tid)
		}
		time.Sleep(nap)
	}
}

// await waits until a thread has stopped at our request. Signals that arrive before that are delivered.
func (p *process) await(th *thread, deadline time.Time) error {
	for {
		ws, err := p.wait(th.tid, deadline)
		if errors.Is(err, errGone) {
			delete(p.threads, th.tid)
			return nil
		}
		if err != nil {
			return err
		}
		switch event := int(ws) >> 16; {
		case event == eventStop:
			th.stopped = true
			if p.first.IsZero() {
				p.first = time.Now()
			}
			if err := syscall.PtraceGetRegs(th.tid, &th.regs); err != nil {
				return p.lost(th, err)
			}
			th.changed = false
			th.goOn()
			return nil
		case ws.StopSignal() == syscall.SIGTRAP|0x80:
			err = request(syscall.PTRACE_CONT, th.tid, 0, 0)
		case event == 0:
			err = request(syscall.PTRACE_CONT, th.tid, 0, uintptr(ws.StopSignal()))
		default:
			err = request(syscall.PTRACE_CONT, th.tid, 0, 0)
		}
		if err != nil {
			return p.lost(th, err)
		}
	}
}

// lost removes a thread that has ended meanwhile.
func (p *process) lost(th *thread, err error) error {
	if errors.Is(err, syscall.ESRCH) {
		delete(p.threads, th.tid)
		return nil
	}
	return err
}

// endedByStops are system calls that return EINTR after a stop (signal(7)). They have had no effect then, and
// are made again.
var endedByStops = map[uint64]bool{
	syscall.SYS_EPOLL_WAIT: true, syscall.SYS_EPOLL_PWAIT: true, 441: true, // epoll_pwait2
	syscall.SYS_SEMOP: true, syscall.SYS_SEMTIMEDOP: true, syscall.SYS_RT_SIGTIMEDWAIT: true,
	syscall.SYS_IO_GETEVENTS: true, 333: true, 426: true, // io_pgetevents, io_uring_enter
	syscall.SYS_RECVFROM: true, syscall.SYS_RECVMSG: true, 299: true, // recvmmsg
	syscall.SYS_ACCEPT: true, syscall.SYS_ACCEPT4: true,
}

// Results of system calls that the kernel restarts unless a handler runs; from include/linux/errno.h.
const (
	restartSys     = -512
	restartNoIntr  = -513
	restartNoHand  = -514
	restartByBlock = -516
)

// inCall reports whether the thread was stopped in a system call.
func (th *thread) inCall() bool { return int64(th.regs.Orig_rax) >= 0 }

// goOn repeats a system call that a stop interrupted. Calls that the kernel restarts by restart_syscall are
// repeated from their beginning, as a filter may end the program for restart_syscall.
func (th *thread) goOn() {
	if !th.inCall() {
		return
	}
	result := int64(th.regs.Rax)
	if result == -int64(syscall.EINTR) && endedByStops[th.regs.Orig_rax] || result == restartByBlock && isFiltered(th.tid) {
		var again int64 = restartNoHand
		th.regs.Rax = uint64(again)
		th.changed = true
	}
}

// setPC sets where a thread continues.
func (th *thread) setPC(pc uint64) {
	th.regs.Rip, th.changed = pc, true
}

// settle writes the registers of stopped threads.
func (p *process) settle() error {
	for _, th := range p.threads {
		if th.stopped && th.changed {
			if err := syscall.PtraceSetRegs(th.tid, &th.regs); err != nil {
				if err := p.lost(th, err); err != nil {
					return err
				}
				continue
			}
			th.changed = false
		}
	}
	return nil
}

// run lets all threads run, still under ptrace.
func (p *process) run() error {
	if err := p.settle(); err != nil {
		return err
	}
	for _, th := range p.threads {
		if th.stopped {
			th.stopped = false
			if err := request(syscall.PTRACE_CONT, th.tid, 0, 0); err != nil {
				if err := p.lost(th, err); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// release detaches from all threads. Running ones are stopped for that.
func (p *process) release() {
	if p.calls != nil {
		p.calls.restore()
	}
	deadline := time.Now().Add(stopPatience)
	for _, th := range p.threads {
		if !th.stopped {
			_ = request(requestInterrupt, th.tid, 0, 0)
			_ = p.await(th, deadline)
		}
	}
	_ = p.settle()
	for _, th := range p.threads {
		_ = request(syscall.PTRACE_DETACH, th.tid, 0, 0)
	}
	p.threads = map[int]*thread{}
}

func (p *process) close() {
	p.release()
	p.mem.Close()
}
