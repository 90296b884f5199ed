package mip

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

const (
	minMapRecord   = 4 + 1 + 1 + 2 + 8 + 4 + minMapFragment + 4 + 4 + 1 + 1
	minMapFragment = 8 + 4 + 4
	minMapImplied  = 4 + 4
	minMapCall     = 4 + 1
)

// ReadMapSection decodes the map section of a linked binary whose raw section has rawSize bytes at rawAddr. It
// returns the functions ascending by address, then by record, and the number of those that the linker dropped.
//
// A bad record is skipped by its length: the returned error joins the errors of all, and the functions of the
// good records are returned as well.
func ReadMapSection(data []byte, rawAddr, rawSize uint64) (funcs []prof.Func, dropped int, err error) {
	d := sectionReader{rawAddr: rawAddr, rawSize: rawSize, strings: make(map[string]string)}
	if rawSize > MaxRawSize {
		return nil, 0, fmt.Errorf("raw section of %d bytes, at most %d are allowed", rawSize, uint64(MaxRawSize))
	}
	c := bytecur.New(data, 0)
	for c.Len() > 0 && len(d.funcs) < MaxFuncs {
		start := c.Off()
		size := c.U32()
		if c.Err() == nil && isUnit(data[start:], size) {
			c.Sub(uint64(size) - 4)
			continue
		}
		if c.Err() == nil && size < minMapRecord {
			c.FailAt(start, "a record of %d bytes, at least %d are needed: the rest is lost", size, minMapRecord)
		}
		rec := c.Sub(uint64(size) - 4)
		if c.Err() != nil {
			break // without a length the next record cannot be found
		}
		d.record(rec, start)
	}
	if c.Len() > 0 {
		c.Failf("more than %d functions", MaxFuncs)
	}
	d.report(c.Err())
	if d.bad > maxMapErrors {
		d.errs = append(d.errs, fmt.Errorf("and %d more bad records", d.bad-maxMapErrors))
	}
	return sortFuncs(d.funcs), d.dropped, errors.Join(d.errs...)
}

// PlaceMap replaces distances from their fields, in records with the flag MapRelative, by addresses, in a map
// section that is at an address. Damaged records are left to ReadMapSection, which reports them.
func PlaceMap(data []byte, addr uint64) {
	le := binary.LittleEndian
	for off := uint64(0); uint64(len(data))-off >= 4; {
		size := uint64(le.Uint32(data[off:]))
		if isUnit(data[off:], uint32(size)) {
			off += size
			continue
		}
		if size < minMapRecord || size > uint64(len(data))-off {
			return
		}
		placeRecord(data[off:off+size], addr+off)
		off += size
	}
}

// isUnit reports whether the record of size bytes that data begins with is that of a unit.
func isUnit(data []byte, size uint32) bool {
	const version = 4
	return size >= minUnitRecord && uint64(size) <= uint64(len(data)) && data[version]&wire.UnitInMap != 0
}

// UnitsOfMap returns the records of units in a map section, as ReadUnits reads them.
func UnitsOfMap(data []byte) (units []byte) {
	const version = 4
	for len(data) >= minUnitRecord {
		size := binary.LittleEndian.Uint32(data)
		unit := isUnit(data, size)
		if !unit && (size < minMapRecord || uint64(size) > uint64(len(data))) {
			break // ReadMapSection reports it
		}
		if unit {
			at := len(units) + version
			units = append(units, data[:size]...)
			units[at] &^= wire.UnitInMap
		}
		data = data[size:]
	}
	return units
}

// MarkUnitsOfMap marks records of units, as AppendUnit writes them, as those of a map section.
func MarkUnitsOfMap(units []byte) {
	const version = 4
	for len(units) >= minUnitRecord {
		units[version] |= wire.UnitInMap
		units = units[min(uint64(binary.LittleEndian.Uint32(units)), uint64(len(units))):]
	}
}

// placeRecord does the same for one record, which is at addr.
func placeRecord(rec []byte, addr uint64) {
	const mode, fragments, record, first = 5, 6, 8, 20
	le := binary.LittleEndian
	if rec[4] != wire.MapVersion || rec[mode]&wire.MapRelative == 0 {
		return
	}
	rec[mode] &^= wire.MapRelative
	place := func(at uint64) { le.PutUint64(rec[at:], le.Uint64(rec[at:])+addr+at) }
	place(record)
	at := uint64(first)
	for range le.Uint16(rec[fragments:]) {
		if uint64(len(rec)) < at+minMapFragment {
			return
		}
		place(at)
		at += minMapFragment + 4*uint64(le.Uint32(rec[at+12:]))
	}
}

// sectionReader is the state of ReadMapSection.
type sectionReader struct {
	rawAddr, rawSize uint64
	funcs            []prof.Func
	dropped          int
	errs             []error // the first maxMapErrors
	bad              int
	strings          map[string]string // files and callees repeat
}

