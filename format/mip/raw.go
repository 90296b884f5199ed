package mip

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/prof"
)

// Raw is the result of one run of a module.
type Raw struct {
	BuildID    prof.BuildID
	PID        uint32
	Run        uint64 // identifies this run, together with PID
	Size       uint64 // bytes of the raw section
	Continuous bool   // the file was the live memory of the process
	// Single is set if the process is known to have had only one thread until the file was written: its counts
	// are exact.
	Single bool
	// Sealed is set for live memory of a process that ended normally. Only then does it have a checksum.
	Sealed bool
	// Own is set if each processor counted in its own copy of the records: counts are exact with any number of
	// threads. Readers add up the copies; they clear it if some processor had none.
	Own bool
	// Inside is set for live memory if the section began with the header and the scenario, of which Data has zeros.
	Inside bool
	// Changed is set by readers for live memory whose checksum does not match: the process continued after
	// sealing it, as in destructors of other modules, or the file is damaged.
	Changed bool
	// Data is the start of the section; the rest, up to Size, is zero.
	Data []byte
	// Scenario is the value of CAIRN_SCENARIO in the run; "" if it was not set. Any bytes, at most
	// wire.MaxScenario.
	Scenario string
	// Slots is the number of first executions that the order buffer can hold; 0 if the module has none.
	Slots uint32
	// Next is the number of first executions, of which the last Slots are in the buffer.
	Next uint32
	// NextAt is the offset of Next in the section. Only used if Continuous.
	NextAt uint64
	// Order lists the functions in the order of their first executions, the oldest first, as offsets of their
	// records in the section. All are in the section; only a forged file contains one twice.
	Order []uint32
	// Copies is the number of copies of the section that follow the image: processors of a Go program count in
	// one each. Data is their sum, which is what AppendRaw writes.
	Copies uint64
}

// Cut reports whether the order buffer was too small: the oldest first
// executions are not in Order.
func (r *Raw) Cut() bool { return r.Next > r.Slots }

// RawHeader is the head of a raw file, read before the rest.
type RawHeader struct {
	Raw             // without Data, Scenario and Order; Next only if not Continuous
	Offset   uint64 // where the image starts in the file
	Stored   uint64 // bytes of the image in the file
	scenario uint64 // bytes of the scenario's name
	sum      uint32
}

// End returns the minimum size of the file. One that was live memory may be larger.
func (h *RawHeader) End() uint64 {
	return h.Offset + h.Stored + wire.SlotSize*uint64(h.slots()) + h.Copies*h.stride()
}

// slots returns the number of slots in the file: those in use, or all.
func (h *RawHeader) slots() uint32 {
	if h.Continuous {
		return h.Slots
	}
	return min(h.Next, h.Slots)
}

// ParseRawHeader checks the header of a raw file. It needs the first
// wire.RawHeaderSize bytes, so that a reader of the file can decide from its build
// id and size whether to read the rest.
func ParseRawHeader(data []byte) (h RawHeader, err error) {
	if !bytes.HasPrefix(data, []byte(wire.RawMagic)) {
		return RawHeader{}, fmt.Errorf("not a raw file: %w", ErrMagic)
	}
	c := bytecur.New(data, 0)
	c.Bytes(wire.RawVersionOffset)
	version, flags := c.U16(), c.U16()
	const known = wire.RawContinuous | wire.RawSingle | wire.RawSealed | wire.RawOwn | wire.RawInside
	if c.Err() == nil && (version > wire.RawVersion || flags&^known != 0) {
		return RawHeader{}, fmt.Errorf("raw file of version %d with flags %#x: %w", version, flags, ErrNewer)
	}
	h.Continuous, h.Single, h.Sealed = flags&wire.RawContinuous != 0, flags&wire.RawSingle != 0, flags&wire.RawSealed != 0
	h.Own, h.Inside = flags&wire.RawOwn != 0, flags&wire.RawInside != 0
	h.Offset = uint64(c.U32())
	h.Size, h.Stored = c.U64(), c.U64()
	h.sum, h.PID = c.U32(), c.U32()
	idLen := c.U8()
	h.scenario = uint64(c.U8())
	if copies := c.U16(); h.Own { // otherwise the runtime's own
		h.Copies = uint64(copies)
	}
	id := c.Bytes(wire.MaxBuildID)
	h.Slots, h.Next, h.NextAt = c.U32(), c.U32(), c.U64()
	h.Run = c.U64()
	if c.Err() == nil && version < wire.RawVersion {
		c.FailAt(wire.RawVersionOffset, "version %d, which no release wrote", version)
	}
	h.check(c, flags, int(idLen))
	if err := c.Err(); err != nil {
		return RawHeader{}, fmt.Errorf("damaged raw file: %w", err)
	}
	h.BuildID = prof.BuildID(id[:idLen])
	return h, nil
}

