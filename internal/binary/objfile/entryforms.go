package objfile

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/internal/bytecur"
)

// abbrevKey has the properties of a unit that determine the sizes of attributes of an
// abbreviation.
type abbrevKey struct {
	at uint64
	unitInfo
}

// abbrevTable has the abbreviations of a unit by their code.
type abbrevTable struct {
	dense []abbrev           // codes 1, 2, ...
	other map[uint64]*abbrev // codes that do not continue the sequence
}

// abbrev is the format of entries with one code.
type abbrev struct {
	tag      uint64
	children bool
	specs    []attrSpec
	fixed    int  // total size of all attributes, -1 if it varies
	places   bool // they include the address of something
	inlines  bool // they include whether a function was inlined
}

// attrSpec is an attribute and its form. implicit is the value if it is stored in the
// abbreviation.
type attrSpec struct {
	attr, form uint64
	implicit   int64
}

// abbrevTable reads the valid abbreviations at an offset.
func (r *entryReader) abbrevTable(at uint64, u unitInfo) *abbrevTable {
	key := abbrevKey{at, u}
	if t := r.abbrevs[key]; t != nil {
		return t
	}
	t := &abbrevTable{other: map[uint64]*abbrev{}}
	r.abbrevs[key] = t
	if at >= uint64(len(r.abbrev)) {
		return t
	}
	// Units of damaged files may refer to every byte of one long table.
	for c := bytecur.New(r.abbrev[at:], int64(at)); r.steps < maxAbbrevSteps; {
		code := c.Uvarint()
		if code == 0 {
			break
		}
		a := abbrev{tag: c.Uvarint(), children: c.U8() != 0}
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
			a.inlines = a.inlines || s.attr == attrInline
			a.places = a.places || s.attr == attrLowPC || s.attr == attrRanges
		}
		if code == uint64(len(t.dense))+1 {
			t.dense = append(t.dense, a)
		} else {
			t.other[code] = &a
		}
	}
	return t
}

// abbrevAt returns the abbreviation of the entry at an offset and the offset of its
// attributes; nil if there is none.
func (u *entryUnit) abbrevAt(info []byte, at uint64) (*abbrev, uint64) {
	code, next := readUleb(info, at, u.end)
	switch {
	case next > u.end || code == 0:
		return nil, next
	case code <= uint64(len(u.abbrevs.dense)):
		return &u.abbrevs.dense[code-1], next
	}
	return u.abbrevs.other[code], next
}

// skip returns the end of the attributes at an offset; if they are invalid, an offset after
// the unit's end.
func (a *abbrev) skip(info []byte, at uint64, u *entryUnit) uint64 {
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

// readUleb reads an unsigned LEB128 number and returns the offset after it; an offset after
// end if the number is not complete.
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

// formSize returns the size of a value in bytes, -1 if it varies.
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

// skipForm returns the end of the value at an offset; an offset after end if it is not
// complete, or its form is not known.
func skipForm(info []byte, at, end, form uint64, u unitInfo) uint64 {
	if at > end {
		return end + 1
	}
	for range 4 { // forms may be stored in the entry, nested
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

// little decodes a little-endian number of up to eight bytes.
func little(b []byte) (v uint64) {
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// bytesAt returns n bytes at an offset, or nil if they are not all there.
func bytesAt(data []byte, offset, n uint64) []byte {
	if offset > uint64(len(data)) || n > uint64(len(data))-offset {
		return nil
	}
	return data[offset : offset+n]
}

// raw returns a value as it is stored; for an inline text it returns 0.
func (r *entryReader) raw(u *entryUnit, v attrValue) (form, value uint64) {
	form, at := v.form, v.at
	if form == formImplicitConst {
		return form, uint64(v.implicit)
	}
	if form == formIndirect {
		form, at = readUleb(r.info, at, u.end)
	}
	if n := formSize(form, u.unitInfo); n >= 0 && n <= 8 {
		return form, little(bytesAt(r.info, at, uint64(n)))
	}
	if form == formSdata && at <= u.end {
		return form, uint64(bytecur.New(r.info[at:u.end], int64(at)).Sleb())
	}
	if form != formString && at <= u.end {
		value, _ = readUleb(r.info, at, u.end)
	}
	return form, value
}

// number returns the value of an attribute that is a number.
func (r *entryReader) number(u *entryUnit, v attrValue) uint64 {
	_, n := r.raw(u, v)
	return n
}

// text returns the value of an attribute that is a text, "" if there is none.
func (r *entryReader) text(u *entryUnit, v attrValue) string {
	if v.form == 0 {
		return ""
	}
	return r.bounded(string(r.bytes(u, v)))
}

// bytes returns a text without copying it, or nil if there is none.
func (r *entryReader) bytes(u *entryUnit, v attrValue) []byte {
	form, n := r.raw(u, v)
	c := bytecur.New(nil, 0)
	switch form {
	case formString:
		return stringAt(c, r.info[:u.end], v.at)
	case formStrp:
		return stringAt(c, r.str, n)
	case formLineStr:
		return stringAt(c, r.lineStr, n)
	case formGNUStrIndex, formStrx, formStrx1, formStrx2, formStrx3, formStrx4:
		size := u.offsetSize()
		if n > uint64(len(r.strOffsets)) {
			return nil
		}
		b := bytesAt(r.strOffsets, u.strBase+n*size, size)
		if b == nil {
			return nil
		}
		return stringAt(c, r.str, little(b))
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
func (r *entryReader) address(u *entryUnit, v attrValue) (uint64, bool) {
	if v.form == 0 {
		return 0, false
	}
	switch form, n := r.raw(u, v); form {
	case formAddr:
		return n, true
	case formGNUAddrIndex, formAddrx, formAddrx1, formAddrx2, formAddrx3, formAddrx4:
		return r.indexedAddress(u, n)
	}
	return 0, false
}

func (r *entryReader) indexedAddress(u *entryUnit, n uint64) (uint64, bool) {
	if n > uint64(len(r.addr)) {
		return 0, false
	}
	b := bytesAt(r.addr, u.addrBase+n*uint64(u.addrSize), uint64(u.addrSize))
	return little(b), b != nil
}

// follow returns the entry that an attribute refers to, and its unit.
func (r *entryReader) follow(u *entryUnit, v attrValue) (*entryUnit, *funcEntry, bool) {
	at, ok := r.reference(u, v)
	if !ok {
		return nil, nil, false
	}
	return r.entryAt(at)
}

// reference returns the offset of the entry that an attribute refers to.
func (r *entryReader) reference(u *entryUnit, v attrValue) (at uint64, ok bool) {
	form, at := r.raw(u, v)
	switch form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata:
		return u.start + at, true
	case formRefAddr:
		return at, true
	}
	return 0, false // of a type, or in another file
}

// entryAt returns the entry at an offset, and its unit.
func (r *entryReader) entryAt(at uint64) (*entryUnit, *funcEntry, bool) {
	i, found := slices.BinarySearchFunc(r.units, at, func(u entryUnit, at uint64) int { return cmp.Compare(u.start, at) })
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
