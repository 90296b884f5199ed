package lbrfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/procmaps"
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/binary/x86"
	"github.com/cairnprof/cairn/internal/watch/lbr"
	"github.com/cairnprof/cairn/internal/watch/ptrace"
)

// NewWatcher returns a watcher that passes branches to an observer, which gets what is looked up from it.
func NewWatcher(o lbr.Observer) *Watcher {
	w := &Watcher{lines: map[string]loadedCode{}, Observer: o}
	w.Observer.Function, w.Observer.Word, w.Observer.Code = w.function, w.word, w.instruction
	return w
}

// Watcher passes branches to an observer, and has the functions of mapped code.
type Watcher struct {
	Observer lbr.Observer
	pid      int
	read     func(b []byte, addr uint64) error
	maps     []byte
	code     []loadedCode          // ascending
	lines    map[string]loadedCode // of maps, that were read
	missed   map[uint64]bool       // pages that are in none
}

// loadedCode is a mapping of code.
type loadedCode struct {
	lo, hi uint64
	starts []uint64 // of functions, ascending
}

// Start remembers how the memory of a process is read.
func (w *Watcher) Start(pid int, read func(b []byte, addr uint64) error) error {
	w.pid, w.read = pid, read
	return w.look()
}

// Mapped clears the known mappings.
func (w *Watcher) Mapped() {
	w.code, w.missed = nil, nil
	w.Observer.Changed()
}

// Branch passes a branch to the observer.
func (w *Watcher) Branch(b *ptrace.Branch) error {
	// The target of a branch to unknown code is looked up before the samples there.
	if w.find(b.To) == nil {
		if err := w.miss(b.To); err != nil {
			return err
		}
	}
	return w.Observer.Branch(&lbr.Taken{
		PID: int32(b.PID), TID: int32(b.TID), Kind: kindOf(b.Class), From: b.From, To: b.To, SP: b.SP, FP: b.FP,
	})
}

func kindOf(c controlflow.Class) lbr.Kind {
	switch c {
	case controlflow.Call:
		return lbr.Call
	case controlflow.IndirectCall:
		return lbr.IndirectCall
	case controlflow.Return:
		return lbr.Return
	case controlflow.IndirectJump:
		return lbr.IndirectJump
	case controlflow.Other:
		return lbr.FromOutside
	}
	return lbr.Jump
}

func (w *Watcher) word(addr uint64) (uint64, bool) {
	var b [8]byte
	err := w.read(b[:], addr)
	return binary.LittleEndian.Uint64(b[:]), err == nil
}

// instruction returns the bytes of an instruction and those after it.
func (w *Watcher) instruction(addr uint64) []byte {
	code := make([]byte, x86.MaxLen)
	const page = 4096
	if err := w.read(code, addr); err != nil {
		code = code[:min(x86.MaxLen, page-addr%page)] // it may be the last in its mapping
		if err := w.read(code, addr); err != nil {
			return nil
		}
	}
	return code
}

// function returns where the function at an address begins.
func (w *Watcher) function(addr uint64) (uint64, bool) {
	c := w.find(addr)
	if c == nil {
		return 0, false
	}
	i, found := slices.BinarySearch(c.starts, addr)
	if found {
		return addr, true
	}
	if i == 0 {
		return 0, false
	}
	return c.starts[i-1], true
}

func (w *Watcher) find(addr uint64) *loadedCode {
	i, found := slices.BinarySearchFunc(w.code, addr, func(c loadedCode, addr uint64) int {
		switch {
		case c.hi <= addr:
			return -1
		case c.lo > addr:
			return 1
		}
		return 0
	})
	if !found {
		return nil
	}
	return &w.code[i]
}

// miss looks up an address that is in no known mapping, once for each page.
func (w *Watcher) miss(addr uint64) error {
	const page = 4096
	if w.missed[addr/page] {
		return nil
	}
	if err := w.look(); err != nil {
		return err
	}
	if w.missed == nil {
		w.missed = map[uint64]bool{}
	}
	w.missed[addr/page] = true
	return nil
}

// look reads the mappings, and writes them if they have changed.
func (w *Watcher) look() error {
	all, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", w.pid))
	if err != nil {
		return err
	}
	var maps []byte // of code
	w.code = nil
	for line := range strings.Lines(string(all)) {
		c, known := w.lines[line]
		if !known {
			c = loadedFrom(line)
			w.lines[line] = c
		}
		if c.hi > c.lo {
			w.code = append(w.code, c)
			maps = append(maps, line...)
		}
	}
	if bytes.Equal(maps, w.maps) {
		return nil
	}
	w.maps = maps
	return w.Observer.Maps(int32(w.pid), maps)
}

// loadedFrom parses a line of /proc/PID/maps, and reads the functions of the file. A file that
// cannot be read has none. For a mapping without code the result is empty.
func loadedFrom(line string) (c loadedCode) {
	m, err := procmaps.Parse([]byte(line))
	if err != nil || !m.Exec {
		return loadedCode{}
	}
	c.lo, c.hi = m.Lo, m.Hi
	if !m.IsFile() {
		return c
	}
	file, err := objfile.Open(m.Name)
	if err != nil {
		return c
	}
	defer file.Close()
	starts, err := functionStarts(file)
	if err != nil {
		return c
	}
	for _, s := range file.LoadedSections() {
		if s.Code && s.InFile && s.Offset >= m.Offset && s.Offset < m.Offset+(c.hi-c.lo) {
			bias := c.lo - m.Offset + s.Offset - s.Addr
			for _, a := range starts {
				if a+bias >= c.lo && a+bias < c.hi {
					c.starts = append(c.starts, a+bias)
				}
			}
			break
		}
	}
	return c
}