// check fails c at the first field that no runtime writes.
func (h *RawHeader) check(c *bytecur.Cursor, flags uint16, idLen int) {
	switch {
	case c.Err() != nil:
	case h.Sealed && !h.Continuous:
		c.FailAt(wire.RawFlagsOffset, "flags %#x, of which one is for live memory only", flags)
	case h.Continuous && !h.Sealed && (h.sum != 0 || h.Single):
		c.FailAt(wire.RawFlagsOffset, "flags %#x of live memory, with a checksum of %#08x", flags, h.sum)
	case h.Own && (!h.Continuous || h.Slots > 0 || h.Stored != h.Size):
		c.FailAt(wire.RawCopiesOffset, "%d copies with flags %#x and %d slots", h.Copies, flags, h.Slots)
	case idLen == 0 || idLen > wire.MaxBuildID:
		c.FailAt(wire.RawIDLenOffset, "build id of %d bytes, 1 to %d are allowed", idLen, wire.MaxBuildID)
	case h.scenario > wire.MaxScenario:
		c.FailAt(wire.RawScenarioLenOffset, "scenario of %d bytes, at most %d are allowed", h.scenario, wire.MaxScenario)
	case h.Inside && (!h.Continuous || h.Own || h.Offset > 0 || h.Stored < wire.RawHeadRoom):
		c.FailAt(wire.RawDataOffset, "data at %d with flags %#x, %d bytes stored", h.Offset, flags, h.Stored)
	case h.Inside && h.Slots > 0 && h.NextAt < wire.RawHeadRoom:
		c.FailAt(wire.RawNextAtOffset, "first executions counted at %d, in the header", h.NextAt)
	case !h.Inside && h.Offset < wire.RawHeaderSize+h.scenario || h.Offset > MaxRawOffset:
		c.FailAt(wire.RawDataOffset, "data at %d, %d to %d are allowed", h.Offset, wire.RawHeaderSize+h.scenario, MaxRawOffset)
	case h.Size > MaxRawSize:
		c.FailAt(wire.RawSizeOffset, "raw section of %d bytes, at most %d are allowed", h.Size, uint64(MaxRawSize))
	case h.Stored > h.Size:
		c.FailAt(wire.RawStoredOffset, "%d bytes stored of a raw section of %d", h.Stored, h.Size)
	case h.Copies*h.stride() > wire.MaxRawCopies:
		c.FailAt(wire.RawCopiesOffset, "%d copies of %d bytes, at most %d bytes are allowed", h.Copies, h.stride(), wire.MaxRawCopies)
	case h.Slots > wire.MaxSlots:
		c.FailAt(wire.RawSlotsOffset, "%d slots, at most %d are allowed", h.Slots, wire.MaxSlots)
	case h.Next > 0 && (h.Slots == 0 || h.Continuous):
		c.FailAt(wire.RawNextOffset, "%d first executions where there should be none", h.Next)
	case h.NextAt > 0 && (h.Slots == 0 || !h.Continuous):
		c.FailAt(wire.RawNextAtOffset, "first executions counted at %d, where there should be no count", h.NextAt)
	case h.Slots > 0 && h.Continuous && (h.Size < wire.SlotSize || h.NextAt > h.Size-wire.SlotSize):
		c.FailAt(wire.RawNextAtOffset, "first executions counted at %d of a raw section of %d", h.NextAt, h.Size)
	}
}

