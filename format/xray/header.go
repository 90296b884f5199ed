package xray

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Sizes of the format.
const (
	headerSize   = 32
	basicSize    = 32 // a record of a basic log
	metadataSize = 16
	functionSize = 8
)

// The versions that there are. Version 4 of basic logs is a proposal.
const (
	lastBasic = 3
	lastFDR   = 5
)

// header is the content of the first 32 bytes of a log, except the flags: their two bits are always set, and
// the other thirty are garbage.
type header struct {
	big     bool // big-endian
	fdr     bool
	version int
	hz      uint64
	buffer  uint64 // FDR: the size of the runtime's buffers in bytes, 0 if not known
}

func (h *header) order() binary.ByteOrder {
	if h.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func (h *header) last() int {
	if h.fdr {
		return lastFDR
	}
	return lastBasic
}

func (h *header) String() string {
	name := fmt.Sprintf("XRay %s log, version %d", h.mode(), h.version)
	if h.big {
		name += ", big-endian"
	}
	return name
}

func (h *header) mode() string {
	if h.fdr {
		return "FDR"
	}
	return "basic"
}

// maxHz is higher than any clock's rate. XRay has no magic number, so a header is recognized by plausible
// fields.
const maxHz = 1 << 40

// sniff reads the header that b begins with. A version of at most maxVersion in
// one of the two byte orders determines that order.
func sniff(b []byte, maxVersion uint16) (h header, ok bool) {
	const least = 16
	if len(b) < least {
		return h, false
	}
	for _, big := range []bool{false, true} {
		h := header{big: big}
		o := h.order()
		version, kind := o.Uint16(b), o.Uint16(b[2:])
		h.version, h.fdr, h.hz = int(version), kind == 1, o.Uint64(b[8:])
		if version < 1 || version > maxVersion || kind > 1 || h.hz > maxHz {
			continue
		}
		if h.fdr && len(b) >= headerSize {
			h.buffer = o.Uint64(b[16:])
		}
		return h, true
	}
	return h, false
}

// readHeader reads the header of a file of that many bytes.
func readHeader(r io.ReaderAt, size int64, name string) (header, error) {
	if size < headerSize {
		return header{}, fmt.Errorf("%s: not an XRay log: it has %d bytes, less than its header of %d (was the program killed while writing?)", name, size, headerSize)
	}
	var b [headerSize]byte
	if n, err := r.ReadAt(b[:], 0); n < headerSize {
		return header{}, fmt.Errorf("%s: reading the header: %w", name, err)
	}
	const newest = 99 // a version to name in a message
	h, ok := sniff(b[:], newest)
	switch {
	case !ok:
		return h, fmt.Errorf("%s: not an XRay log: it begins with % x instead of a version and a type", name, b[:4])
	case h.version > h.last():
		return h, fmt.Errorf("%s: %s: versions 1 to %d can be read", name, &h, h.last())
	}
	return h, nil
}
