package attach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	drainPatience = 5 * time.Second // until no thread is in the memory to be removed
	endPatience   = 5 * time.Second // until the library's threads have ended
	staleAfter    = time.Second     // addresses that stay on a stack for that long are left over from earlier calls
)

// Detach removes from a process what Attach put in, also if Attach was killed before it finished.
func Detach(ctx context.Context, pid int) error {
	return onOneThread(func() error {
		at, err := findHeader(pid)
		if err != nil {
			return err
		}
		p, err := openProcess(ctx, pid)
		if err != nil {
			return whyNotTraced(pid, err)
		}
		defer p.close()
		maps, err := readMaps(pid)
		if err != nil {
			return whyNotTraced(pid, err)
		}
		p.unwind = readModules(pid, maps).unwind
		if err := p.stop(); err != nil {
			return err
		}
		if err := p.refuseChild(at); err != nil {
			return err
		}
		return p.detach(at)
	})
}

// refuseChild refuses a process that inherited the hooks from its parent: only the parent has the threads that
// close the log and restore handlers.
func (p *process) refuseChild(at uint64) error {
	if at == 0 {
		return nil
	}
	h, err := p.readHeaderAt(at)
	if err != nil || h.u64(offProcess) == 0 || h.u64(offLeaving) != 0 || h.u64(offRefused) != 0 {
		return err
	}
	if hasOwn(p.pid) {
		return nil
	}
	return fmt.Errorf("process %d inherited its hooks from its parent: they record nothing, and remain until it ends", p.pid)
}

// rollBack removes everything put in so far.
func (a *attacher) rollBack() error {
	if a.own.file == noFile {
		return nil
	}
	a.ctx = context.WithoutCancel(a.ctx)
	if a.halts.began.IsZero() {
		if err := a.halt(); err != nil {
			return err
		}
	}
	path := ""
	if a.lib.header != 0 {
		path, _ = a.logPath()
	}
	if err := a.detach(a.lib.header); err != nil {
		return err
	}
	if path != "" {
		_ = os.Remove(path) // nothing is in it
	}
	return nil
}

// detach detaches from a process whose threads are stopped. at is 0 if nothing was begun.
func (p *process) detach(at uint64) error {
	if p.calls != nil {
		p.calls.restore()
		p.calls = nil
	}
	if at == 0 {
		return p.unload(nil, 0, nil)
	}
	h, err := p.readHeaderAt(at)
	if err != nil {
		return err
	}
	sites, err := p.sitesOf(h)
	if err != nil {
		return err
	}
	unwinder, others := split(sites)
	if err := p.unhook(others); err != nil {
		return err
	}
	// An unwinder may use the frame description of the stub until its exception is caught. Exceptions that are
	// thrown later do not need it: no call returns to the stub any more.
	if err := p.drain(h, h.u64(offFindLo) != 0); err != nil {
		return err
	}
	if len(unwinder) > 0 {
		if err := p.unhook(unwinder); err != nil {
			return err
		}
		if err := p.drain(h, false); err != nil {
			return err
		}
	}
	// If Attach was killed, its thread may have started the library meanwhile.
	if h, err = p.readHeaderAt(at); err != nil {
		return err
	}
	if err := p.endThreads(h, at); err != nil {
		return err
	}
	if h, err = p.readHeaderAt(at); err != nil {
		return err
	}
	return p.unload(h, at, sites)
}

func (p *process) sitesOf(h header) ([]site, error) {
	data := make([]byte, min(h.u64(offSiteCount), 1<<24)*siteSize)
	if len(data) == 0 {
		return nil, nil
	}
	err := p.read(data, h.u64(offSites))
	return decodeSites(data), err
}

// unhook restores the code.
func (p *process) unhook(sites []site) error {
	_, err := p.writeSites(sites, func(s *site) (from, to [5]byte) { return s.jump, s.original }, time.Time{})
	return err
}

// drain waits until no thread is in the library or its trampolines, or will return there, and, if an unwinder
// may hold the frame description of the stub, until each thread was seen where it throws no exception.
func (p *process) drain(h header, throws bool) error {
	start := time.Now()
	out := map[int]bool{} // threads that have finished all earlier throws
	for nap := 100 * time.Microsecond; ; nap = min(2*nap, 20*time.Millisecond) {
		if err := p.restoreReturns(h); err != nil {
			return err
		}
		why, err := p.inside(h, throws, out, time.Since(start) > staleAfter)
		if err != nil || why == "" {
			return err
		}
		if time.Since(start) > drainPatience {
			return fmt.Errorf("process %d: %s: its hooks are removed, but the library remains in its memory; detach again later", p.pid, why)
		}
		if err := p.run(); err != nil {
			return err
		}
		time.Sleep(nap)
		if err := p.stop(); err != nil {
			return err
		}
	}
}

