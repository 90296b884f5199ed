package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
)

// Magic begins a segment.
const Magic = "CAIRNSEG"

const (
	version    = 2
	headerSize = 16
	recordHead = 24
	suffix     = ".seg"

	mark = "CREC" // begins a record

	// MaxRecord is the maximum of bytes of a record.
	MaxRecord = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // processors have an instruction for it

// id identifies a segment. Its file name has all of it, so that a damaged header is no loss.
type id struct {
	first uint64 // number of the first record
	salt  uint64 // random; a part of all checksums
}

// fileName returns the name of a segment's file.
func (s id) fileName() string { return fmt.Sprintf("%020d-%016x%s", s.first, s.salt, suffix) }

// idOf returns the segment that a file name is of.
func idOf(name string) (s id, ok bool) {
	first, rest, _ := strings.Cut(name, "-")
	salt, isSegment := strings.CutSuffix(rest, suffix)
	if !isSegment || len(first) != 20 || len(salt) != 16 {
		return id{}, false
	}
	var err, err2 error
	s.first, err = strconv.ParseUint(first, 10, 64)
	s.salt, err2 = strconv.ParseUint(salt, 16, 64)
	return s, err == nil && err2 == nil && s.first > 0
}

// isVersion1 reports whether a file is a segment of the first version.
func isVersion1(name string) bool {
	digits, ok := strings.CutSuffix(name, suffix)
	_, err := strconv.ParseUint(digits, 10, 64)
	return ok && len(digits) == 20 && err == nil
}

// header returns the first bytes of a segment.
func header() []byte {
	h := append(make([]byte, 0, headerSize), Magic...)
	h = binary.LittleEndian.AppendUint32(h, version)
	return binary.LittleEndian.AppendUint32(h, 0)
}

// appendRecord appends a record to b as the segment has it.
func (s id) appendRecord(b []byte, seq uint64, data []byte) []byte {
	at := len(b)
	b = append(b, mark...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = binary.LittleEndian.AppendUint64(b, seq)
	b = binary.LittleEndian.AppendUint32(b, s.sum(data))
	b = binary.LittleEndian.AppendUint32(b, s.sum(b[at:]))
	return append(b, data...)
}

// sum returns the checksum of bytes. What a client sends cannot look like a record, since the salt
// is not known to it.
func (s id) sum(data []byte) uint32 {
	var salt [8]byte
	binary.LittleEndian.PutUint64(salt[:], s.salt)
	return crc32.Update(crc32.Checksum(salt[:], castagnoli), castagnoli, data)
}

// head is the head of a record.
type head struct {
	seq  uint64
	size int64 // of the data
	sum  uint32
}

// parseHead returns a head whose checksum is right.
func (s id) parseHead(b []byte) (head, bool) {
	if string(b[:4]) != mark || s.sum(b[:20]) != binary.LittleEndian.Uint32(b[20:]) {
		return head{}, false
	}
	return head{
		seq: binary.LittleEndian.Uint64(b[8:]), size: int64(binary.LittleEndian.Uint32(b[4:])), sum: binary.LittleEndian.Uint32(b[16:]),
	}, true
}

// errDamaged reports that there is no whole record at an offset.
var errDamaged = errors.New("a record is cut off or damaged")

// readRecord reads the record at off in the first size bytes of a segment. At their end it returns io.EOF, and
// errDamaged if there is no whole record.
func (s id) readRecord(f io.ReaderAt, off, size int64) (h head, data []byte, err error) {
	if off == size {
		return head{}, nil, io.EOF
	}
	if size-off < recordHead {
		return head{}, nil, errDamaged
	}
	var b [recordHead]byte
	if _, err := f.ReadAt(b[:], off); err != nil {
		return head{}, nil, err
	}
	h, ok := s.parseHead(b[:])
	if !ok || h.size > MaxRecord || h.size > size-off-recordHead {
		return head{}, nil, errDamaged
	}
	data = make([]byte, h.size)
	if _, err := f.ReadAt(data, off+recordHead); err != nil {
		return head{}, nil, err
	}
	if s.sum(data) != h.sum {
		return head{}, nil, errDamaged
	}
	return h, data, nil
}

// findRecord returns the offset of the first whole record at or after off whose number is least or
// more, and size if there is none.
func (s id) findRecord(f io.ReaderAt, off, size int64, least uint64) (int64, error) {
	buf := make([]byte, 1<<20)
	for off < size {
		n := int(min(int64(len(buf)), size-off))
		if _, err := f.ReadAt(buf[:n], off); err != nil {
			return 0, err
		}
		at := 0
		for {
			i := bytes.Index(buf[at:n], []byte(mark))
			if i < 0 || at+i+recordHead > n {
				break
			}
			at += i
			if h, ok := s.parseHead(buf[at : at+recordHead]); ok && h.seq >= least {
				_, _, err := s.readRecord(f, off+int64(at), size)
				if !errors.Is(err, errDamaged) {
					return off + int64(at), err
				}
			}
			at++
		}
		if off+int64(n) == size {
			break
		}
		off += int64(n) - recordHead + 1 // a head may straddle the end of the buffer
	}
	return size, nil
}
