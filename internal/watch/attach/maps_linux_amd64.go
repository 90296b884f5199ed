package attach

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/cairnprof/cairn/format/procmaps"
	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// mapping is a range of a process's memory.
type mapping = procmaps.Mapping

func readMaps(pid int) ([]mapping, error) {
	path := fmt.Sprintf("/proc/%d/maps", pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out, err := procmaps.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

func find(maps []mapping, addr uint64) *mapping {
	for i := range maps {
		if maps[i].Has(addr) {
			return &maps[i]
		}
	}
	return nil
}

// pathOf returns the path of a mapping's file in our namespace, "" if it no longer exists.
func pathOf(pid int, m *mapping) string {
	for _, path := range []string{fmt.Sprintf("/proc/%d/root%s", pid, m.Name), fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, m.Lo, m.Hi)} {
		st, err := os.Stat(path)
		if err != nil {
			continue
		}
		if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Ino == m.Inode && st.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// bias returns the difference between a module's addresses in memory and in its file. m is a mapping of its
// code.
func bias(f *objfile.File, m *mapping) (uint64, bool) {
	for _, s := range f.LoadedSections() {
		if s.Code && s.InFile && s.Offset >= m.Offset && s.Offset < m.Offset+(m.Hi-m.Lo) {
			return m.Lo + (s.Offset - m.Offset) - s.Addr, true
		}
	}
	return 0, false
}

// modules describes the modules of a process, as far as they can be read.
type modules struct {
	unwind   []unwindModule
	unwinder string // path of libgcc_s, "" if it is not loaded
	throws   string // a module with exceptions, "" if none has
	other    string // an unwinder other than gcc's
}

// readModules reads the unwind tables of all modules. Modules that cannot be read have none, and stacks end
// there.
func readModules(pid int, maps []mapping) *modules {
	out := &modules{}
	seen := map[string]bool{}
	for i := range maps {
		m := &maps[i]
		if !m.Exec || m.Inode == 0 || seen[m.Name] {
			continue
		}
		seen[m.Name] = true
		path := pathOf(pid, m)
		if path == "" {
			continue
		}
		if u, ok := out.readModule(path, m); ok {
			out.unwind = append(out.unwind, u)
		}
	}
	return out
}

func (ms *modules) readModule(path string, m *mapping) (u unwindModule, ok bool) {
	f, err := objfile.Open(path)
	if err != nil {
		return u, false
	}
	defer f.Close()
	base := m.Name[strings.LastIndexByte(m.Name, '/')+1:]
	switch {
	case strings.HasPrefix(base, "libgcc_s.so"):
		ms.unwinder = path
	case strings.HasPrefix(base, "libunwind.so") || strings.HasPrefix(base, "libc++abi.so"):
		ms.other = base
	}
	if _, _, _, throws, _ := f.Section(".gcc_except_table"); throws && !strings.HasPrefix(base, "libc.so") && !strings.HasPrefix(base, "libpthread") {
		ms.throws = base
	}
	data, addr, _, _, err := f.Section(".eh_frame")
	if err != nil || data == nil {
		return u, false
	}
	b, ok := bias(f, m)
	if !ok {
		return u, false
	}
	rows, _ := ehframe.Rows(data, addr, f.Machine())
	id, _ := f.RecordedID()
	return unwindModule{lo: m.Lo, hi: m.Hi, rows: rows, bias: b, path: m.Name, id: string(id)}, true
}

// list returns the files that have code in memory.
func (ms *modules) list() []Module {
	out := make([]Module, len(ms.unwind))
	for i, u := range ms.unwind {
		out[i] = Module{u.path, u.lo, u.hi, u.bias, u.id}
	}
	return out
}

// unused returns an address of n free bytes, all within reach of 32-bit displacements from all of [lo, hi).
// Lower addresses come first, as the heap grows above an executable. Stacks grow down.
func unused(maps []mapping, lo, hi, n uint64) (uint64, bool) {
	const (
		step   = 1 << 16
		reach  = 0x7fff0000
		growth = 1 << 20 // gap below areas that may grow
	)
	free := func(at uint64) (next *mapping) {
		for i := range maps {
			if m := &maps[i]; at < m.Hi+step && m.Lo < at+n+step {
				return m
			}
		}
		return nil
	}
	at := (lo - n) &^ (step - 1)
	for at > step && at < lo && hi-at < reach {
		m := free(at)
		if m == nil {
			return at, true
		}
		if m.Lo < n+2*step {
			break
		}
		at = (m.Lo - n - step) &^ (step - 1)
	}
	for at = (hi + 64*growth) &^ (step - 1); at+n-lo < reach; {
		m := free(at)
		if m == nil {
			return at, true
		}
		at = (m.Hi + 2*step) &^ (step - 1)
	}
	return 0, false
}
