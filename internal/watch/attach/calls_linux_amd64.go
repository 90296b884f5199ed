package attach

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// caller makes a stopped thread execute calls for us. On the thread's stack is a signal frame through which the
// thread returns to its place by itself if we are killed: every call ends there.
type caller struct {
	p        *process
	th       *thread
	mask     uint64 // signals that it blocks, without those that are held back during the call
	frame    uint64 // address of the frame, which begins with that of restorer
	gadget   uint64 // syscall; ret
	restorer uint64 // code that makes the kernel restore a thread
	left     bool   // it is at another place than before
	broken   bool   // it did not return: it runs on its own
}

const (
	redZone   = 128
	stackRoom = 48 << 10 // maximum of the stack that it uses
	callTime  = 20 * time.Second

	// callerAttempts bounds how often awaitCaller checks the threads, with sleeps of 0.8 s in all.
	callerAttempts = 40
)

// syscallRet and sigReturn are searched in existing code.
var (
	syscallRet = []byte{0x0f, 0x05, 0xc3}
	sigReturn  = []byte{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05} // mov $15, %rax; syscall
)

// errNoThread reports that no thread can be used.
var errNoThread = errors.New("no thread is at a point with enough free stack to run code in it; try again")

// newCaller makes a caller of a stopped thread.
func (p *process) newCaller(maps []mapping) error {
	c := &caller{p: p}
	// In mappings of files only: our own memory will be unmapped.
	for _, likely := range []bool{true, false} {
		for _, m := range maps {
			if !m.Exec || m.Inode == 0 || strings.Contains(m.Name, "/libc.so") != likely || c.gadget != 0 && c.restorer != 0 {
				continue
			}
			code := make([]byte, min(m.Hi-m.Lo, 64<<20))
			if p.read(code, m.Lo) != nil {
				continue
			}
			if i := bytes.Index(code, syscallRet); i >= 0 && c.gadget == 0 {
				c.gadget = m.Lo + uint64(i)
			}
			if i := bytes.Index(code, sigReturn); i >= 0 && c.restorer == 0 {
				c.restorer = m.Lo + uint64(i)
			}
		}
	}
	if c.gadget == 0 || c.restorer == 0 {
		return errors.New("unknown C library: no code that makes system calls was found in it")
	}
	var known []filtered
	forbidden := ""
	for _, th := range p.candidates(maps) {
		if forbidden = p.forbids(th.tid, callerCalls, &known); forbidden != "" {
			continue
		}
		c.th = th
		if err := c.putFrame(c.restorer); err == nil {
			p.calls = c
			return nil
		}
	}
	if forbidden != "" {
		return errors.New(forbidden)
	}
	return errNoThread
}

// awaitCaller makes a caller of the first usable thread. The program, whose threads are stopped before and
// after, runs between the attempts. It returns the memory mappings at that time.
func (p *process) awaitCaller() ([]mapping, error) {
	for attempt := 1; ; attempt++ {
		maps, err := readMaps(p.pid)
		if err != nil {
			return nil, err
		}
		if err = p.newCaller(maps); !errors.Is(err, errNoThread) || attempt == callerAttempts {
			return maps, err
		}
		if err := p.run(); err != nil {
			return nil, err
		}
		time.Sleep(time.Duration(attempt) * time.Millisecond)
		if err := p.stop(); err != nil {
			return nil, err
		}
	}
}

// candidates returns the threads with enough room on their own stack, those in system calls first. Others may
// be in code that must not be interrupted (rseq).
func (p *process) candidates(maps []mapping) []*thread {
	var out []*thread
	for _, calling := range []bool{true, false} {
		for _, th := range p.threads {
			if !th.stopped || th.inCall() != calling || !calling && inSequence(th.tid, p) {
				continue
			}
			for _, m := range maps {
				if !m.Has(th.regs.Rsp) || !m.Write {
					continue
				}
				own := m.Name == "[stack]" && th.tid == p.pid || m.Has(th.regs.Fs_base) && th.regs.Rsp < th.regs.Fs_base
				if own && th.regs.Rsp-m.Lo > stackRoom {
					out = append(out, th)
				}
			}
		}
	}
	return out
}

