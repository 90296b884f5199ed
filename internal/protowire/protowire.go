// Package protowire reads and writes the wire format of protocol buffers: fields, each a tag and a value.
//
// Source: https://protobuf.dev/programming-guides/encoding. The module google.golang.org/protobuf has the same, but reads the
// program's own file and more whenever a program starts that has it, which a compiler does twice for each source file.
package protowire

import (
	"encoding/binary"
	"math"
)

// Number is the number of a field. Valid ones are at least 1.
type Number int32

// Type is how a value is encoded.
type Type int8

// The types. Groups are obsolete; readers skip them.
const (
	VarintType Type = iota
	Fixed64Type
	BytesType
	StartGroupType
	EndGroupType
	Fixed32Type
)

const (
	typeBits  = 3
	maxGroups = 10000 // in each other
)

// AppendVarint appends a number of variable length.
func AppendVarint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

// AppendTag appends what a field begins with.
func AppendTag(b []byte, field Number, kind Type) []byte {
	return AppendVarint(b, uint64(field)<<typeBits|uint64(kind))
}

// AppendFixed64 appends a value of Fixed64Type.
func AppendFixed64(b []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(b, v) }

// AppendBytes appends a value of BytesType.
func AppendBytes(b, v []byte) []byte { return append(AppendVarint(b, uint64(len(v))), v...) }

// AppendString is AppendBytes of a text.
func AppendString(b []byte, v string) []byte { return append(AppendVarint(b, uint64(len(v))), v...) }

// ConsumeVarint reads a number of variable length. Its size is negative if there is none: b is too short, or it has more than
// 64 bits. The same is true of the functions below.
func ConsumeVarint(b []byte) (v uint64, size int) {
	if v, size = binary.Uvarint(b); size <= 0 {
		return 0, -1
	}
	return v, size
}

// ConsumeTag reads what a field begins with.
func ConsumeTag(b []byte) (field Number, kind Type, size int) {
	v, size := ConsumeVarint(b)
	if size < 0 || v>>typeBits < 1 || v>>typeBits > math.MaxInt32 {
		return 0, 0, -1
	}
	return Number(v >> typeBits), Type(v & (1<<typeBits - 1)), size
}

// ConsumeBytes reads a value of BytesType. It is a part of b.
func ConsumeBytes(b []byte) (v []byte, size int) {
	length, size := ConsumeVarint(b)
	if size < 0 || length > uint64(len(b)-size) {
		return nil, -1
	}
	return b[size:][:length], size + int(length)
}

// ConsumeFieldValue returns the size of the value of a field whose tag was read, of a group with the tag that ends it.
func ConsumeFieldValue(field Number, kind Type, b []byte) (size int) {
	return consumeValue(field, kind, b, maxGroups)
}

func consumeValue(field Number, kind Type, b []byte, groups int) (size int) {
	switch kind {
	case VarintType:
		_, size = ConsumeVarint(b)
		return size
	case BytesType:
		_, size = ConsumeBytes(b)
		return size
	case Fixed32Type:
		return fixed(b, 4)
	case Fixed64Type:
		return fixed(b, 8)
	case StartGroupType:
		return consumeGroup(field, b, groups)
	}
	return -1
}

func fixed(b []byte, size int) int {
	if len(b) < size {
		return -1
	}
	return size
}

func consumeGroup(field Number, b []byte, groups int) (size int) {
	for groups >= 0 {
		of, kind, n := ConsumeTag(b[size:])
		if n < 0 {
			return -1
		}
		size += n
		if kind == EndGroupType {
			if of != field {
				return -1
			}
			return size
		}
		if n = consumeValue(of, kind, b[size:], groups-1); n < 0 {
			return -1
		}
		size += n
	}
	return -1
}
