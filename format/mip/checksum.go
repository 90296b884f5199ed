package mip

import (
	"encoding/binary"
	"sync"

	"github.com/cairnprof/cairn/format/mip/wire"
)

// The checksum of a raw file is FNV-1a with 32 bits: three lines of code in a runtime that calls no functions.
// Each byte waits for the multiplication of the one before, about four cycles, so a simple loop would dominate
// merging. Two shortcuts give the same sum:
//
// Flags. A step is h = (h ^ b) * p. If b is 0 or 1, h ^ b is h + b or h - b, depending only on the lowest bit
// of h. As p is odd, that bit is the parity of all flags so far and of the start. So eight flags move h to
// h*p^8 + t, where t depends on the lowest bit of h and on the eight flags: a table of 512 numbers.
//
// Zeros, most of what is not a flag, are flags too.
const (
	fnvOffset = 2166136261
	fnvPrime  = 16777619

	flagMask = 0x0101010101010101
	// flagGather moves the lowest bits of eight bytes into the highest byte.
	flagGather = 0x0102040810204080
)

var (
	fnvPrime8 = pow8(fnvPrime)
	fnvFlags  = sync.OnceValue(flagTable)
)

func pow8(p uint32) uint32 {
	p *= p
	p *= p
	return p * p
}

// flagTable returns what eight flags add to the sum: at index low<<8|flags.
func flagTable() *[512]uint32 {
	var t [512]uint32
	for low := range uint32(2) {
		for bits := range 256 {
			var flags [8]byte
			for i := range flags {
				flags[i] = byte(bits >> i & 1)
			}
			w := binary.LittleEndian.Uint64(flags[:])
			t[low<<8|uint32(w*flagGather>>56)] = fnv(low, flags[:]) - low*fnvPrime8
		}
	}
	return &t
}

// checksum returns the FNV-1a sum of a raw file, with zeros where it has its own.
func checksum(file []byte) uint32 {
	h := addSum(fnvOffset, file[:wire.RawChecksumOffset])
	h = fnv(h, make([]byte, wire.RawPIDOffset-wire.RawChecksumOffset))
	return addSum(h, file[wire.RawPIDOffset:])
}

// addSum continues the FNV-1a sum h with data.
func addSum(h uint32, data []byte) uint32 {
	sums := fnvFlags()
	for len(data) >= 8 {
		w := binary.LittleEndian.Uint64(data)
		if w&^flagMask == 0 {
			h = h*fnvPrime8 + sums[h&1<<8|uint32(w*flagGather>>56)]
		} else {
			h = fnv(h, data[:8])
		}
		data = data[8:]
	}
	return fnv(h, data)
}

func fnv(h uint32, data []byte) uint32 {
	for _, b := range data {
		h = (h ^ uint32(b)) * fnvPrime
	}
	return h
}