// inSequence reports whether a thread may be in a restartable sequence, which the kernel aborts if a thread
// leaves it.
func inSequence(tid int, p *process) bool {
	const requestGetRseq = 0x420f
	var conf struct {
		at                     uint64
		size, signature, flags uint32
		_                      uint32
	}
	if request(requestGetRseq, tid, unsafe.Sizeof(conf), uintptr(unsafe.Pointer(&conf))) != nil || conf.at == 0 {
		return false
	}
	at, err := p.word(conf.at + 8)
	return err != nil || at != 0
}

// Offsets in the kernel's struct rt_sigframe, from its return address on.
const (
	frameContext = 8
	frameRegs    = frameContext + 40
	frameSegs    = frameRegs + 18*8
	frameFP      = frameRegs + 23*8
	frameMask    = frameRegs + 32*8
	frameSize    = frameMask + 8 + 128
	contextFlags = 1 | 2 | 4 // of vectors as xsave has them; of the stack's segment
)

// putFrame writes the frame below the used part of the thread's stack.
func (c *caller) putFrame(restorer uint64) error {
	th := c.th
	if err := sigMask(requestGetSigMask, th.tid, &c.mask); err != nil {
		return err
	}
	vectors, err := vectorsOf(th.tid)
	if err != nil {
		return err
	}
	fp := (th.regs.Rsp - redZone - uint64(len(vectors))) &^ 63
	c.frame = (fp - frameSize) &^ 15
	b := make([]byte, fp-c.frame+uint64(len(vectors)))
	le.PutUint64(b, restorer)
	le.PutUint64(b[frameContext:], contextFlags)
	le.PutUint32(b[frameContext+24:], 0x7fffffff) // no state of a signal stack, so it does not change
	r := th.resumed()
	for i, v := range []uint64{r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15, r.Rdi, r.Rsi, r.Rbp, r.Rbx, r.Rdx, r.Rax, r.Rcx, r.Rsp, r.Rip, r.Eflags} {
		le.PutUint64(b[frameRegs+8*i:], v)
	}
	le.PutUint16(b[frameSegs:], uint16(r.Cs))
	le.PutUint16(b[frameSegs+6:], uint16(r.Ss))
	le.PutUint64(b[frameFP:], fp)
	le.PutUint64(b[frameMask:], c.mask)
	copy(b[fp-c.frame:], vectors)
	return c.p.write(b, c.frame)
}

// resumed returns the registers with which the thread continues if the kernel cannot restart its system call.
func (th *thread) resumed() syscall.PtraceRegs {
	r := th.regs
	if !th.inCall() {
		return r
	}
	switch int64(r.Rax) {
	case restartSys, restartNoIntr, restartNoHand, restartByBlock:
		r.Rax = r.Orig_rax
		r.Rip -= 2
	}
	return r
}

// vectorsOf returns the vector registers of a thread in the format of a signal frame.
func vectorsOf(tid int) ([]byte, error) {
	const (
		software  = 464 // offset of what xsave leaves to software
		magic1    = 0x46505853
		magic2    = 0x46505845
		withoutTM = 2696    // bytes without the registers of AMX, which need leave
		tiles     = 3 << 17 // bits of their state
	)
	b := make([]byte, 16<<10)
	iov := syscall.Iovec{Base: &b[0], Len: uint64(len(b))}
	if err := request(requestGetRegSet, tid, noteXState, uintptr(unsafe.Pointer(&iov))); err != nil {
		return nil, err
	}
	if iov.Len < 576 || iov.Len > uint64(len(b)) {
		return nil, errors.New("its vector registers cannot be read")
	}
	b = b[:iov.Len]
	features := le.Uint64(b[software:])
	if features&tiles != 0 && len(b) > withoutTM {
		b, features = b[:withoutTM], features&^tiles
	}
	clear(b[software:512])
	le.PutUint32(b[software:], magic1)
	le.PutUint32(b[software+4:], uint32(len(b)+4))
	le.PutUint64(b[software+8:], features)
	le.PutUint32(b[software+16:], uint32(len(b)))
	return le.AppendUint32(b, magic2), nil
}

// send makes the thread continue at another place.
func (c *caller) send(set func(*syscall.PtraceRegs)) error {
	if c.broken {
		return errNoThread
	}
	regs := c.th.regs
	regs.Rsp, regs.Orig_rax = c.frame, ^uint64(0)
	set(&regs)
	c.left = true
	if err := syscall.PtraceSetRegs(c.th.tid, &regs); err != nil {
		return err
	}
	// After the registers: a return through the frame restores the mask as well.
	all := ^uint64(0)
	return sigMask(requestSetSigMask, c.th.tid, &all)
}