// restoreReturns restores the return addresses of all open calls. The window has each one at the lower half of
// its stack address, with the upper half of that address in its upper 16 bits.
func (p *process) restoreReturns(h header) error {
	const window = 1 << 32
	returns, stub := h.u64(offReturns), h.u64(offStub)
	if returns == 0 {
		return nil
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", p.pid))
	if err != nil {
		return err
	}
	defer f.Close()
	entries := make([]byte, 1<<20)
	page := make([]byte, 4096)
	for at := uint64(0); at < window; at += uint64(len(entries)) / 8 * 4096 {
		if n, err := f.ReadAt(entries, int64((returns+at)/4096*8)); n < len(entries) {
			return fmt.Errorf("reading its page map: %w", err)
		}
		for i := 0; i < len(entries); i += 8 {
			if entries[i+7]&0xc0 == 0 { // neither present nor swapped
				continue
			}
			low := at + uint64(i)/8*4096
			if err := p.read(page, returns+low); err != nil {
				return err
			}
			if err := p.restorePage(page, low, stub); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *process) restorePage(page []byte, low, stub uint64) error {
	for i := 0; i < len(page); i += 8 {
		v := le.Uint64(page[i:])
		if v == 0 {
			continue
		}
		at := v>>48<<32 | low + uint64(i)
		if now, err := p.word(at); err != nil || now != stub {
			continue // the call was left by longjmp, or its stack is gone
		}
		if err := p.setWord(at, v<<16>>16); err != nil {
			return err
		}
	}
	return nil
}

// inside returns which thread is in the memory to be removed, "" if none is, and adds the threads to out that
// throw no exception. stale says that return addresses in stacks that cannot be unwound are left over, as they
// have been there for long.
func (p *process) inside(h header, throws bool, out map[int]bool, stale bool) (why string, err error) {
	maps, err := readMaps(p.pid)
	if err != nil {
		return "", err
	}
	ours := append(h.mapped(), ourMemory(maps)...)
	var unwinder []region
	for _, m := range maps {
		if throws && m.Exec && strings.Contains(m.Name, "/libgcc_s.so") {
			unwinder = append(unwinder, region{m.Lo, m.Hi})
		}
	}
	for _, th := range p.threads {
		one, err := p.threadInside(th, maps, ours, unwinder, stale)
		switch {
		case err != nil:
			return "", err
		case one == inHook:
			why = fmt.Sprintf("thread %d is in a hook", th.tid)
		case one == inUnwinder && !out[th.tid]:
			why = fmt.Sprintf("thread %d throws an exception", th.tid)
		default:
			out[th.tid] = true
		}
	}
	return why, nil
}

// place classifies the place of a thread.
type place int

const (
	inProgram place = iota
	inHook
	inUnwinder
)

// threadInside examines the frames of a thread and, if it cannot unwind them all, the addresses on its stack.
func (p *process) threadInside(th *thread, maps []mapping, ours, unwinder []region, stale bool) (at place, err error) {
	isOurs := func(addr uint64) bool { return within(ours, addr) }
	isUnwinder := func(addr uint64) bool { return within(unwinder, addr) }
	whole := p.frames(th, func(pc uint64) bool {
		switch {
		case isOurs(pc):
			at = inHook
		case isUnwinder(pc):
			at = inUnwinder
		}
		return at != inHook
	})
	if whole || at == inHook {
		return at, nil
	}
	// The library calls the vDSO for the time.
	if m := find(maps, th.regs.Rip); m != nil && m.Name == "[vdso]" && p.onStack(th.regs.Rsp, 64, isOurs) {
		return inHook, nil
	}
	if !stale && p.onStack(th.regs.Rsp, 2048, isUnwinder) {
		at = inUnwinder
	}
	err = p.interrupted(th, maps, func(pc, _ uint64) error {
		if isOurs(pc) {
			at = inHook
		}
		return nil
	})
	return at, err
}

// onStack reports whether one of the n words from at on is wanted.
func (p *process) onStack(at uint64, n int, wanted func(uint64) bool) bool {
	b := make([]byte, 8*n)
	got, _ := p.mem.ReadAt(b, int64(at))
	for b = b[:got]; len(b) >= 8; b = b[8:] {
		if wanted(le.Uint64(b)) {
			return true
		}
	}
	return false
}

// interrupted calls found with each place to which a signal handler of the thread will return, and with the
// address where that is saved.
func (p *process) interrupted(th *thread, maps []mapping, found func(pc, slot uint64) error) error {
	const (
		most   = 8 << 20 // bytes of stack
		frames = 64
	)
	sp := th.regs.Rsp
	for range frames {
		m := find(maps, sp)
		if m == nil {
			return nil
		}
		stack := make([]byte, min(m.Hi-sp&^7, most))
		n, _ := p.mem.ReadAt(stack, int64(sp&^7))
		at, ok := p.handlerFrame(stack[:n], maps)
		if !ok {
			return nil
		}
		frame := stack[at:n]
		slot := sp&^7 + uint64(at) + frameRegs + 16*8
		if err := found(le.Uint64(frame[frameRegs+16*8:]), slot); err != nil {
			return err
		}
		next := le.Uint64(frame[frameRegs+15*8:])
		if m.Has(next) && next <= sp {
			return nil // it is none
		}
		sp = next
	}
	return nil
}

// handlerFrame returns the offset of a signal frame in a stack: it begins with the address of the code that
// returns from handlers.
func (p *process) handlerFrame(stack []byte, maps []mapping) (int, bool) {
	var code [9]byte
	seen := map[uint64]bool{} // that are none
	for i := 0; i+frameSize <= len(stack); i += 8 {
		v := le.Uint64(stack[i:])
		if v < 4096 || v>>47 != 0 || seen[v] {
			continue
		}
		seen[v] = true
		if m := find(maps, v); m == nil || !m.Exec || p.read(code[:], v) != nil {
			continue
		}
		if bytes.Equal(code[:], sigReturn) || bytes.HasPrefix(code[:], []byte{0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05}) {
			return i, true
		}
	}
	return 0, false
}

// endThreads ends the library's threads, and waits for that while the program runs.
func (p *process) endThreads(h header, at uint64) error {
	if h.u64(offProcess) == 0 {
		return nil
	}
	if err := p.setWord(at+offLeaving, 1); err != nil {
		return err
	}
	if wake := h.u64(offWake); wake != 0 {
		var b [4]byte
		if err := p.read(b[:], wake); err != nil {
			return err
		}
		le.PutUint32(b[:], le.Uint32(b[:])+1)
		if err := p.write(b[:], wake); err != nil {
			return err
		}
		maps, err := readMaps(p.pid)
		if err != nil {
			return err
		}
		if err := p.newCaller(maps); err == nil { // else it wakes within a second
			_, err = p.calls.syscall(syscall.SYS_FUTEX, wake, 129 /* FUTEX_WAKE, private */, 1)
			p.calls.restore()
			p.calls = nil
			if err != nil {
				return err
			}
		}
	}
	if err := p.run(); err != nil {
		return err
	}
	for end := time.Now().Add(endPatience); ; {
		list, err := tasks(p.pid)
		if err != nil {
			return fmt.Errorf("process %d: %w", p.pid, ErrEnded)
		}
		own := 0
		for _, tid := range list {
			if p.threads[tid] == nil && isOwn(p.pid, tid) {
				own++
			}
		}
		if own == 0 {
			return p.stop()
		}
		if time.Now().After(end) {
			return errors.Join(fmt.Errorf("process %d: the threads of the library do not end; detach again later", p.pid), p.stop())
		}
		time.Sleep(time.Millisecond)
	}
}

// forgetPages makes the kernel drop its private copies of code pages that equal the file again.
func (p *process) forgetPages(maps []mapping, sites []site) error {
	const dontNeed = 4 // MADV_DONTNEED
	files := map[string]*os.File{}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	now, was := make([]byte, 4096), make([]byte, 4096)
	last := uint64(0)
	for _, s := range sites {
		page := s.addr &^ 4095
		m := find(maps, page)
		if page == last || m == nil || m.Inode == 0 {
			continue
		}
		last = page
		f := files[m.Name]
		if f == nil {
			path := pathOf(p.pid, m)
			if path == "" {
				continue
			}
			var err error
			if f, err = os.Open(path); err != nil {
				continue
			}
			files[m.Name] = f
		}
		if n, _ := f.ReadAt(was, int64(m.Offset+page-m.Lo)); n < 4096 || p.read(now, page) != nil || !bytes.Equal(now, was) {
			continue
		}
		if _, err := p.calls.syscall(syscall.SYS_MADVISE, page, 4096, dontNeed); err != nil {
			return err
		}
	}
	return nil
}
