package ptrace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/cairnprof/cairn/format/procmaps"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// trap is what a session watches for.
type trap interface {
	// set is called once, before the program's first instruction.
	set(s *session) error
	// signal handles a signal for a stopped thread and returns the signal to deliver, or 0.
	signal(s *session, tid int, sig syscall.Signal) (syscall.Signal, error)
	// unset removes the traps from the memory of a stopped process.
	unset(s *session, pid int) error
}

// session is a program that is being followed. One OS thread must call all of its methods, as ptrace requires.
type session struct {
	path string
	cmd  *exec.Cmd
	pid  int
	trap trap
	bias uint64   // address in memory less link-time address
	mem  *os.File // the program's memory

	code [][2]uint64 // its own, half-open ranges of link-time addresses

	tasks    map[int]*task
	pending  []change // collected, but not handled
	swallow  bool     // our own SIGCONT must still be suppressed
	replaced bool
	guard    guard

	syscallAt uint64 // address of a syscall instruction, once it is needed
	start     time.Time
	elapsed   time.Duration
	tracing   time.Duration // setting traps and handling stops

	mu    sync.Mutex // guards ended
	ended bool       // the process id is no longer the program's
}

// change is a result of wait4.
type change struct {
	tid    int
	status syscall.WaitStatus
}

// task is a thread that is being followed.
type task struct {
	process int // its process id
	branch  branchTask
}

// follow runs a program under a trap to its end.
func follow(ctx context.Context, argv []string, bin *objfile.File, t trap, opts *Options) (s *session, status Status, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// ptrace accepts requests only from the thread that started the program.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		s = &session{path: bin.Path(), trap: t, tasks: map[int]*task{}, code: codeOf(bin)}
		status, err = s.run(ctx, argv, bin, opts)
	}()
	<-done
	if err == nil {
		err = ctx.Err()
	}
	return s, status, err
}

func (s *session) run(ctx context.Context, argv []string, bin *objfile.File, opts *Options) (status Status, err error) {
	if err := s.launch(argv, opts); err != nil {
		return status, err
	}
	defer s.finish()
	defer context.AfterFunc(ctx, func() { s.kill(syscall.SIGKILL) })()
	defer s.forward(opts.Signals)()
	if err := s.locate(bin); err != nil {
		return status, err
	}
	s.start = time.Now()
	if err := s.trap.set(s); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return status, fmt.Errorf("%s: %w", s.path, err)
	}
	s.tracing = time.Since(s.start)
	if err := s.resume(s.pid, 0); err != nil && !gone(err) {
		return status, err
	}
	ws, err := s.loop()
	s.elapsed = time.Since(s.start)
	if err != nil {
		return status, fmt.Errorf("%s: tracing it: %w", s.path, err)
	}
	if err := s.letGo(); err != nil {
		return status, fmt.Errorf("%s: detaching from its children: %w", s.path, err)
	}
	return statusOf(ws), nil
}

func statusOf(ws syscall.WaitStatus) Status {
	if ws.Signaled() {
		return Status{Code: 128 + int(ws.Signal()), Signal: int(ws.Signal())}
	}
	return Status{Code: ws.ExitStatus()}
}