// ParseRaw checks a raw file and returns its content; Data is a part of data,
// not a copy, unless several copies were added up, or Inside is set.
func ParseRaw(data []byte) (Raw, error) {
	h, err := ParseRawHeader(data)
	if err != nil {
		return Raw{}, err
	}
	damaged := func(off uint64, format string, args ...any) (Raw, error) {
		err := &bytecur.Error{Off: int64(off), What: fmt.Sprintf(format, args...)}
		return Raw{}, fmt.Errorf("damaged raw file: %w", err)
	}
	have, end := uint64(len(data)), h.End()
	switch {
	case end > have:
		return damaged(have, "truncated: the header says %d bytes", end)
	case end < have && !h.Continuous: // live memory may end with a page
		return damaged(end, "%d bytes too many", have-end)
	}
	if !h.Continuous || h.Sealed { // the sum of live memory is outdated at once
		switch got := checksum(data[:end]); {
		case got == h.sum:
		case h.Continuous:
			h.Changed = true
		default:
			return damaged(wire.RawChecksumOffset, "checksum %#08x, the data has %#08x", h.sum, got)
		}
	}
	behind := h.Offset + h.Stored
	h.Data = data[h.Offset:behind:behind]
	switch {
	case h.Inside:
		h.Data = slices.Clone(h.Data)
		clear(h.Data[:wire.RawHeadRoom])
	case h.Copies > 0:
		h.Data, h.Own = h.addCopies(data)
	}
	h.Scenario = scenario(data[wire.RawHeaderSize:][:h.scenario])
	if h.Slots > 0 && h.Continuous {
		h.Next = at(h.Data, h.NextAt)
	}
	slots, oldest := data[behind:end], uint32(0)
	if h.Cut() && h.Slots > 0 {
		oldest = h.Next % h.Slots
	}
	n := min(h.Next, h.Slots)
	for i := range n {
		slot := uint64(oldest) + uint64(i)
		if slot >= uint64(n) {
			slot -= uint64(n)
		}
		slot *= wire.SlotSize
		switch id := binary.LittleEndian.Uint32(slots[slot:]); {
		case id == 0: // allocated, but the process was killed before filling it
		case uint64(id) > h.Size:
			return damaged(behind+slot, "a record at %d of a raw section of %d", id-1, h.Size)
		default:
			h.Order = append(h.Order, id-1)
		}
	}
	return h.Raw, nil
}

// scenario returns a name without an incomplete character at its end.
func scenario(name []byte) string {
	if len(name) == wire.MaxScenario {
		for i := 1; i < utf8.UTFMax && !utf8.Valid(name[len(name)-i:]); i++ {
			if tail := name[len(name)-i:]; utf8.RuneStart(tail[0]) && !utf8.FullRune(tail) {
				name = name[:len(name)-i]
				break
			}
		}
	}
	return string(name)
}

// at returns the number at off of a section that starts with data.
func at(data []byte, off uint64) uint32 {
	var b [4]byte
	copy(b[:], data[min(off, uint64(len(data))):])
	return binary.LittleEndian.Uint32(b[:])
}

