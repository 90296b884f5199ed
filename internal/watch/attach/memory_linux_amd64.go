package attach

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ourName is the name that memory which Attach maps has in a process's memory map. It is
// that of the file which the memory is mapped from, so that what was mapped is found
// whenever we are killed: there is no moment at which memory is there and not marked.
const ourName = "/memfd:cairn-attach (deleted)"

const (
	memfdCreate  = 319
	closeOnExec  = 1
	protNone     = 0
	protRead     = 1
	protRW       = 3
	protRX       = 5
	mapPrivate   = 0x2
	mapFixed     = 0x10
	mapNoReplace = 0x100000
)

const noFile = ^uint64(0)

// makeFile makes an empty file in a stopped process, to map memory from.
func (p *process) makeFile() (fd uint64, err error) {
	name := p.calls.frame - 64
	if err := p.write([]byte("cairn-attach\x00"), name); err != nil {
		return noFile, err
	}
	fd, err = p.calls.syscall(memfdCreate, name, closeOnExec)
	if err != nil {
		return noFile, err
	}
	return fd, nil
}

func (p *process) closeFile(fd uint64) error {
	_, err := p.calls.syscall(syscall.SYS_CLOSE, fd)
	return err
}

// ourMemory returns the memory that Attach has mapped.
func ourMemory(maps []mapping) []region {
	var out []region
	for _, m := range maps {
		if m.Name == ourName {
			out = append(out, region{m.Lo, m.Hi})
		}
	}
	return out
}

// ourFiles returns the descriptors that an Attach or a Detach left which was killed.
func ourFiles(pid int) []uint64 {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, _ := os.ReadDir(dir) // one that cannot be read is of no process that can be traced
	var out []uint64
	for _, e := range entries {
		fd, err := strconv.ParseUint(e.Name(), 10, 32)
		if to, _ := os.Readlink(dir + "/" + e.Name()); err == nil && to == ourName {
			out = append(out, fd)
		}
	}
	return out
}

// findHeader returns the address of the header in a process. It is 0 where whoever made it
// was killed before anything was in it.
func findHeader(pid int) (uint64, error) {
	maps, err := readMaps(pid)
	if err != nil {
		return 0, whyNotTraced(pid, err)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return 0, whyNotTraced(pid, err)
	}
	defer mem.Close()
	memory := ourMemory(maps)
	for _, r := range memory {
		var begin [len(magic)]byte
		if _, err := mem.ReadAt(begin[:], int64(r.lo)); err == nil && strings.HasPrefix(string(begin[:]), magicStart) {
			return r.lo, nil
		}
	}
	if len(memory) == 0 && len(ourFiles(pid)) == 0 {
		return 0, fmt.Errorf("process %d: %w", pid, ErrNotAttached)
	}
	return 0, nil
}

// unload gives back all memory and files, the header last. At any moment, all that is left
// can be found: the library's memory is in the header's list until it is marked by our name.
func (p *process) unload(h header, at uint64, sites []site) error {
	maps, err := p.awaitCaller()
	if err != nil {
		return fmt.Errorf("process %d: all hooks are removed, but memory of cairn remains in it: %w", p.pid, err)
	}
	if err := p.forgetPages(maps, sites); err != nil {
		return err
	}
	if at != 0 {
		if err := p.mark(h, at); err != nil {
			return err
		}
	}
	for _, fd := range ourFiles(p.pid) {
		if err := p.closeFile(fd); err != nil {
			return err
		}
	}
	if maps, err = readMaps(p.pid); err != nil {
		return err
	}
	for _, r := range ourMemory(maps) {
		if r.lo == at {
			continue
		}
		if _, err := p.calls.syscall(syscall.SYS_MUNMAP, r.lo, r.hi-r.lo); err != nil {
			return err
		}
	}
	if at == 0 {
		return nil
	}
	if n := h.u64(offLost); n > 0 {
		return fmt.Errorf("process %d: %d mappings of its log remain in memory, because they were too many to record", p.pid, n)
	}
	_, err = p.calls.syscall(syscall.SYS_MUNMAP, at, (attachEnd+4095)&^4095)
	return err
}

// mark replaces memory of the library by memory of our name, which is not used, and clears
// the header's list.
func (p *process) mark(h header, at uint64) error {
	memory := h.mapped()
	if len(memory) == 0 {
		return nil
	}
	fd, err := p.makeFile()
	if err != nil {
		return err
	}
	for _, r := range memory {
		if _, err := p.calls.syscall(syscall.SYS_MMAP, r.lo, r.hi-r.lo, protNone, mapPrivate|mapFixed, fd, 0); err != nil {
			return err
		}
	}
	return p.write(make([]byte, attachEnd-offMapped), at+offMapped)
}