// command prepares a program's start.
func command(path string, argv []string, opts *Options) *exec.Cmd {
	cmd := exec.Command(path, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Dir, cmd.Env = opts.Dir, opts.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = opts.Stdin, opts.Stdout, opts.Stderr
	cmd.WaitDelay = 2 * time.Second // for children that keep our pipes
	return cmd
}

// launch starts the program and stops it before its first instruction.
//
// Job control works only in a program that was seized (PTRACE_SEIZE), and only one that requested tracing stops
// at its start. So the program requests it, is released with SIGSTOP and seized while it is stopped. The
// SIGCONT that ends this stop is suppressed.
func (s *session) launch(argv []string, opts *Options) error {
	s.cmd = command(s.path, argv, opts)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := s.cmd.Start(); err != nil {
		if errors.Is(err, syscall.EPERM) {
			return fmt.Errorf("%s: starting it under ptrace: %w (a container may need --cap-add=SYS_PTRACE)", s.path, err)
		}
		return err
	}
	s.pid = s.cmd.Process.Pid
	s.tasks[s.pid] = &task{process: s.pid}
	err := s.seize()
	if err != nil {
		s.finish()
		return fmt.Errorf("%s: attaching to it: %w", s.path, err)
	}
	return nil
}

func (s *session) seize() error {
	if err := s.awaitStop(0); err != nil {
		return err
	}
	if err := detach(s.pid, syscall.SIGSTOP); err != nil {
		return err
	}
	if err := s.awaitStop(syscall.WUNTRACED); err != nil {
		return err
	}
	const options = optionExitKill | syscall.PTRACE_O_TRACESYSGOOD | syscall.PTRACE_O_TRACECLONE |
		syscall.PTRACE_O_TRACEFORK | syscall.PTRACE_O_TRACEVFORK | syscall.PTRACE_O_TRACEEXEC
	if err := request(requestSeize, s.pid, 0, options); err != nil {
		return err
	}
	if err := s.awaitStop(0); err != nil {
		return err
	}
	if err := syscall.Kill(s.pid, syscall.SIGCONT); err != nil {
		return err
	}
	s.swallow = true
	if err := resume(s.pid, 0); err != nil {
		return err
	}
	return s.awaitStop(0) // it reports that it is no longer stopped
}

// awaitStop waits for the program's next stop.
func (s *session) awaitStop(options int) error {
	ws, err := waitFor(s.pid, options|syscall.WALL)
	if err != nil {
		return err
	}
	if !ws.Stopped() {
		s.setEnded()
		return fmt.Errorf("it ended before its start: %s", statusOf(ws))
	}
	return nil
}

func waitFor(tid, options int) (ws syscall.WaitStatus, err error) {
	for {
		_, err = syscall.Wait4(tid, &ws, options, nil)
		if !errors.Is(err, syscall.EINTR) {
			return ws, err
		}
	}
}

// locate finds where in memory the program is.
func (s *session) locate(bin *objfile.File) error {
	auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", s.pid))
	if err != nil {
		return err
	}
	entry, ok := procmaps.Auxiliary(auxv, procmaps.AuxEntry)
	if !ok {
		return fmt.Errorf("%s: its entry point is unknown", s.path)
	}
	s.bias = entry - bin.Entry()
	s.mem, err = os.OpenFile(fmt.Sprintf("/proc/%d/mem", s.pid), os.O_RDWR, 0)
	return err
}

// finish ends the rest of the program and waits for its output.
func (s *session) finish() {
	if s.kill(syscall.SIGKILL) {
		for {
			ws, err := waitFor(s.pid, syscall.WALL)
			if err != nil || !ws.Stopped() {
				break
			}
			_ = resume(s.pid, 0)
		}
		s.setEnded()
	}
	if s.mem != nil {
		s.mem.Close()
	}
	// The process has been waited for; this is for the copying of streams.
	_ = s.cmd.Wait()
}

func (s *session) setEnded() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
}

// kill sends the program a signal, unless it has ended.
func (s *session) kill(sig syscall.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.ended && syscall.Kill(s.pid, sig) == nil
}

