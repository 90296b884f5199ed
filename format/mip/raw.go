package mip

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/prof"
)

// Raw is what one run of a module left behind.
type Raw struct {
	BuildID    prof.BuildID
	PID        uint32
	Size       uint64 // bytes of the raw section
	Continuous bool   // the file was the live memory of the process
	// Data is the start of the section; the rest, up to Size, is zero.
	Data []byte
}

// RawHeader is the head of a raw file, read before the rest.
type RawHeader struct {
	Raw           // without Data
	Offset uint64 // where the image starts in the file
	Stored uint64 // bytes of the image in the file
	sum    uint32
}

// ParseRawHeader checks the header of a raw file. It needs the first
// wire.RawHeaderSize bytes, so that who reads a file can decide from its build
// id and size whether to read the rest.
func ParseRawHeader(data []byte) (h RawHeader, err error) {
	if !bytes.HasPrefix(data, []byte(wire.RawMagic)) {
		return RawHeader{}, fmt.Errorf("not a raw file: %w", ErrMagic)
	}
	c := bytecur.New(data, 0)
	c.Bytes(wire.RawVersionOffset)
	version, flags := c.U16(), c.U16()
	if c.Err() == nil && (version > wire.RawVersion || flags&^wire.RawContinuous != 0) {
		return RawHeader{}, fmt.Errorf("raw file of version %d with flags %#x: %w", version, flags, ErrNewer)
	}
	h.Continuous = flags&wire.RawContinuous != 0
	h.Offset = uint64(c.U32())
	h.Size, h.Stored = c.U64(), c.U64()
	h.sum, h.PID = c.U32(), c.U32()
	idLen := c.U8()
	c.Bytes(wire.RawIDOffset - wire.RawIDLenOffset - 1)
	id := c.Bytes(wire.MaxBuildID)
	switch {
	case c.Err() != nil:
	case version == 0:
		c.FailAt(wire.RawVersionOffset, "there is no version 0")
	case idLen == 0 || idLen > wire.MaxBuildID:
		c.FailAt(wire.RawIDLenOffset, "build id of %d bytes, 1 to %d are allowed", idLen, wire.MaxBuildID)
	case h.Offset < wire.RawHeaderSize || h.Offset > MaxRawOffset:
		c.FailAt(wire.RawDataOffset, "data at %d, %d to %d are allowed", h.Offset, wire.RawHeaderSize, MaxRawOffset)
	case h.Size > MaxRawSize:
		c.FailAt(wire.RawSizeOffset, "raw section of %d bytes, at most %d are allowed", h.Size, uint64(MaxRawSize))
	case h.Stored > h.Size:
		c.FailAt(wire.RawStoredOffset, "%d bytes stored of a raw section of %d", h.Stored, h.Size)
	}
	if err := c.Err(); err != nil {
		return RawHeader{}, fmt.Errorf("damaged raw file: %w", err)
	}
	h.BuildID = prof.BuildID(id[:idLen])
	return h, nil
}

// ParseRaw checks a raw file and returns its content; Data is a part of data,
// not a copy.
func ParseRaw(data []byte) (Raw, error) {
	h, err := ParseRawHeader(data)
	if err != nil {
		return Raw{}, err
	}
	if end := h.Offset + h.Stored; end > uint64(len(data)) {
		err := &bytecur.Error{Off: int64(len(data)), What: fmt.Sprintf("cut short: its header says %d bytes", end)}
		return Raw{}, fmt.Errorf("damaged raw file: %w", err)
	} else if end < uint64(len(data)) && !h.Continuous { // live memory ends with a page
		err := &bytecur.Error{Off: int64(end), What: fmt.Sprintf("%d bytes too many", uint64(len(data))-end)}
		return Raw{}, fmt.Errorf("damaged raw file: %w", err)
	}
	h.Data = data[h.Offset : h.Offset+h.Stored : h.Offset+h.Stored]
	// The sum of live memory would be out of date at once.
	if got := checksum(h.Data); !h.Continuous && got != h.sum {
		err := &bytecur.Error{Off: wire.RawChecksumOffset, What: fmt.Sprintf("checksum %#08x, the data has %#08x", h.sum, got)}
		return Raw{}, fmt.Errorf("damaged raw file: %w", err)
	}
	return h.Raw, nil
}

// AppendRaw appends the raw file of r to b, as the runtime would write it: for
// tests and tools. Zeros at the end of a section are not stored unless the
// file is continuous.
func AppendRaw(b []byte, r Raw) ([]byte, error) {
	if len(r.BuildID) == 0 || len(r.BuildID) > wire.MaxBuildID {
		return nil, fmt.Errorf("writing a raw file: build id of %d bytes, 1 to %d are allowed", len(r.BuildID), wire.MaxBuildID)
	}
	if r.Size > MaxRawSize || uint64(len(r.Data)) > r.Size {
		return nil, fmt.Errorf("writing a raw file: %d bytes of a raw section of %d, at most %d are allowed", len(r.Data), r.Size, uint64(MaxRawSize))
	}
	data, offset := bytes.TrimRight(r.Data, "\x00"), wire.RawHeaderSize
	flags, sum := uint16(0), uint32(0)
	if r.Continuous {
		data, offset, flags = r.Data, wire.PageSize, wire.RawContinuous
	} else {
		sum = checksum(data)
	}
	h := make([]byte, offset)
	copy(h, wire.RawMagic)
	le := binary.LittleEndian
	le.PutUint16(h[wire.RawVersionOffset:], wire.RawVersion)
	le.PutUint16(h[wire.RawFlagsOffset:], flags)
	le.PutUint32(h[wire.RawDataOffset:], uint32(offset))
	le.PutUint64(h[wire.RawSizeOffset:], r.Size)
	le.PutUint64(h[wire.RawStoredOffset:], uint64(len(data)))
	le.PutUint32(h[wire.RawChecksumOffset:], sum)
	le.PutUint32(h[wire.RawPIDOffset:], r.PID)
	h[wire.RawIDLenOffset] = uint8(len(r.BuildID))
	copy(h[wire.RawIDOffset:], r.BuildID)
	return append(append(b, h...), data...), nil
}
