package bytecur

import "encoding/binary"

// Numbers reads the variable-length numbers of an index. After a number that is missing,
// or greater than its limit, Bad is set, and all further numbers are 0.
type Numbers struct {
	Data []byte // the rest
	Bad  bool
}

// Any reads a number without a limit.
func (r *Numbers) Any() uint64 { return r.Number(1<<64 - 1) }

// Bool reads 0 or 1.
func (r *Numbers) Bool() bool { return r.Number(1) == 1 }

// Count reads the number of elements of which each has a byte at least.
func (r *Numbers) Count() int { return int(r.Number(uint64(len(r.Data)))) }

// Number reads a number up to a limit.
func (r *Numbers) Number(most uint64) uint64 {
	v, n := binary.Uvarint(r.Data)
	if n <= 0 || v > most {
		r.fail()
		return 0
	}
	r.Data = r.Data[n:]
	return v
}

// Signed reads a signed number.
func (r *Numbers) Signed() int64 {
	v, n := binary.Varint(r.Data)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.Data = r.Data[n:]
	return v
}

// Bytes returns the next n bytes, which are not copied.
func (r *Numbers) Bytes(n uint64) []byte {
	if n > uint64(len(r.Data)) {
		r.fail()
		return nil
	}
	b := r.Data[:n]
	r.Data = r.Data[n:]
	return b
}

func (r *Numbers) fail() { r.Bad, r.Data = true, nil }
