package parquet

import "encoding/binary"

// thrift writes structures in the compact protocol of Apache Thrift:
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
type thrift struct {
	to     []byte
	fields []int // the last field of each structure that is not ended
}

// The kinds of values.
const (
	kindTrue   = 1
	kindFalse  = 2
	kindByte   = 3
	kindInt16  = 4
	kindInt32  = 5
	kindInt64  = 6
	kindBinary = 8
	kindList   = 9
	kindStruct = 12
)

// begin begins a structure that is an element of a list, or the outermost one.
func (t *thrift) begin() { t.fields = append(t.fields, 0) }

// end ends a structure.
func (t *thrift) end() {
	t.to = append(t.to, 0)
	t.fields = t.fields[:len(t.fields)-1]
}

// field writes the header of a field. Fields of a structure are written in the order of their ids, and no id is 16
// or more above the last.
func (t *thrift) field(id int, kind byte) {
	last := &t.fields[len(t.fields)-1]
	t.to = append(t.to, byte(id-*last)<<4|kind)
	*last = id
}

func (t *thrift) number(id int, n int64) {
	t.field(id, kindInt32)
	t.to = binary.AppendVarint(t.to, n)
}

func (t *thrift) long(id int, n int64) {
	t.field(id, kindInt64)
	t.to = binary.AppendVarint(t.to, n)
}

func (t *thrift) short(id int, n int64) {
	t.field(id, kindInt16)
	t.to = binary.AppendVarint(t.to, n)
}

func (t *thrift) small(id int, n byte) {
	t.field(id, kindByte)
	t.to = append(t.to, n)
}

func (t *thrift) truth(id int, b bool) {
	if b {
		t.field(id, kindTrue)
	} else {
		t.field(id, kindFalse)
	}
}

func (t *thrift) text(id int, s string) { t.binary(id, []byte(s)) }

func (t *thrift) binary(id int, s []byte) {
	t.field(id, kindBinary)
	t.bytes(s)
}

// bytes writes an element of a list.
func (t *thrift) bytes(s []byte) {
	t.to = binary.AppendUvarint(t.to, uint64(len(s)))
	t.to = append(t.to, s...)
}

// structure begins a structure that is a field.
func (t *thrift) structure(id int) {
	t.field(id, kindStruct)
	t.begin()
}

// list writes the header of a list; its elements follow.
func (t *thrift) list(id int, kind byte, n int) {
	t.field(id, kindList)
	if n < 15 {
		t.to = append(t.to, byte(n)<<4|kind)
		return
	}
	t.to = append(t.to, 0xf0|kind)
	t.to = binary.AppendUvarint(t.to, uint64(n))
}
