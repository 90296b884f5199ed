package parquet

import (
	"encoding/binary"
	"math/bits"
)

// bitsFor returns how many bits the numbers to n need.
func bitsFor(n uint64) int { return bits.Len64(n) }

// appendPacked appends the low bits of numbers, width of each, from the lowest bit of each byte on. The last byte
// is filled with zeros.
func appendPacked[T int64 | uint64](b []byte, numbers []T, width int) []byte {
	var held uint64
	n := 0 // bits held
	for _, x := range numbers {
		held |= uint64(x) << n
		if n += width; n >= 64 {
			b = binary.LittleEndian.AppendUint64(b, held)
			n -= 64
			held = uint64(x) >> (width - n)
		}
	}
	for ; n > 0; n -= 8 {
		b = append(b, byte(held))
		held >>= 8
	}
	return b
}

// appendHybrid appends numbers in the encoding RLE of the format: runs of eight and more equal ones as one number,
// others packed in groups of eight.
func appendHybrid(b []byte, numbers []int64, width int) []byte {
	packed := 0 // from here on, numbers are still to be packed
	for i := 0; i < len(numbers); {
		run := runOf(numbers[i:])
		if run < 8 && i+8 < len(numbers) {
			i += 8
			continue
		}
		if run < 8 { // the last group
			break
		}
		b = appendGroups(b, numbers[packed:i], width)
		b = binary.AppendUvarint(b, uint64(run)<<1)
		x := uint64(numbers[i])
		for n := width; n > 0; n -= 8 {
			b = append(b, byte(x))
			x >>= 8
		}
		i += run
		packed = i
	}
	return appendGroups(b, numbers[packed:], width)
}

// runOf returns how many numbers at the start are equal. It is at most 7 if there are fewer than 8.
func runOf(numbers []int64) int {
	n := 1
	for n < len(numbers) && numbers[n] == numbers[0] {
		n++
	}
	return n
}

// appendGroups appends numbers packed in groups of eight; the last group is filled with zeros.
func appendGroups(b []byte, numbers []int64, width int) []byte {
	if len(numbers) == 0 {
		return b
	}
	groups := (len(numbers) + 7) / 8
	b = binary.AppendUvarint(b, uint64(groups)<<1|1)
	end := len(b) + groups*width
	b = appendPacked(b, numbers, width)
	for len(b) < end {
		b = append(b, 0)
	}
	return b
}

// appendLevels appends levels of 0 and 1 as data pages of version 1 have them.
func appendLevels(b []byte, levels []int64) []byte {
	at := len(b)
	b = appendHybrid(append(b, 0, 0, 0, 0), levels, 1)
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// Sizes of DELTA_BINARY_PACKED, in values.
const (
	deltaBlock = 128
	deltaMini  = 32
)

// appendDeltas appends numbers in the encoding DELTA_BINARY_PACKED. Differences wrap round as numbers of the column
// do, of 32 bits if narrow.
func appendDeltas(b []byte, numbers []int64, narrow bool) []byte {
	b = binary.AppendUvarint(b, deltaBlock)
	b = binary.AppendUvarint(b, deltaBlock/deltaMini)
	b = binary.AppendUvarint(b, uint64(len(numbers)))
	if len(numbers) == 0 {
		return binary.AppendVarint(b, 0)
	}
	b = binary.AppendVarint(b, numbers[0])
	last := numbers[0]
	var deltas [deltaBlock]int64
	for rest := numbers[1:]; len(rest) > 0; {
		n := min(len(rest), deltaBlock)
		for i, x := range rest[:n] {
			deltas[i] = x - last
			if narrow {
				deltas[i] = int64(int32(deltas[i]))
			}
			last = x
		}
		b = appendDeltaBlock(b, &deltas, n)
		rest = rest[n:]
	}
	return b
}

// appendDeltaBlock appends the first n differences, above the smallest of them.
func appendDeltaBlock(b []byte, deltas *[deltaBlock]int64, n int) []byte {
	low := deltas[0]
	for _, d := range deltas[1:n] {
		low = min(low, d)
	}
	b = binary.AppendVarint(b, low)
	widths := len(b)
	b = append(b, make([]byte, deltaBlock/deltaMini)...)
	var above [deltaMini]uint64
	for from := 0; from < n; from += deltaMini {
		var all uint64
		clear(above[:])
		for i, d := range deltas[from:min(from+deltaMini, n)] {
			above[i] = uint64(d - low)
			all |= above[i]
		}
		width := bitsFor(all)
		b[widths+from/deltaMini] = byte(width)
		b = appendPacked(b, above[:], width)
	}
	return b
}
