package ptrace

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// The pages of .text are made inaccessible before the program's first instruction. A thread that touches one
// stops with SIGSEGV; the page is recorded and made accessible permanently, and the thread repeats the access.
// The mprotect for this is a system call of that thread, made with an instruction that is already in memory.

// pageTrap is the trap for the first touches of pages.
type pageTrap struct {
	bias   uint64
	lo, hi uint64 // addresses in memory
	prot   uint64 // the original protection of the pages

	touched map[uint64]bool
	pages   []uint64
	last    map[int]fault // by thread
}

// fault is an access that was repeated.
type fault struct{ pc, addr uint64 }

// TouchedPages runs a program and returns the pages of its .text that it
// touched: executed or read, in this order, exactly. If ctx ends, so does the
// program, and the error is ctx's.
func TouchedPages(ctx context.Context, argv []string, opts *Options) (*Touched, error) {
	bin, err := openProgram(argv)
	if err != nil {
		return nil, err
	}
	defer bin.Close()
	lo, hi, err := watchedRange(bin)
	if err != nil {
		return nil, err
	}
	p := &pageTrap{lo: lo, hi: hi, touched: map[uint64]bool{}, last: map[int]fault{}}
	s, status, err := follow(ctx, argv, bin, p, opts)
	if err != nil {
		return nil, err
	}
	return &Touched{Pages: p.pages, Lo: lo, Hi: hi, Status: status, Elapsed: s.elapsed, Replaced: s.replaced}, nil
}

// watchedRange returns the pages of .text. A page at its ends that holds
// anything but code is left out: system calls may have to read it.
func watchedRange(bin *objfile.File) (lo, hi uint64, err error) {
	sections := bin.LoadedSections()
	for _, s := range sections {
		if s.Name == ".text" && s.Code {
			lo, hi = s.Addr, s.Addr+s.Size
		}
	}
	if lo == hi {
		return 0, 0, fmt.Errorf("%s: no .text section", bin.Path())
	}
	mixed := func(page uint64) bool {
		for _, s := range sections {
			if !s.Code && s.Addr < page+pageSize && page < s.Addr+s.Size {
				return true
			}
		}
		return false
	}
	first, last := lo&^(pageSize-1), (hi-1)&^(pageSize-1)
	if mixed(first) {
		first += pageSize
	}
	end := last + pageSize
	if mixed(last) {
		end = last
	}
	if first >= end {
		return 0, 0, fmt.Errorf("%s: .text shares all of its pages with data", bin.Path())
	}
	return first, end, nil
}

func (p *pageTrap) set(s *session) error {
	p.bias = s.bias
	p.lo += s.bias
	p.hi += s.bias
	maps, err := s.mappings()
	if err != nil {
		return err
	}
	for _, m := range maps {
		if m.Lo <= p.lo && p.hi <= m.Hi {
			p.prot = protection(&m)
		}
	}
	if p.prot&syscall.PROT_EXEC == 0 {
		return errors.New("its code is not in one executable mapping")
	}
	if err := s.protectSignal(s.pid, syscall.SIGSEGV); err != nil {
		return err
	}
	return p.protect(s, s.pid, p.lo, p.hi, syscall.PROT_NONE)
}

// protect changes the protection of a range in the memory of a stopped thread.
func (p *pageTrap) protect(s *session, tid int, lo, hi, prot uint64) error {
	errno, err := s.inject(tid, syscall.SYS_MPROTECT, lo, hi-lo, prot)
	if err == nil && errno != 0 {
		err = fmt.Errorf("mprotect in the program: %w", errno)
	}
	return err
}

func (p *pageTrap) signal(s *session, tid int, sig syscall.Signal) (syscall.Signal, error) {
	if sig != syscall.SIGSEGV {
		return sig, nil
	}
	info, err := getSigInfo(tid)
	if err != nil {
		return 0, err
	}
	if info.code != segvAccErr || info.addr < p.lo || info.addr >= p.hi {
		return sig, nil
	}
	page := info.addr &^ (pageSize - 1)
	if p.touched[page] {
		return p.again(s, tid, info.addr)
	}
	if err := p.protect(s, tid, page, page+pageSize, p.prot); err != nil {
		return 0, err
	}
	p.touched[page] = true
	p.pages = append(p.pages, page-p.bias)
	return 0, s.repair(tid)
}

// again distinguishes a fault on a page that another thread has just made accessible from one with another
// cause, such as writing to code: that one occurs again.
func (p *pageTrap) again(s *session, tid int, addr uint64) (syscall.Signal, error) {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return 0, err
	}
	f := fault{regs.Rip, addr}
	if p.last[tid] == f {
		delete(p.last, tid)
		return syscall.SIGSEGV, nil
	}
	p.last[tid] = f
	return 0, s.repair(tid)
}

func (p *pageTrap) unset(s *session, pid int) error {
	return p.protect(s, pid, p.lo, p.hi, p.prot)
}
