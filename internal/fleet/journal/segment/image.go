package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const saltSize = 8

// Image returns records as a segment that is stored as one object: the salt of its checksums, and what a file of the
// journal has. first is the number of the first record.
func Image(first, salt uint64, records [][]byte) []byte {
	s := id{first, salt}
	size := saltSize + headerSize
	for _, data := range records {
		size += recordHead + len(data)
	}
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, size), salt)
	b = append(b, header()...)
	for i, data := range records {
		b = s.appendRecord(b, first+uint64(i), data)
	}
	return b
}

// ReadImage returns the records of an object that Image has made. If it is damaged, ReadImage returns those before the
// damage, and an error with the offset.
func ReadImage(first uint64, image []byte) (records [][]byte, err error) {
	const begin = saltSize + headerSize
	if len(image) < begin || !bytes.Equal(image[saltSize:begin], header()) {
		return nil, errors.New("damaged at offset 0: not a segment of this version")
	}
	s := id{first, binary.LittleEndian.Uint64(image)}
	f, size := bytes.NewReader(image), int64(len(image))
	for off := int64(begin); ; {
		h, data, err := s.readRecord(f, off, size)
		if err == io.EOF {
			return records, nil
		}
		if err == nil && h.seq != first+uint64(len(records)) {
			err = fmt.Errorf("record %d in place of %d", h.seq, first+uint64(len(records)))
		}
		if err != nil {
			return records, fmt.Errorf("damaged at offset %d: %w", off, err)
		}
		records = append(records, data)
		off += recordHead + h.size
	}
}