// AppendRaw appends the raw file of r to b, as the runtime would write it: for tests and tools. Zeros at the
// end of a section are stored only in continuous files.
func AppendRaw(b []byte, r Raw) ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("writing a raw file: %w", err)
	}
	le := binary.LittleEndian
	data, offset, from := bytes.TrimRight(r.Data, "\x00"), wire.RawHeaderSize+len(r.Scenario), 0
	slots := make([]byte, wire.SlotSize*min(r.Next, r.Slots))
	if r.Continuous {
		data, offset = slices.Clone(r.Data), wire.PageSize
		slots = make([]byte, wire.SlotSize*r.Slots)
		if r.Slots > 0 {
			data = append(data, make([]byte, max(0, int(r.NextAt)+wire.SlotSize-len(data)))...)
			le.PutUint32(data[r.NextAt:], r.Next)
		}
	}
	for i, off := range r.Order {
		slot := uint32(i)
		if r.Cut() {
			slot = (r.Next%r.Slots + slot) % r.Slots
		}
		le.PutUint32(slots[wire.SlotSize*slot:], off+1)
	}
	if r.Inside {
		offset, from = wire.RawHeadRoom, wire.RawHeadRoom
		data = append(data, make([]byte, max(0, from-len(data)))...)
	}
	h := make([]byte, offset)
	copy(h, wire.RawMagic)
	le.PutUint16(h[wire.RawVersionOffset:], wire.RawVersion)
	le.PutUint32(h[wire.RawDataOffset:], uint32(offset-from))
	le.PutUint64(h[wire.RawSizeOffset:], r.Size)
	le.PutUint64(h[wire.RawStoredOffset:], uint64(len(data)))
	le.PutUint32(h[wire.RawPIDOffset:], r.PID)
	h[wire.RawIDLenOffset] = uint8(len(r.BuildID))
	h[wire.RawScenarioLenOffset] = uint8(len(r.Scenario))
	copy(h[wire.RawIDOffset:], r.BuildID)
	le.PutUint32(h[wire.RawSlotsOffset:], r.Slots)
	le.PutUint64(h[wire.RawRunOffset:], r.Run)
	flags := uint16(0)
	for _, f := range []struct {
		set  bool
		flag uint16
	}{{r.Continuous, wire.RawContinuous}, {r.Single, wire.RawSingle}, {r.Sealed, wire.RawSealed}, {r.Own, wire.RawOwn}, {r.Inside, wire.RawInside}} {
		if f.set {
			flags |= f.flag
		}
	}
	le.PutUint16(h[wire.RawFlagsOffset:], flags)
	copy(h[wire.RawHeaderSize:], r.Scenario)
	file := slices.Concat(h, data[from:], slots)
	if r.Continuous {
		le.PutUint64(file[wire.RawNextAtOffset:], r.NextAt)
	} else {
		le.PutUint32(file[wire.RawNextOffset:], r.Next)
	}
	if !r.Continuous || r.Sealed {
		le.PutUint32(file[wire.RawChecksumOffset:], checksum(file))
	}
	return append(b, file...), nil
}

// check returns why r cannot be a raw file.
func (r *Raw) check() error {
	switch {
	case len(r.BuildID) == 0 || len(r.BuildID) > wire.MaxBuildID:
		return fmt.Errorf("build id of %d bytes, 1 to %d are allowed", len(r.BuildID), wire.MaxBuildID)
	case r.Sealed && !r.Continuous || r.Continuous && r.Single && !r.Sealed:
		return fmt.Errorf("only mapped raw files have a seal and a number of threads")
	case r.Own && (!r.Continuous || r.Slots > 0 || uint64(len(r.Data)) != r.Size):
		return fmt.Errorf("only mapped raw files without first executions have counts of each processor")
	case len(r.Scenario) > wire.MaxScenario:
		return fmt.Errorf("scenario of %d bytes, at most %d are allowed", len(r.Scenario), wire.MaxScenario)
	case r.Size > MaxRawSize || uint64(len(r.Data)) > r.Size:
		return fmt.Errorf("%d bytes of a raw section of %d, at most %d are allowed", len(r.Data), r.Size, uint64(MaxRawSize))
	case r.Slots > wire.MaxSlots || r.Slots == 0 && r.Next > 0:
		return fmt.Errorf("%d first executions in %d slots, at most %d are allowed", r.Next, r.Slots, wire.MaxSlots)
	case r.Slots > 0 && r.Continuous && (r.Size < wire.SlotSize || r.NextAt > r.Size-wire.SlotSize):
		return fmt.Errorf("first executions counted at %d of a raw section of %d", r.NextAt, r.Size)
	case r.Inside && (!r.Continuous || r.Own || len(r.Data) < wire.RawHeadRoom || r.Slots > 0 && r.NextAt < wire.RawHeadRoom):
		return fmt.Errorf("only mapped raw files, with one copy of the section, have their header in its first %d bytes", wire.RawHeadRoom)
	case r.Inside && len(bytes.Trim(r.Data[:wire.RawHeadRoom], "\x00")) > 0:
		return fmt.Errorf("records in the first %d bytes of a raw section, where its header is", wire.RawHeadRoom)
	case uint64(len(r.Order)) > uint64(min(r.Next, r.Slots)):
		return fmt.Errorf("%d functions of %d first executions in %d slots", len(r.Order), r.Next, r.Slots)
	}
	for _, off := range r.Order {
		if uint64(off) >= r.Size || off == math.MaxUint32 {
			return fmt.Errorf("a record at %d of a raw section of %d", off, r.Size)
		}
	}
	return nil
}