// forward forwards signals to the program until stop is called.
func (s *session) forward(signals <-chan os.Signal) (stop func()) {
	done := make(chan struct{})
	go func() {
		for {
			select {
			case sig := <-signals:
				if n, ok := sig.(syscall.Signal); ok {
					s.kill(n)
				}
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// gone reports whether err means that a thread no longer exists: another one may end the process at any time.
func gone(err error) bool {
	return errors.Is(err, syscall.ESRCH) || errors.Is(err, os.ErrProcessDone)
}

// loop handles stops until the program has ended.
func (s *session) loop() (syscall.WaitStatus, error) {
	for {
		tid, ws, err := s.next()
		if err != nil {
			return 0, err
		}
		if !ws.Stopped() {
			delete(s.tasks, tid)
			if tid == s.pid {
				s.setEnded()
				return ws, nil
			}
			continue
		}
		start := time.Now()
		if err := s.stopped(tid, ws); err != nil && !gone(err) {
			return 0, err
		}
		s.tracing += time.Since(start)
	}
}

// next waits for an event of one of the program's threads.
//
// Our OS thread may have other children: commands that other goroutines started on it before. Waiting for them
// would consume their exit codes.
func (s *session) next() (tid int, ws syscall.WaitStatus, err error) {
	if len(s.pending) > 0 {
		c := s.pending[0]
		s.pending = s.pending[1:]
		return c.tid, c.status, nil
	}
	for {
		tid, ended, err := peekChange()
		if err != nil {
			return 0, 0, err
		}
		if s.tasks[tid] != nil || !ended || statusField(tid, "TracerPid:") != 0 {
			ws, err = waitFor(tid, syscall.WALL)
			return tid, ws, err
		}
		time.Sleep(100 * time.Microsecond) // its owner is about to collect it
	}
}

// statusField returns a number from a thread's status in /proc, 0 if it is not
// there.
func statusField(tid int, field string) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return 0
	}
	_, after, ok := bytes.Cut(text, []byte("\n"+field))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(after, []byte("\n"))
	n, err := strconv.Atoi(string(bytes.TrimSpace(line)))
	if err != nil {
		return 0
	}
	return n
}

// stopped handles a stop and resumes the thread.
func (s *session) stopped(tid int, ws syscall.WaitStatus) error {
	if s.tasks[tid] == nil {
		if known, err := s.addTask(tid); !known || err != nil {
			return err
		}
	}
	sig := ws.StopSignal()
	if sig == syscall.SIGTRAP|0x80 {
		look := s.syscallStop
		if m, ok := s.trap.(mover); ok {
			look = func(tid int) error { return m.syscallStop(s, tid) }
		}
		if err := look(tid); err != nil {
			return err
		}
		return s.resume(tid, 0)
	}
	switch event := int(ws) >> 16; event {
	case 0:
	case syscall.PTRACE_EVENT_EXEC:
		return s.executed(tid)
	case eventStop:
		if sig != syscall.SIGTRAP {
			return request(requestListen, tid, 0, 0) // stopped until SIGCONT
		}
		return s.resume(tid, 0)
	default:
		return s.resume(tid, 0)
	}
	if sig == syscall.SIGCONT && s.swallow && tid == s.pid {
		s.swallow = false
		return s.resume(tid, 0)
	}
	sig, err := s.trap.signal(s, tid, sig)
	if err != nil {
		return err
	}
	s.delivered(sig)
	return s.resume(tid, sig)
}

// resume lets a stopped thread run, with a signal or 0.
func (s *session) resume(tid int, sig syscall.Signal) error {
	if m, ok := s.trap.(mover); ok {
		return m.resume(s, tid, sig)
	}
	if s.guard.sig != 0 {
		return syscall.PtraceSyscall(tid, int(sig))
	}
	return resume(tid, sig)
}

// addTask adds a new thread if it shares the program's memory, and detaches from any other.
func (s *session) addTask(tid int) (known bool, err error) {
	process := statusField(tid, "Tgid:")
	if process == s.pid || sharesMemory(s.pid, tid) {
		s.tasks[tid] = &task{process: process}
		return true, nil
	}
	if err := s.trap.unset(s, tid); err != nil {
		return false, err
	}
	return false, detach(tid, 0)
}

// executed releases a process that has executed another program. One of its threads remains, with the process's
// id.
func (s *session) executed(pid int) error {
	for tid, t := range s.tasks {
		if t.process == pid {
			delete(s.tasks, tid)
		}
	}
	if pid != s.pid {
		return detach(pid, 0)
	}
	s.replaced = true
	s.tasks[pid] = &task{process: pid}
	return detach(pid, 0)
}

// letGo removes the traps for the threads that remain after the program has ended: children that shared its
// memory.
func (s *session) letGo() error {
	for tid := range s.tasks {
		if err := request(requestInterrupt, tid, 0, 0); err != nil {
			delete(s.tasks, tid)
		}
	}
	for len(s.tasks) > 0 {
		tid, ws, err := s.next()
		if err != nil {
			return err
		}
		var sig syscall.Signal
		if ws.Stopped() {
			if int(ws)>>16 == 0 {
				sig, err = s.trap.signal(s, tid, ws.StopSignal())
			}
			if err == nil {
				err = s.trap.unset(s, tid)
			}
			if err == nil {
				err = detach(tid, sig)
			}
		}
		if err != nil && !gone(err) {
			return err
		}
		delete(s.tasks, tid)
	}
	return nil
}

// read reads from the memory of the program; a short read is an error.
func (s *session) read(b []byte, addr uint64) error {
	n, err := s.mem.ReadAt(b, int64(addr))
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		// No memory is left: the process is about to end.
		return syscall.ESRCH
	}
	return err
}

// codeOf returns the half-open ranges of a program's code.
func codeOf(bin *objfile.File) (code [][2]uint64) {
	for _, s := range bin.LoadedSections() {
		if s.Code {
			code = append(code, [2]uint64{s.Addr, s.Addr + s.Size})
		}
	}
	return code
}

// inCode returns addr if it can be a return address in the program, else 0.
func (s *session) inCode(addr uint64) uint64 {
	for _, r := range s.code {
		if addr > r[0] && addr <= r[1] {
			return addr
		}
	}
	return 0
}