// toCallStop lets the thread run to where it enters or leaves a system call.
func (c *caller) toCallStop(deadline time.Time) (regs syscall.PtraceRegs, err error) {
	for {
		if err := request(syscall.PTRACE_SYSCALL, c.th.tid, 0, 0); err != nil {
			return regs, err
		}
		ws, err := c.p.wait(c.th.tid, deadline)
		if err != nil {
			c.broken = true
			return regs, err
		}
		if ws.StopSignal() == syscall.SIGTRAP|0x80 {
			return regs, syscall.PtraceGetRegs(c.th.tid, &regs)
		}
		if int(ws)>>16 == 0 {
			c.broken = true
			return regs, fmt.Errorf("thread %d got signal %d in injected code", c.th.tid, ws.StopSignal())
		}
	}
}

// halt stops the thread again.
func (c *caller) halt(deadline time.Time) error {
	if err := request(requestInterrupt, c.th.tid, 0, 0); err != nil {
		return err
	}
	if err := request(syscall.PTRACE_CONT, c.th.tid, 0, 0); err != nil {
		return err
	}
	return c.toEventStop(deadline)
}

func (c *caller) toEventStop(deadline time.Time) error {
	for {
		ws, err := c.p.wait(c.th.tid, deadline)
		if err != nil {
			c.broken = true
			return err
		}
		if int(ws)>>16 == eventStop {
			return nil
		}
		if err := request(syscall.PTRACE_CONT, c.th.tid, 0, 0); err != nil {
			return err
		}
	}
}

// syscall makes the thread execute a system call.
func (c *caller) syscall(nr uint64, args ...uint64) (uint64, error) {
	deadline := time.Now().Add(callTime)
	err := c.send(func(r *syscall.PtraceRegs) {
		r.Rip, r.Rax = c.gadget, nr
		for i, arg := range args {
			*[]*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.R10, &r.R8, &r.R9}[i] = arg
		}
	})
	if err != nil {
		return 0, err
	}
	if _, err := c.toCallStop(deadline); err != nil {
		return 0, err
	}
	regs, err := c.toCallStop(deadline)
	if err != nil {
		return 0, err
	}
	if err := c.halt(deadline); err != nil {
		return 0, err
	}
	if r := int64(regs.Rax); r < 0 && r > -4096 {
		return 0, syscall.Errno(-r)
	}
	return regs.Rax, nil
}

// enter makes the thread run the library from entry on, on a stack, until the header's done is set.
func (c *caller) enter(entry, header, stack uint64, library region) error {
	err := c.send(func(r *syscall.PtraceRegs) {
		r.Rip, r.Rsp, r.Rdi, r.Rbx = entry, stack, header, c.frame
		r.Eflags &^= 1 << 10 // the direction of string operations
	})
	if err != nil {
		return err
	}
	if err := request(syscall.PTRACE_CONT, c.th.tid, 0, 0); err != nil {
		return err
	}
	deadline := time.Now().Add(callTime)
	for nap := 20 * time.Microsecond; ; nap = min(2*nap, time.Millisecond) {
		done, err := c.p.word(header + offDone)
		if err != nil {
			return err
		}
		if done != 0 {
			break
		}
		var ws syscall.WaitStatus
		if got, _ := syscall.Wait4(c.th.tid, &ws, syscall.WALL|syscall.WNOHANG, nil); got == c.th.tid {
			c.broken = true
			return fmt.Errorf("thread %d stopped in injected code (%#x)", c.th.tid, int(ws))
		}
		if time.Now().After(deadline) {
			c.broken = true
			return fmt.Errorf("thread %d did not finish injected code in time", c.th.tid)
		}
		time.Sleep(nap)
	}
	if err := request(requestInterrupt, c.th.tid, 0, 0); err != nil {
		return err
	}
	if err := c.toEventStop(deadline); err != nil {
		return err
	}
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(c.th.tid, &regs); err != nil {
		return err
	}
	if !library.has(regs.Rip) { // we were so slow that it returned by itself
		c.left = false
		c.th.regs = regs
		c.th.goOn()
		return c.putFrame(c.restorer)
	}
	return nil
}

// restore returns the thread to its place.
func (c *caller) restore() {
	if !c.left || c.broken {
		return
	}
	c.left = false
	c.th.changed = true
	_ = sigMask(requestSetSigMask, c.th.tid, &c.mask)
}
