package ptrace

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// A breakpoint is the one-byte instruction int3 in place of the first byte of a function. A thread that
// executes it stops with SIGTRAP after it. The byte is restored and the thread continues at the function's
// start: each function hits its breakpoint once. Other threads continue meanwhile. A thread that has executed
// the same int3 stops after the byte was restored, and only needs its pc set back.

const int3 = 0xcc

// maxChunk bounds single reads and writes while breakpoints are set.
const maxChunk = 1 << 20

// breakpoints is the trap for the first executions of functions.
type breakpoints struct {
	entries []uint64 // link-time addresses, ascending, no two the same

	index  map[uint64]int32 // entries by their address in memory
	orig   []byte           // by entry: its first byte
	state  []entryState
	chunks []chunk
	calls  []FirstCall
}

type entryState uint8

const (
	entryArmed entryState = iota // has a breakpoint
	entryOwn                     // begins with an int3 of the program
	entryDone                    // has been executed
)

// chunk is a range of the program's memory, of whole pages, that holds the
// entries lo to hi.
type chunk struct {
	addr   uint64
	size   int
	lo, hi int
}

// firstCalls runs a program, argv[0] with the arguments argv[1:], and returns
// the order in which it first executed the instructions at entries, link-time
// addresses of functions. The program is an ELF file of any kind and is not
// changed. If ctx ends, so does the program, and the error is ctx's.
func firstCalls(ctx context.Context, argv []string, bin *objfile.File, entries []uint64, opts *Options) (*Run, error) {
	b := &breakpoints{entries: slices.Compact(slices.Sorted(slices.Values(entries)))}
	s, status, err := follow(ctx, argv, bin, b, opts)
	if err != nil {
		return nil, err
	}
	return &Run{Calls: b.calls, Planted: len(b.entries), Status: status, Elapsed: s.elapsed, Tracing: s.tracing, Replaced: s.replaced}, nil
}

// Record runs a program, and returns the order in which it first executed the functions that
// its symbols name. The scenario names the run in the trace. If ctx ends, so does the program,
// and the error is ctx's.
func Record(ctx context.Context, argv []string, scenario string, opts *Options) (*Recording, error) {
	bin, err := openProgram(argv)
	if err != nil {
		return nil, err
	}
	defer bin.Close()
	m, derived, err := bin.IdentifiedMap()
	if err != nil {
		return nil, err
	}
	entries := make([]uint64, len(m.Funcs))
	for i := range m.Funcs {
		entries[i] = m.Funcs[i].Addr()
	}
	run, err := firstCalls(ctx, argv, bin, entries, opts)
	if err != nil {
		return nil, err
	}
	return &Recording{Module: module(m, run.Calls, scenario), Run: run, Derived: derived}, nil
}

// openProgram opens the file that a shell would execute.
func openProgram(argv []string) (*objfile.File, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, fmt.Errorf("no program given")
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, err
	}
	bin, err := objfile.Open(path)
	if err != nil {
		return nil, err
	}
	if err := bin.Machine().Only("programs are recorded from outside", machine.X86_64); err != nil {
		bin.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return bin, nil
}

// set inserts the breakpoints: one read and one write for each range of pages that have any.
func (b *breakpoints) set(s *session) error {
	n := len(b.entries)
	b.index = make(map[uint64]int32, n)
	b.orig, b.state = make([]byte, n), make([]entryState, n)
	b.chunks = chunksOf(b.entries, s.bias)
	buf := make([]byte, maxChunk)
	for _, c := range b.chunks {
		mem := buf[:c.size]
		if err := s.read(mem, c.addr); err != nil {
			return fmt.Errorf("reading code at %#x: %w", c.addr-s.bias, err)
		}
		for i := c.lo; i < c.hi; i++ {
			addr := b.entries[i] + s.bias
			p := &mem[addr-c.addr]
			b.index[addr] = int32(i)
			b.orig[i] = *p
			if *p == int3 {
				b.state[i] = entryOwn
			}
			*p = int3
		}
		if _, err := s.mem.WriteAt(mem, int64(c.addr)); err != nil {
			return fmt.Errorf("setting breakpoints at %#x: %w", c.addr-s.bias, err)
		}
	}
	return nil
}

