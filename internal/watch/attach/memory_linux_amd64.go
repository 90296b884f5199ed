package attach

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ourName is the name in /proc/PID/maps of memory that Attach maps: that of the file from which it is mapped.
// So it can be found whenever we are killed, as mapped memory is marked from the start.
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

// makeFile makes an empty file in a stopped process, from which memory is mapped.
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

// ourFiles returns the descriptors that a killed Attach or Detach left.
func ourFiles(pid int) []uint64 {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, _ := os.ReadDir(dir) // a process whose directory cannot be read cannot be traced either
	var out []uint64
	for _, e := range entries {
		fd, err := strconv.ParseUint(e.Name(), 10, 32)
		if to, _ := os.Readlink(dir + "/" + e.Name()); err == nil && to == ourName {
			out = append(out, fd)
		}
	}
	return out
}

// findHeader returns the address of the header in a process, or 0 if its maker was killed before filling it.
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

// unload releases all memory and files, the header last. All remaining memory can be found at any moment: the
// library's is in the header's list until it is marked by our name.
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

// mark replaces memory of the library by unused memory of our name, and clears the header's list.
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
