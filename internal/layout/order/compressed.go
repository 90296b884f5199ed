package order

import (
	"encoding/binary"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// pack appends the remaining functions with code by similarity, if that compresses better than
// by address.
func (b *builder) pack() error {
	similar := bySimilarity(b.in, b.placed)
	byAddress := slices.DeleteFunc(ByAddress(b.in), func(f uint32) bool { return b.placed[f] || len(b.in.Funcs[f].Content) == 0 })
	var err error
	if b.result.Similar, err = compressedSize(b.in, slices.Concat(b.result.Order, similar)); err != nil {
		return err
	}
	if b.result.ByAddress, err = compressedSize(b.in, slices.Concat(b.result.Order, byAddress)); err != nil {
		return err
	}
	if b.result.Similar < b.result.ByAddress {
		b.result.Packed = b.add(similar)
	}
	return nil
}

// compressedSize estimates the compressed size of functions in an order, and of the unwind
// tables. Of .eh_frame and its index it compresses the fields that depend on the order; their
// size is estimated by the number of bytes that differ from the previous entry.
func compressedSize(in *Input, order []uint32) (int, error) {
	const (
		alignment = 16
		entrySize = 48 // of .eh_frame, the mean of large programs
	)
	at := make([]uint32, len(in.Funcs))
	var code []byte
	for _, f := range order {
		code = append(code, make([]byte, -len(code)&(alignment-1))...)
		at[f] = uint32(len(code))
		code = append(code, in.Funcs[f].Content...)
	}
	entry := make([]uint32, len(in.Funcs))
	var entries, index []byte
	next := uint32(0)
	for _, f := range ByAddress(in) { // as in the objects
		if len(in.Funcs[f].Content) > 0 {
			entry[f] = next
			next += entrySize
			entries = binary.LittleEndian.AppendUint32(entries, at[f]-entry[f])
		}
	}
	for _, f := range order {
		index = binary.LittleEndian.AppendUint32(index, at[f])
		index = binary.LittleEndian.AppendUint32(index, entry[f])
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(8<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return 0, err
	}
	return len(w.EncodeAll(code, nil)) + changes(entries, 4) + changes(index, 8), w.Close()
}

// changes counts the bytes of records that differ from the previous record.
func changes(records []byte, size int) int {
	n := min(size, len(records))
	for i := size; i < len(records); i++ {
		if records[i] != records[i-size] {
			n++
		}
	}
	return n
}