// chunksOf covers the pages of entries, and no others.
func chunksOf(entries []uint64, bias uint64) (chunks []chunk) {
	for i, entry := range entries {
		page := (entry + bias) &^ (pageSize - 1)
		if k := len(chunks) - 1; k >= 0 {
			c := &chunks[k]
			end := c.addr + uint64(c.size)
			if page < end || page == end && c.size < maxChunk {
				c.size = int(page + pageSize - c.addr)
				c.hi = i + 1
				continue
			}
		}
		chunks = append(chunks, chunk{addr: page, size: pageSize, lo: i, hi: i + 1})
	}
	return chunks
}

// signal distinguishes our breakpoints from other signals.
func (b *breakpoints) signal(s *session, tid int, sig syscall.Signal) (syscall.Signal, error) {
	if sig != syscall.SIGTRAP {
		return sig, nil
	}
	info, err := getSigInfo(tid)
	if err != nil {
		return 0, err
	}
	if info.code != siKernel {
		return sig, s.passing(tid) // sent by a process, or by single steps of its own
	}
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return 0, err
	}
	addr := regs.Rip - 1
	i, ours := b.index[addr]
	if !ours {
		return sig, s.passing(tid)
	}
	switch b.state[i] {
	case entryOwn:
		b.note(s, i, regs.Rsp)
		return sig, s.passing(tid)
	case entryDone:
		// The program may have written an int3 there itself since.
		var now [1]byte
		if err := s.read(now[:], addr); err != nil {
			return 0, err
		}
		if now[0] == int3 {
			return sig, s.passing(tid)
		}
	case entryArmed:
		if _, err := s.mem.WriteAt(b.orig[i:i+1], int64(addr)); err != nil {
			return 0, err
		}
		b.note(s, i, regs.Rsp)
	}
	if err := setPC(tid, addr); err != nil {
		return 0, err
	}
	return 0, s.repair(tid)
}

// note records the first execution of entry i with the stack at sp.
func (b *breakpoints) note(s *session, i int32, sp uint64) {
	b.state[i] = entryDone
	call := FirstCall{Entry: b.entries[i]}
	var word [8]byte
	if s.read(word[:], sp) == nil {
		call.Return = s.inCode(binary.LittleEndian.Uint64(word[:]) - s.bias)
	}
	b.calls = append(b.calls, call)
}

// unset removes the breakpoints in the memory of a process. It keeps what the program itself has changed.
func (b *breakpoints) unset(s *session, pid int) error {
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	buf := make([]byte, maxChunk)
	for _, c := range b.chunks {
		n, err := mem.ReadAt(buf[:c.size], int64(c.addr))
		if n < c.size {
			if err == nil || n == 0 {
				continue // it has given this memory back
			}
			return err
		}
		if err := b.unsetChunk(s, mem, c, buf[:c.size]); err != nil {
			return err
		}
	}
	return nil
}

// unsetChunk restores those pages of c that have breakpoints.
func (b *breakpoints) unsetChunk(s *session, mem *os.File, c chunk, data []byte) error {
	last := -1 // offset of the page that was changed last
	flush := func() error {
		if last < 0 {
			return nil
		}
		_, err := mem.WriteAt(data[last:last+pageSize], int64(c.addr)+int64(last))
		return err
	}
	for i := c.lo; i < c.hi; i++ {
		off := int(b.entries[i] + s.bias - c.addr)
		if data[off] != int3 || b.orig[i] == int3 {
			continue
		}
		data[off] = b.orig[i]
		if page := off &^ (pageSize - 1); page != last {
			if err := flush(); err != nil {
				return err
			}
			last = page
		}
	}
	return flush()
}
