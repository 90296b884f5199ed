// Package ehframe reads the tables that compilers emit for unwinders: the functions in
// .eh_frame, and the landing pads of exceptions in .gcc_except_table. It does not unwind. The
// layouts are those of the Linux Standard Base, chapter 10.6, and of the Itanium C++ ABI's
// exception handling tables.
package ehframe

import (
	"bytes"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/bytecur"
)

// Frame is a range of code with one FDE: a function, or a part of one that the compiler placed
// elsewhere.
type Frame struct {
	Lo, Hi uint64
	LSDA   uint64 // address of its exception table, 0 if it has none
	At     uint64 // address of the FDE
	// Called reports whether at Lo the return address is at the stack pointer and all
	// registers have the caller's values, as after a call. This is so at the start of
	// functions, and of a few parts.
	Called bool
}

// maxString limits augmentation strings, which have a few letters.
const maxString = 16

// cie is a common information entry (CIE), which frames share.
type cie struct {
	pointers, lsda byte   // encodings
	sized          bool   // frames have an augmentation size
	signal         bool   // the frames are of signal handlers
	code           uint64 // code alignment factor
	data           int64  // data alignment factor
	rules          rules  // initial ones of each frame, for Read
	start          state  // the same, for Rows
}

// Read reads .eh_frame, which is at addr, of a program for a machine. If there is an error,
// the frames before it are valid.
func Read(section []byte, addr uint64, of machine.Kind) ([]Frame, error) {
	var frames []Frame
	known := registersOf(of)
	shared := map[uint64]*cie{}
	err := entries(section, addr, false, func(at uint64, c *bytecur.Cursor) {
		shared[at] = readCIE(c, known)
	}, func(at, of uint64, c *bytecur.Cursor) {
		if common := shared[of]; common != nil {
			if f, ok := readFDE(c, common); ok {
				f.At = at
				frames = append(frames, f)
			}
		}
	})
	return frames, err
}

// entries iterates over the entries of .eh_frame, or of .debug_frame, up to an error: it calls
// shared for each CIE, and frame for each FDE with the offset of its CIE. Their cursor is valid until they return. In .debug_frame, CIEs
// have another mark, and FDEs the offset of their CIE in the section (DWARF 5, 6.4.1).
func entries(section []byte, addr uint64, debug bool, shared func(at uint64, c *bytecur.Cursor), frame func(at, of uint64, c *bytecur.Cursor)) error {
	c, entry := bytecur.New(section, int64(addr)), new(bytecur.Cursor)
	for c.Len() > 0 {
		at := uint64(c.Off())
		n := uint64(c.U32())
		if n == 0 { // a terminator, which linkers may leave in the middle
			continue
		}
		wide := n == 0xffffffff
		if wide {
			n = c.U64()
		}
		c.Cut(n, entry)
		if c.Err() != nil {
			return c.Err()
		}
		here := uint64(entry.Off())
		switch id := entryID(entry, debug && wide); {
		case id == 0 && !debug, id == ^uint64(0) && debug:
			shared(at, entry)
		case debug:
			frame(at, addr+id, entry)
		default:
			frame(at, here-id, entry)
		}
		if err := entry.Err(); err != nil {
			return err
		}
	}
	return c.Err()
}

// entryID reads the mark of a CIE, or the place of that of an FDE. A mark of 32 bits is extended.
func entryID(c *bytecur.Cursor, wide bool) uint64 {
	if wide {
		return c.U64()
	}
	id := c.U32()
	if id == ^uint32(0) {
		return ^uint64(0)
	}
	return uint64(id)
}

// readCIE returns nil for an unsupported CIE.
func readCIE(c *bytecur.Cursor, of registers) *cie {
	out, ok := readHead(c)
	if !ok {
		return nil
	}
	out.rules = rules{of: of, offset: -1}
	out.rules.run(c)
	return &out
}

// readHead reads a CIE up to its instructions. It returns false for an unsupported one.
func readHead(c *bytecur.Cursor) (out cie, ok bool) {
	version := c.U8()
	letters := c.CString("an augmentation", maxString)
	if version == 4 { // sizes of an address and of a segment selector
		if address, selector := c.U8(), c.U8(); address != 8 || selector != 0 {
			return out, false
		}
	}
	out = cie{pointers: absolute, lsda: omitted, code: c.Uvarint(), data: c.Sleb()}
	if version == 1 {
		c.U8()
	} else {
		c.Uvarint()
	}
	if !bytes.HasPrefix(letters, []byte("z")) {
		return out, len(letters) == 0
	}
	out.sized = true
	data := c.Sub(c.Uvarint())
	for _, l := range letters[1:] {
		switch l {
		case 'R':
			out.pointers = data.U8()
		case 'L':
			out.lsda = data.U8()
		case 'P':
			pointer(data, data.U8())
		case 'S':
			out.signal = true
		case 'B': // return addresses are signed with key B
		default:
			return out, false
		}
	}
	return out, data.Err() == nil
}

// readFDE returns false for frames of code that the linker discarded.
func readFDE(c *bytecur.Cursor, common *cie) (f Frame, ok bool) {
	f.Lo = pointer(c, common.pointers)
	f.Hi = f.Lo + pointer(c, common.pointers&formMask)
	if common.sized {
		data := c.Sub(c.Uvarint())
		if common.lsda != omitted {
			f.LSDA = pointer(data, common.lsda)
		}
	}
	r := common.rules
	r.run(c)
	f.Called = r.called()
	return f, f.Lo != 0 && f.Hi > f.Lo
}

// Encodings of pointers: a form, and a base.
const (
	absolute = 0x00
	relative = 0x10 // to the pointer's own address
	formMask = 0x0f
	omitted  = 0xff
)

// pointer reads an encoded pointer. A stored 0 means none.
func pointer(c *bytecur.Cursor, encoding byte) uint64 {
	if encoding == omitted {
		return 0
	}
	here := uint64(c.Off())
	var v uint64
	switch encoding & formMask {
	case 0x00, 0x04, 0x0c:
		v = c.U64()
	case 0x01:
		v = c.Uvarint()
	case 0x02:
		v = uint64(c.U16())
	case 0x03:
		v = uint64(c.U32())
	case 0x09:
		v = uint64(c.Sleb())
	case 0x0a:
		v = uint64(int64(int16(c.U16())))
	case 0x0b:
		v = uint64(int64(int32(c.U32())))
	default:
		c.Failf("a pointer of unknown encoding %#x", encoding)
	}
	if encoding&0x70 == relative && v != 0 {
		v += here
	}
	return v
}

// LandingPads returns the landing pads of the function at lo. data, which is at addr, begins
// with its exception table.
func LandingPads(data []byte, addr, lo uint64) ([]uint64, error) {
	c := bytecur.New(data, int64(addr))
	start := lo
	if encoding := c.U8(); encoding != omitted {
		start = pointer(c, encoding)
	}
	if encoding := c.U8(); encoding != omitted {
		c.Uvarint() // to the table of types
	}
	encoding := c.U8() & formMask
	sites := c.Sub(c.Uvarint())
	var pads []uint64
	for c.Err() == nil && sites.Len() > 0 {
		pointer(sites, encoding) // start
		pointer(sites, encoding) // length
		pad := pointer(sites, encoding)
		sites.Uvarint() // action
		if pad != 0 && sites.Err() == nil {
			pads = append(pads, start+pad)
		}
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	return pads, sites.Err()
}