func (d *sectionReader) report(err error) {
	if err == nil {
		return
	}
	if d.bad++; d.bad <= maxMapErrors {
		d.errs = append(d.errs, err)
	}
}

// record decodes the record that starts at start; c stands after its length.
func (d *sectionReader) record(c *bytecur.Cursor, start int64) {
	if v := c.U8(); v > wire.MapVersion {
		d.report(fmt.Errorf("at offset %#x: a record of version %d: %w", start, v, ErrNewer))
		return
	} else if v != wire.MapVersion {
		c.FailAt(start, "a record of version %d", v)
	}
	mode := c.U8()
	f := prof.Func{
		Mode:   prof.Mode(mode &^ (wire.MapAtomic | wire.MapPlain)),
		Atomic: mode&wire.MapAtomic != 0, Plain: mode&wire.MapPlain != 0,
	}
	fragments := c.U16()
	record := c.U64()
	f.Signature = c.U32()
	f.Fragments = readSectionFragments(c, fragments)
	f.Implied = readSectionImplied(c)
	if f.Mode == prof.ModeEdge && c.Err() == nil {
		f.Flow = readSectionFlow(c, f.NumBlocks())
	}
	f.Calls = d.calls(c)
	f.Name = string(c.CString("the function's name", MaxName))
	f.File = d.intern(c.CString("the source file's name", MaxName))
	if c.Len() > 0 {
		c.Failf("%d unexpected bytes at the end of the record at %#x", c.Len(), start)
	}
	if err := c.Err(); err != nil {
		d.report(err)
		return
	}
	if record == 0 || len(f.Fragments) > 0 && f.Addr() == 0 {
		d.dropped++
		return
	}
	f.Record = record - d.rawAddr
	var err error
	switch {
	case f.Mode.Estimated(): // code with a section has probes
		err = fmt.Errorf("mode %d is unknown", f.Mode)
	case record < d.rawAddr:
		err = fmt.Errorf("data at %#x, before the raw section at %#x", record, d.rawAddr)
	default:
		err = checkFunc(&f, d.rawSize)
	}
	if err != nil {
		d.report(fmt.Errorf("at offset %#x: function %q: %w", start, f.Name, err))
		return
	}
	d.funcs = append(d.funcs, f)
}

func readSectionFragments(c *bytecur.Cursor, n uint16) []prof.Fragment {
	num := c.CheckCount(c.Off(), uint64(n), "code fragments", MaxFragments, minMapFragment)
	fragments := make([]prof.Fragment, num)
	for i := range fragments {
		fr := &fragments[i]
		fr.Addr, fr.Size = c.U64(), c.U32()
		blocks := c.CheckCount(c.Off(), uint64(c.U32()), "blocks", MaxBlocks, 4)
		if blocks == 0 {
			continue
		}
		fr.Blocks = make([]uint32, blocks)
		for k := range fr.Blocks {
			fr.Blocks[k] = c.U32()
		}
	}
	return fragments
}

func readSectionImplied(c *bytecur.Cursor) []prof.Implied {
	num := c.CheckCount(c.Off(), uint64(c.U32()), "blocks without a probe", MaxBlocks, minMapImplied)
	if num == 0 {
		return nil
	}
	implied := make([]prof.Implied, num)
	for i := range implied {
		implied[i].Block = c.U32()
		for range c.CheckCount(c.Off(), uint64(c.U32()), "blocks that imply another", MaxEvidence, 4) {
			implied[i].By = append(implied[i].By, c.U32())
		}
	}
	return implied
}

func (d *sectionReader) calls(c *bytecur.Cursor) []prof.Call {
	num := c.CheckCount(c.Off(), uint64(c.U32()), "calls", MaxCalls, minMapCall)
	if num == 0 {
		return nil
	}
	calls := make([]prof.Call, num)
	for i := range calls {
		calls[i].Block = c.U32()
		calls[i].Callee = d.intern(c.CString("the callee's name", MaxName))
	}
	return calls
}

func (d *sectionReader) intern(b []byte) string {
	if s, ok := d.strings[string(b)]; ok {
		return s
	}
	s := string(b)
	d.strings[s] = s
	return s
}

// sortFuncs sorts functions in the order of a map and drops all but the first of those with the same address
// and record.
func sortFuncs(funcs []prof.Func) []prof.Func {
	stablesort.Func(funcs, func(a, b prof.Func) int {
		switch {
		case less(&a, &b):
			return -1
		case less(&b, &a):
			return 1
		}
		return 0
	})
	return slices.CompactFunc(funcs, func(a, b prof.Func) bool {
		return a.Addr() == b.Addr() && a.Record == b.Record
	})
}
