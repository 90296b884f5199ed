package attach

import (
	"encoding/binary"
	"fmt"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// The layout of struct attach in c/hook/attach.h: offsets of its fields.
const (
	offMagic     = 0
	offSize      = 8
	offUnwind    = 16
	offModules   = 24
	offFindLo    = 32
	offSites     = 64
	offSiteCount = 72
	offLeaving   = 80
	offStub      = 88
	offStubEnd   = 96
	offReturns   = 104
	offProcess   = 112
	offLogPath   = 120
	offRefused   = 136
	offLost      = 144
	offSaidLen   = 152
	offWake      = 160
	offHook      = 168
	offDone      = 176
	offWords     = 184
	offSaid      = 248
	offMapped    = 1272

	maxWords  = 8
	maxSaid   = 1024
	maxMapped = 4096
	attachEnd = offMapped + 16*maxMapped
)

// magic identifies this layout. All versions begin with magicStart.
const (
	magic      = "cairnat1"
	magicStart = "cairnat"
)

var le = binary.LittleEndian

// site is code that was changed.
type site struct {
	addr     uint64
	original [5]byte
	jump     [5]byte
	unwinder bool // it is in the program's unwinder, which must know the stub while anything returns to it
}

const siteSize = 24

func encodeSites(sites []site) []byte {
	out := make([]byte, 0, len(sites)*siteSize)
	for _, s := range sites {
		out = le.AppendUint64(out, s.addr)
		out = append(out, s.original[:]...)
		out = append(out, s.jump[:]...)
		kind := byte(0)
		if s.unwinder {
			kind = 1
		}
		out = append(append(out, kind), make([]byte, siteSize-19)...)
	}
	return out
}

func decodeSites(data []byte) []site {
	out := make([]site, 0, len(data)/siteSize)
	for ; len(data) >= siteSize; data = data[siteSize:] {
		s := site{addr: le.Uint64(data), unwinder: data[18] != 0}
		copy(s.original[:], data[8:])
		copy(s.jump[:], data[13:])
		out = append(out, s)
	}
	return out
}

// unwindModule holds the unwind information of a loaded module.
type unwindModule struct {
	lo, hi uint64
	rows   []ehframe.Row
	bias   uint64
	own    bool   // it is the attached library
	path   string // as the program sees it
	id     string // its build id
}

const (
	unwindRowSize    = 12
	unwindModuleSize = 32
)

// encodeUnwind returns struct unwind_module[] and the rows after it, for a given address. Modules do not
// overlap.
func encodeUnwind(modules []unwindModule, at uint64) []byte {
	stablesort.Func(modules, func(a, b unwindModule) int {
		switch {
		case a.lo < b.lo:
			return -1
		case a.lo > b.lo:
			return 1
		}
		return 0
	})
	var heads, rows []byte
	first := at + uint64(len(modules)*unwindModuleSize)
	for i := range modules {
		m := &modules[i]
		start, n := first+uint64(len(rows)), 0
		for _, r := range m.rows {
			if pc := r.PC + m.bias; pc >= m.lo && pc < m.hi && pc-m.lo < 1<<32 {
				rows = appendRow(rows, r, uint32(pc-m.lo), m.own)
				n++
			}
		}
		for _, v := range []uint64{m.lo, m.hi, start, uint64(n)} {
			heads = le.AppendUint64(heads, v)
		}
	}
	return append(heads, rows...)
}

// appendRow appends a struct unwind_row. Only frames of the library itself may have their return addresses in
// the window.
func appendRow(out []byte, r ehframe.Row, pc uint32, own bool) []byte {
	if r.Return == ehframe.ReturnComputed && r.CFA != ehframe.CFASignal && !own {
		r = ehframe.Row{}
	}
	out = le.AppendUint32(out, pc)
	out = le.AppendUint32(out, uint32(r.Offset))
	out = le.AppendUint16(out, uint16(r.FrameOffset))
	return append(out, byte(r.CFA), byte(r.Frame)|byte(r.Return)<<4)
}

// split separates the sites of the unwinder from the others.
func split(sites []site) (unwinder, others []site) {
	for _, s := range sites {
		if s.unwinder {
			unwinder = append(unwinder, s)
		} else {
			others = append(others, s)
		}
	}
	return unwinder, others
}

// header is a struct attach as it was read.
type header []byte

func (h header) u64(off int) uint64 { return le.Uint64(h[off:]) }

// check returns an error unless the header has this layout.
func (h header) check(pid int) error {
	if len(h) < attachEnd || string(h[offMagic:offMagic+8]) != magic || h.u64(offSize) != attachEnd {
		return fmt.Errorf("process %d: another version of cairn is attached to it; detach with that version", pid)
	}
	return nil
}

// mapped returns the memory that the library has mapped.
func (h header) mapped() []region {
	var out []region
	for i := range maxMapped {
		at := offMapped + 16*i
		if lo, n := h.u64(at), h.u64(at+8); lo != 0 && n != 0 {
			out = append(out, region{lo, lo + (n+4095)&^4095})
		}
	}
	return out
}

// region is a half-open range of addresses.
type region struct{ lo, hi uint64 }

func (r region) has(addr uint64) bool { return addr >= r.lo && addr < r.hi }

func within(regions []region, addr uint64) bool {
	for _, r := range regions {
		if r.has(addr) {
			return true
		}
	}
	return false
}
