package marklog

import (
	"bytes"
	"iter"
	"os"
	"syscall"
	"unsafe"

	"github.com/cairnprof/cairn/format/procmaps"
	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// image describes the program in memory.
type image struct {
	path       string
	id         []byte // GNU build id, empty if there is none
	bias       uint64
	start, end uint64
}

// monotonic returns CLOCK_MONOTONIC in ns.
func monotonic() uint64 {
	const clockMonotonic = 1
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&t)), 0)
	return uint64(t.Nano())
}

// program describes the running program, as far as that is possible.
func program() image {
	path, err := os.Executable()
	if err != nil {
		path = "program"
	}
	m := image{path: path}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return m
	}
	for at, err := range procmaps.All(maps) {
		if err != nil || at.Name != path {
			continue
		}
		if m.start == 0 {
			m.start = at.Lo
		}
		m.end = at.Hi
	}
	m.readHeader()
	return m
}

// readHeader reads the bias and the build id from the file of a 64-bit little-endian program. From other files
// it reads nothing.
func (m *image) readHeader() {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return
	}
	defer f.Close()
	h := make([]byte, 64)
	if _, err := f.ReadAt(h, 0); err != nil || !bytes.HasPrefix(h, []byte("\x7fELF\x02\x01")) {
		return
	}
	const load = 1
	first := true
	for p := range table(f, le.Uint64(h[32:]), le.Uint16(h[56:]), 56) {
		if le.Uint32(p) == load && first {
			first = false
			m.bias = m.start - le.Uint64(p[16:])&^0xfff
		}
	}
	// Go's linker has no segment for the note, only a section.
	const note = 7
	for s := range table(f, le.Uint64(h[40:]), le.Uint16(h[60:]), 64) {
		if size := le.Uint64(s[32:]); le.Uint32(s[4:]) == note && size < 1<<16 && len(m.id) == 0 {
			b := make([]byte, size)
			if _, err := f.ReadAt(b, int64(le.Uint64(s[24:]))); err == nil {
				m.id = buildID(b)
			}
		}
	}
}

// table yields the entries of a table in a file, none if it cannot be read.
func table(f *os.File, offset uint64, n uint16, size int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		b := make([]byte, int(n)*size)
		if _, err := f.ReadAt(b, int64(offset)); err != nil {
			return
		}
		for ; len(b) > 0; b = b[size:] {
			if !yield(b[:size]) {
				return
			}
		}
	}
}

// buildID finds the GNU build id among the notes b.
func buildID(b []byte) []byte {
	const gnuBuildID = 3
	for len(b) >= 12 {
		name, desc, kind := int(le.Uint32(b)), int(le.Uint32(b[4:])), le.Uint32(b[8:])
		b = b[12:]
		if name < 0 || desc < 0 || name > len(b) || desc > len(b) {
			return nil
		}
		at := (name + 3) &^ 3
		if at+desc > len(b) {
			return nil
		}
		if kind == gnuBuildID && string(b[:name]) == "GNU\x00" && desc <= wire.MaxBuildID {
			return bytes.Clone(b[at : at+desc])
		}
		b = b[min(len(b), at+(desc+3)&^3):]
	}
	return nil
}
