package objfile

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/internal/bytecur"
)

// abbrevKey is what the sizes of the attributes of an abbreviation depend on.
type abbrevKey struct {
	at uint64
	unitInfo
}

// abbrevTable is the abbreviations of a unit by their code.
type abbrevTable struct {
	dense []abbrev           // codes 1, 2, ...
	other map[uint64]*abbrev // those that do not go on so
}

// abbrev is what entries of one code look like.
type abbrev struct {
	specs  []attrSpec
	fixed  int  // bytes of all attributes, -1 if that is not fixed
	places bool // it is of functions that are somewhere
}

// attrSpec is an attribute and how it is written. implicit is the value of one
// that is in the abbreviation.
type attrSpec struct {
	attr, form uint64
	implicit   int64
}

// abbrevTable reads the abbreviations at an offset, as far as they make sense.
func (r *declReader) abbrevTable(at uint64, u unitInfo) *abbrevTable {
	key := abbrevKey{at, u}
	if t := r.abbrevs[key]; t != nil {
		return t
	}
	t := &abbrevTable{other: map[uint64]*abbrev{}}
	r.abbrevs[key] = t
	if at >= uint64(len(r.abbrev)) {
		return t
	}
	// Units of damaged files may point at every byte of one long table.
	for c := bytecur.New(r.abbrev[at:], int64(at)); r.steps < maxAbbrevSteps; {
		code := c.Uvarint()
		if code == 0 {
			break
		}
		a := abbrev{}
		tag := c.Uvarint()
		c.U8() // whether it has children
		for r.steps++; ; r.steps++ {
			s := attrSpec{attr: c.Uvarint(), form: c.Uvarint()}
			if s.form == formImplicitConst {
				s.implicit = c.Sleb()
			}
			if s.attr == 0 && s.form == 0 {
				break
			}
			a.specs = append(a.specs, s)
		}
		if c.Err() != nil {
			break
		}
		for _, s := range a.specs {
			n := formSize(s.form, u)
			if n < 0 || a.fixed < 0 {
				a.fixed = -1
			} else {
				a.fixed += n
			}
			a.places = a.places || tag == tagSubprogram && (s.attr == attrLowPC || s.attr == attrRanges)
		}
		if code == uint64(len(t.dense))+1 {
			t.dense = append(t.dense, a)
		} else {
			t.other[code] = &a
		}
	}
	return t
}

// abbrevAt returns the abbreviation of the entry at an offset and where its
// attributes begin; nil if there is none.
func (u *declUnit) abbrevAt(info []byte, at uint64) (*abbrev, uint64) {
	code, next := readUleb(info, at, u.end)
	switch {
	case next > u.end || code == 0:
		return nil, next
	case code <= uint64(len(u.abbrevs.dense)):
		return &u.abbrevs.dense[code-1], next
	}
	return u.abbrevs.other[code], next
}

// skip returns where the attributes at an offset end; behind the unit's end if
// they make no sense.
func (a *abbrev) skip(info []byte, at uint64, u *declUnit) uint64 {
	if a.fixed >= 0 {
		return at + uint64(a.fixed)
	}
	for _, s := range a.specs {
		if at = skipForm(info, at, u.end, s.form, u.unitInfo); at > u.end {
			break
		}
	}
	return at
}

// readUleb reads an unsigned LEB128 number and returns where it ends, behind end
// if it does not.
func readUleb(data []byte, at, end uint64) (v, next uint64) {
	for shift := uint(0); at < end; shift += 7 {
		b := data[at]
		at++
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return v, at
		}
	}
	return 0, end + 1
}

// formSize returns the bytes that a value takes, -1 if they differ.
func formSize(form uint64, u unitInfo) int {
	word := 4
	if u.is64 {
		word = 8
	}
	switch form {
	case formFlagPresent, formImplicitConst:
		return 0
	case formData1, formRef1, formFlag, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formRefSup4, formStrx4, formAddrx4:
		return 4
	case formData8, formRef8, formRefSup8, formRefSig8:
		return 8
	case formData16:
		return 16
	case formAddr:
		return u.addrSize
	case formStrp, formLineStr, formSecOff, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return word
	case formRefAddr:
		if u.version <= 2 {
			return u.addrSize
		}
		return word
	}
	return -1
}

// skipForm returns where the value at an offset ends; behind end if it does not,
// or if its form is not known.
func skipForm(info []byte, at, end, form uint64, u unitInfo) uint64 {
	if at > end {
		return end + 1
	}
	for range 4 { // forms that are in the entry, one in another
		if form != formIndirect {
			break
		}
		form, at = readUleb(info, at, end)
	}
	if n := formSize(form, u); n >= 0 {
		return at + uint64(n)
	}
	n := uint64(0)
	switch form {
	case formSdata, formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex:
		_, at = readUleb(info, at, end)
	case formString:
		for at < end && info[at] != 0 {
			at++
		}
		at++
	case formBlock, formExprloc:
		n, at = readUleb(info, at, end)
	case formBlock1, formBlock2, formBlock4:
		size := map[uint64]uint64{formBlock1: 1, formBlock2: 2, formBlock4: 4}[form]
		if end-min(at, end) < size {
			return end + 1
		}
		n, at = little(info[at:at+size]), at+size
	default:
		return end + 1
	}
	if at > end || n > end-at {
		return end + 1
	}
	return at + n
}

