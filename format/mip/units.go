package mip

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/prof"
)

const minUnitRecord = 4 + 1 + 1 + 1 + 2

// AppendUnit appends the record of a unit to a section of units.
func AppendUnit(b []byte, u *prof.Unit) ([]byte, error) {
	if err := checkUnit(u); err != nil {
		return nil, fmt.Errorf("writing the record of %s: %w", u.File, err)
	}
	start := len(b)
	b = append(b, 0, 0, 0, 0, wire.UnitVersion, 0)
	if u.Unlinked {
		b[len(b)-1] = wire.UnitUnlinked
	}
	if u.LTO {
		b[len(b)-1] |= wire.UnitLTO
	}
	b, err := appendAbsent(appendString(b, u.File), u.Funcs)
	if err == nil && u.LTO {
		b, err = appendRefs(b, u.Refs)
	}
	if err != nil {
		return nil, fmt.Errorf("writing the record of %s: %w", u.File, err)
	}
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start))
	return b, nil
}

// ReadUnits decodes a section of units. A bad record is skipped by its length: the error joins those of all, and
// the units of the good records are returned as well.
func ReadUnits(data []byte) (units []prof.Unit, err error) {
	var errs []error
	bad := 0
	report := func(err error) {
		if bad++; bad <= maxMapErrors {
			errs = append(errs, err)
		}
	}
	c := bytecur.New(data, 0)
	for c.Len() > 0 {
		start := c.Off()
		size := c.U32()
		if c.Err() == nil && size == 0 { // padding between the sections of objects
			continue
		}
		if c.Err() == nil && size < minUnitRecord {
			c.FailAt(start, "a record of %d bytes, at least %d are needed: the rest is lost", size, minUnitRecord)
		}
		rec := c.Sub(uint64(size) - 4)
		if c.Err() != nil {
			report(c.Err())
			break
		}
		u, err := readUnit(rec, start)
		if err != nil {
			report(err)
			continue
		}
		units = append(units, u)
	}
	if bad > maxMapErrors {
		errs = append(errs, fmt.Errorf("and %d more bad records", bad-maxMapErrors))
	}
	return units, errors.Join(errs...)
}

// readUnit decodes the record that starts at start; c stands after its length.
func readUnit(c *bytecur.Cursor, start int64) (u prof.Unit, err error) {
	if v := c.U8(); v > wire.UnitVersion {
		return u, fmt.Errorf("at offset %#x: the record of a unit of version %d: %w", start, v, ErrNewer)
	} else if v != wire.UnitVersion {
		c.FailAt(start, "the record of a unit of version %d", v)
	}
	flags := c.U8()
	u.Unlinked, u.LTO = flags&wire.UnitUnlinked != 0, flags&wire.UnitLTO != 0
	u.File = string(c.String("the source file's name", MaxName))
	u.Funcs = readAbsent(c)
	if u.LTO {
		u.Refs = readRefs(c)
	}
	if c.Err() == nil && c.Len() > 0 {
		c.Failf("%d unexpected bytes at the end of the record at %#x", c.Len(), start)
	}
	if err := c.Err(); err != nil {
		return u, err
	}
	if err := checkUnit(&u); err != nil {
		return u, fmt.Errorf("at offset %#x: %w", start, err)
	}
	return u, nil
}

// checkUnit reports the first rule that u breaks.
func checkUnit(u *prof.Unit) error {
	if err := checkName("source file", u.File); err != nil {
		return err
	}
	for i := range u.Funcs {
		a := &u.Funcs[i]
		if a.Why != 0 && a.Why != prof.Unprobed {
			return fmt.Errorf("function %q: %s in the record of its unit", a.Name, a.Why)
		}
		if err := checkAbsent(a); err != nil {
			return fmt.Errorf("function %q: %w", a.Name, err)
		}
	}
	return checkRefs(u)
}

// checkRefs reports the first rule that the references of u break.
func checkRefs(u *prof.Unit) error {
	if len(u.Refs) > 0 && !u.LTO {
		return errors.New("references in the record of a unit whose code the linker does not make")
	}
	for i := range u.Refs {
		r := &u.Refs[i]
		if i > 0 && u.Refs[i-1].From >= r.From {
			return fmt.Errorf("references from %q: out of order", r.From)
		}
		if err := checkName("name", r.From); err != nil {
			return err
		}
		for k, name := range r.To {
			if err := checkName("name", name); err != nil {
				return err
			}
			if k > 0 && r.To[k-1] >= name {
				return fmt.Errorf("reference from %q to %q: out of order", r.From, name)
			}
		}
	}
	return nil
}

// appendRefs writes references, with a table of their names.
func appendRefs(b []byte, refs []prof.Refs) ([]byte, error) {
	index := map[string]uint64{}
	for i := range refs {
		index[refs[i].From] = 0
		for _, name := range refs[i].To {
			index[name] = 0
		}
	}
	table := slices.Sorted(maps.Keys(index))
	for i, name := range table {
		index[name] = uint64(i)
	}
	b, err := appendTable(b, table)
	if err != nil {
		return nil, err
	}
	b = binary.AppendUvarint(b, uint64(len(refs)))
	for i := range refs {
		b = binary.AppendUvarint(b, index[refs[i].From])
		b = binary.AppendUvarint(b, uint64(len(refs[i].To)))
		last := uint64(0)
		for _, name := range refs[i].To {
			b = appendDelta(b, index[name], last)
			last = index[name]
		}
	}
	return b, nil
}

// readRefs reads what appendRefs wrote.
func readRefs(c *bytecur.Cursor) []prof.Refs {
	table := readTable(c)
	n := c.Count("names that refer to others", MaxFuncs, 2)
	if n == 0 {
		return nil
	}
	refs := make([]prof.Refs, 0, n)
	for range n {
		r := prof.Refs{From: lookup(c, table, c.Uvarint())}
		last := uint64(0)
		for range c.Count("references", MaxFuncs, 1) {
			last = readDelta(c, last)
			r.To = append(r.To, lookup(c, table, last))
		}
		if c.Err() != nil {
			return nil
		}
		refs = append(refs, r)
	}
	return refs
}
