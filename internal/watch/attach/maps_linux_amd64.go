package attach

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// mapping is a line of a process's memory map.
type mapping struct {
	region
	write, exec   bool
	offset, inode uint64
	name          string
}

func readMaps(pid int) ([]mapping, error) {
	path := fmt.Sprintf("/proc/%d/maps", pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []mapping
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var m mapping
		var perms, dev string
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s %x %s %d", &m.lo, &m.hi, &perms, &m.offset, &dev, &m.inode); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		m.write, m.exec = strings.Contains(perms, "w"), strings.Contains(perms, "x")
		if i := strings.IndexAny(lines.Text(), "/["); i >= 0 {
			m.name = lines.Text()[i:]
		}
		out = append(out, m)
	}
	return out, nil
}

func find(maps []mapping, addr uint64) *mapping {
	for i := range maps {
		if maps[i].has(addr) {
			return &maps[i]
		}
	}
	return nil
}

// pathOf is where we see the file of a mapping, "" if it is not there any more.
func pathOf(pid int, m *mapping) string {
	for _, path := range []string{fmt.Sprintf("/proc/%d/root%s", pid, m.name), fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, m.lo, m.hi)} {
		st, err := os.Stat(path)
		if err != nil {
			continue
		}
		if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Ino == m.inode && st.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// bias is what a module's addresses in memory are more than those of its file. m is a
// mapping of its code.
func bias(f *objfile.File, m *mapping) (uint64, bool) {
	for _, s := range f.LoadedSections() {
		if s.Code && s.InFile && s.Offset >= m.offset && s.Offset < m.offset+(m.hi-m.lo) {
			return m.lo + (s.Offset - m.offset) - s.Addr, true
		}
	}
	return 0, false
}

// modules is what a process has in memory, as far as it can be read.
type modules struct {
	unwind   []unwindModule
	unwinder string // path of libgcc_s, "" if it is not there
	throws   string // a module with exceptions, "" if none has
	other    string // an unwinder that is none of gcc's
}

// readModules reads the unwind tables of all modules. What cannot be read has none, and
// stacks end there.
func readModules(pid int, maps []mapping) *modules {
	out := &modules{}
	seen := map[string]bool{}
	for i := range maps {
		m := &maps[i]
		if !m.exec || m.inode == 0 || seen[m.name] {
			continue
		}
		seen[m.name] = true
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
	base := m.name[strings.LastIndexByte(m.name, '/')+1:]
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
	return unwindModule{lo: m.lo, hi: m.hi, rows: rows, bias: b}, true
}

// unused returns an address of n free bytes, of which each is within reach of 32-bit
// distances from all of [lo, hi). Below comes first: above an executable is where its heap
// grows. Stacks grow down.
func unused(maps []mapping, lo, hi, n uint64) (uint64, bool) {
	const (
		step   = 1 << 16
		reach  = 0x7fff0000
		growth = 1 << 20 // left free below what may grow
	)
	free := func(at uint64) (next *mapping) {
		for i := range maps {
			if m := &maps[i]; at < m.hi+step && m.lo < at+n+step {
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
		if m.lo < n+2*step {
			break
		}
		at = (m.lo - n - step) &^ (step - 1)
	}
	for at = (hi + 64*growth) &^ (step - 1); at+n-lo < reach; {
		m := free(at)
		if m == nil {
			return at, true
		}
		at = (m.hi + 2*step) &^ (step - 1)
	}
	return 0, false
}