// little reads a little-endian number of up to eight bytes.
func little(b []byte) (v uint64) {
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// at returns the n bytes at an offset, nil if they are not all there.
func bytesAt(data []byte, offset, n uint64) []byte {
	if offset > uint64(len(data)) || n > uint64(len(data))-offset {
		return nil
	}
	return data[offset : offset+n]
}

// raw returns a value as it is written; a text in place is 0.
func (r *declReader) raw(u *declUnit, v declValue) (form, value uint64) {
	form, at := v.form, v.at
	if form == formIndirect {
		form, at = readUleb(r.info, at, u.end)
	}
	if n := formSize(form, u.unitInfo); n >= 0 && n <= 8 {
		return form, little(bytesAt(r.info, at, uint64(n)))
	}
	if form != formString && form != formSdata && at <= u.end {
		value, _ = readUleb(r.info, at, u.end)
	}
	return form, value
}

// number returns the value of an attribute that is a number.
func (r *declReader) number(u *declUnit, v declValue, s attrSpec) uint64 {
	if s.form == formImplicitConst {
		return uint64(s.implicit)
	}
	_, n := r.raw(u, v)
	return n
}

// text returns the value of an attribute that is a text, "" if there is none.
func (r *declReader) text(u *declUnit, v declValue) string {
	if v.form == 0 {
		return ""
	}
	return r.bounded(string(r.bytes(u, v)))
}

// bytes returns a text where it is, nil if it is nowhere.
func (r *declReader) bytes(u *declUnit, v declValue) []byte {
	form, n := r.raw(u, v)
	c := bytecur.New(nil, 0)
	switch form {
	case formString:
		return stringAt(c, r.info[:u.end], v.at)
	case formStrp:
		return stringAt(c, r.lines.str, n)
	case formLineStr:
		return stringAt(c, r.lines.lineStr, n)
	case formStrx, formStrx1, formStrx2, formStrx3, formStrx4:
		size := u.offsetSize()
		if n > uint64(len(r.strOffsets)) {
			return nil
		}
		b := bytesAt(r.strOffsets, u.strBase+n*size, size)
		if b == nil {
			return nil
		}
		return stringAt(c, r.lines.str, little(b))
	}
	return nil
}

func (u *unitInfo) offsetSize() uint64 {
	if u.is64 {
		return 8
	}
	return 4
}

// address returns the value of an attribute that is an address.
func (r *declReader) address(u *declUnit, v declValue) (uint64, bool) {
	if v.form == 0 {
		return 0, false
	}
	switch form, n := r.raw(u, v); form {
	case formAddr:
		return n, true
	case formAddrx, formAddrx1, formAddrx2, formAddrx3, formAddrx4:
		return r.indexedAddress(u, n)
	}
	return 0, false
}

func (r *declReader) indexedAddress(u *declUnit, n uint64) (uint64, bool) {
	if n > uint64(len(r.addr)) {
		return 0, false
	}
	b := bytesAt(r.addr, u.addrBase+n*uint64(u.addrSize), uint64(u.addrSize))
	return little(b), b != nil
}

// firstRange returns where the first range of a function begins, which is the
// one with its entry.
func (r *declReader) firstRange(u *declUnit, v declValue) (uint64, bool) {
	if v.form == 0 {
		return 0, false
	}
	form, at := r.raw(u, v)
	size := uint64(u.addrSize)
	if u.version < 5 {
		base := u.lowPC
		for range 4 { // changes of base, one after the other
			b := bytesAt(r.ranges, at, 2*size)
			if b == nil {
				return 0, false
			}
			lo, hi := little(b[:size]), little(b[size:])
			if lo != 1<<(8*size)-1 {
				return base + lo, lo != hi
			}
			base, at = hi, at+2*size
		}
		return 0, false
	}
	if form == formRnglistx {
		if at > uint64(len(r.rnglists)) {
			return 0, false
		}
		b := bytesAt(r.rnglists, u.rangesBase+at*u.offsetSize(), u.offsetSize())
		if b == nil {
			return 0, false
		}
		at = u.rangesBase + little(b)
	}
	return r.firstRange5(u, at)
}

// firstRange5 reads the list of ranges at an offset of .debug_rnglists (DWARF 5,
// 7.25).
func (r *declReader) firstRange5(u *declUnit, at uint64) (uint64, bool) {
	if at >= uint64(len(r.rnglists)) {
		return 0, false
	}
	base := u.lowPC
	c := bytecur.New(r.rnglists[at:], int64(at))
	for range 4 { // changes of base, one after the other
		switch kind := c.U8(); kind {
		case 1: // an index of the base
			base, _ = r.indexedAddress(u, c.Uvarint())
		case 2, 3: // an index of the start
			addr, ok := r.indexedAddress(u, c.Uvarint())
			return addr, ok && c.Err() == nil
		case 4: // offsets from the base
			return base + c.Uvarint(), c.Err() == nil
		case 5:
			base = fixed(c, u.addrSize)
		case 6, 7:
			return fixed(c, u.addrSize), c.Err() == nil
		default:
			return 0, false
		}
	}
	return 0, false
}

// follow returns the entry that an attribute refers to, and its unit.
func (r *declReader) follow(u *declUnit, v declValue) (*declUnit, *declEntry, bool) {
	form, at := r.raw(u, v)
	switch form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata:
		at += u.start
	case formRefAddr:
	default:
		return nil, nil, false // of a type, or in another file
	}
	i, found := slices.BinarySearchFunc(r.units, at, func(u declUnit, at uint64) int { return cmp.Compare(u.start, at) })
	if !found {
		i--
	}
	if i < 0 || at < r.units[i].first || at >= r.units[i].end {
		return nil, nil, false
	}
	to := &r.units[i]
	a, next := to.abbrevAt(r.info, at)
	if a == nil {
		return nil, nil, false
	}
	e, ok := r.entry(to, a, next)
	return to, &e, ok
}
