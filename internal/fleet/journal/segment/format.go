package segment

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"strings"
)

// Magic begins a segment.
const Magic = "CAIRNSEG"

const (
	version    = 1
	headerSize = 24
	recordHead = 8
	suffix     = ".seg"

	// MaxRecord is the maximum of bytes of a record.
	MaxRecord = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // processors have an instruction for it

// fileName returns the name of the segment whose first record has this number.
func fileName(first uint64) string { return fmt.Sprintf("%020d%s", first, suffix) }

// firstOf returns the number in the name of a segment.
func firstOf(name string) (first uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != 20 {
		return 0, false
	}
	first, err := strconv.ParseUint(digits, 10, 64)
	return first, err == nil && first > 0
}

// header returns the first bytes of a segment.
func header(first uint64) []byte {
	h := append(make([]byte, 0, headerSize), Magic...)
	h = binary.LittleEndian.AppendUint32(h, version)
	h = binary.LittleEndian.AppendUint64(h, first)
	return binary.LittleEndian.AppendUint32(h, crc32.Checksum(h, castagnoli))
}

// appendRecord appends a record to b as a segment has it.
func appendRecord(b []byte, seq uint64, data []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = binary.LittleEndian.AppendUint32(b, recordSum(seq, data))
	return append(b, data...)
}

// recordSum is the checksum of a record: of its number, length and data.
func recordSum(seq uint64, data []byte) uint32 {
	var h [12]byte
	binary.LittleEndian.PutUint64(h[:], seq)
	binary.LittleEndian.PutUint32(h[8:], uint32(len(data)))
	return crc32.Update(crc32.Checksum(h[:], castagnoli), castagnoli, data)
}

// checkHeader checks the first bytes of a segment.
func checkHeader(f *os.File, first uint64) error {
	var h [headerSize]byte
	if _, err := f.ReadAt(h[:], 0); err != nil && err != io.EOF {
		return err
	}
	if string(h[:]) != string(header(first)) {
		return fmt.Errorf("%s: not a segment of version %d that begins with record %d", f.Name(), version, first)
	}
	return nil
}

// errTorn reports a record that is incomplete or damaged.
var errTorn = fmt.Errorf("a record is cut off or damaged")

// readRecord reads the record at off in the first size bytes of a file. At their end it returns io.EOF, and for
// an incomplete record errTorn.
func readRecord(f *os.File, off, size int64, seq uint64) ([]byte, error) {
	if off == size {
		return nil, io.EOF
	}
	var h [recordHead]byte
	if size-off < recordHead {
		return nil, errTorn
	}
	if _, err := f.ReadAt(h[:], off); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(h[:]))
	if n > MaxRecord || n > size-off-recordHead {
		return nil, errTorn
	}
	data := make([]byte, n)
	if _, err := f.ReadAt(data, off+recordHead); err != nil {
		return nil, err
	}
	if recordSum(seq, data) != binary.LittleEndian.Uint32(h[4:]) {
		return nil, errTorn
	}
	return data, nil
}
