// Package marklog writes the log of package mark, in the format of format/tracelog/wire. It is linked into
// users' programs, so it is small and has few dependencies.
//
// Every record is written at once, with pwrite, so a killed process loses none. Methods are not safe for use by
// several goroutines at the same time.
package marklog

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// modeSpike is prof.ModeSpike.
const modeSpike = 7

// Log is a log being written. After an error it writes no more.
type Log struct {
	f   *os.File
	err error
	// Monotonic is CLOCK_MONOTONIC when the log began, in ns; Began is the same
	// moment. Times of records are of that clock.
	Monotonic uint64
	Began     time.Time

	chunks   int64 // begun
	at       int64 // end of what the current chunk has, in the file
	base     int64 // of the current chunk, 0: none
	first    uint64
	last     uint64
	sequence uint32
	seen     int64 // base of the chunk of seen records
	frames   int64 // base of that of frames
	threads  map[uint32]string
	trailer  Trailer
}

var le = binary.LittleEndian

// Create begins a log in dir, named after the program.
func Create(dir string) (*Log, error) {
	m := program()
	id := hex.EncodeToString(m.id)
	if len(id) > 12 {
		id = id[:12]
	}
	if id == "" {
		id = "0"
	}
	l := &Log{threads: map[uint32]string{}, Began: time.Now(), Monotonic: monotonic()}
	base := filepath.Join(dir, fmt.Sprintf("%s.%s.%d.", filepath.Base(m.path), id, os.Getpid()))
	f, err := createWith(l.header(), base)
	if err != nil {
		return nil, err
	}
	l.f = f
	l.begin(l.Monotonic)
	l.record(wire.TypeTrailer, 0, make([]byte, wire.TrailerSize-wire.RecordHeaderSize), l.Monotonic)
	l.module(m)
	return l, l.err
}

// header returns the header of the file.
func (l *Log) header() []byte {
	h := make([]byte, wire.HeaderSize)
	copy(h, wire.Magic)
	le.PutUint16(h[wire.VersionOffset:], wire.Version)
	le.PutUint16(h[wire.SizeOffset:], wire.HeaderSize)
	le.PutUint32(h[wire.PIDOffset:], uint32(os.Getpid()))
	le.PutUint64(h[wire.RealtimeOffset:], uint64(l.Began.UnixNano()))
	le.PutUint64(h[wire.MonotonicOffset:], l.Monotonic)
	le.PutUint32(h[wire.ModeOffset:], modeSpike)
	le.PutUint32(h[wire.ChecksumOffset:], fnv(h[:wire.ChecksumOffset]))
	return h
}

// createWith makes a file with a header, whose path is base, the first free number and the suffix of logs. It gets
// that name after the header is written, so that no reader finds one without it, however the process ends.
func createWith(header []byte, base string) (*os.File, error) {
	tmp, err := createFirst(base, ".tmp")
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(header)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return nil, err
	}
	for n := 0; ; n++ {
		path := fmt.Sprint(base, n, wire.Suffix)
		if err = os.Link(tmp.Name(), path); err == nil {
			return os.OpenFile(path, os.O_RDWR, 0)
		}
		if !errors.Is(err, fs.ErrExist) || n >= maxNames {
			break
		}
	}
	// The file system has no links: the name is reserved first.
	f, err := createFirst(base, wire.Suffix)
	if err != nil {
		return nil, err
	}
	if err = errors.Join(f.Close(), os.Rename(tmp.Name(), f.Name())); err != nil {
		return nil, err
	}
	return os.OpenFile(f.Name(), os.O_RDWR, 0)
}

// maxNames is how many files are looked for a free name.
const maxNames = 1000

// createFirst makes a file, with the first free number between base and suffix.
func createFirst(base, suffix string) (*os.File, error) {
	for n := 0; ; n++ {
		f, err := os.OpenFile(fmt.Sprint(base, n, suffix), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) || n >= maxNames {
			return f, err
		}
	}
}

// Err returns the first error.
func (l *Log) Err() error { return l.err }

// Name returns the path of the log.
func (l *Log) Name() string { return l.f.Name() }

func fnv(b []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}

func (l *Log) write(b []byte, at int64) {
	if l.err == nil {
		_, l.err = l.f.WriteAt(b, at)
	}
}

// chunkHeader returns the header of a chunk; used is 0 while it is live.
func chunkHeader(kind uint16, sequence, used uint32, first, last uint64) []byte {
	h := make([]byte, wire.ChunkHeaderSize)
	le.PutUint32(h, wire.ChunkMagic)
	le.PutUint16(h[wire.ChunkKindOffset:], kind)
	le.PutUint32(h[wire.ChunkPIDOffset:], uint32(os.Getpid()))
	le.PutUint32(h[wire.ChunkSequenceOffset:], sequence)
	le.PutUint32(h[wire.ChunkUsedOffset:], used)
	le.PutUint64(h[wire.ChunkFirstOffset:], first)
	le.PutUint64(h[wire.ChunkLastOffset:], last)
	if used > 0 {
		le.PutUint32(h[wire.ChunkChecksumOffset:], fnv(h[:wire.ChunkChecksumOffset]))
	}
	return h
}

// begin ends the current chunk and begins the next. It extends the file by the whole chunk; unused parts are
// holes.
func (l *Log) begin(at uint64) {
	if l.base != 0 {
		used := uint32(l.at - l.base - wire.ChunkHeaderSize)
		l.write(chunkHeader(wire.KindRecords, l.sequence-1, used, l.first, l.last), l.base)
	}
	l.base = l.chunk(wire.KindRecords, at)
	l.at = l.base + wire.ChunkHeaderSize
	l.first = at
}

// chunk adds a live chunk to the file and returns its offset.
func (l *Log) chunk(kind uint16, at uint64) int64 {
	l.chunks++
	base := l.chunks * wire.ChunkSize
	if l.err == nil {
		l.err = l.f.Truncate(base + wire.ChunkSize)
	}
	l.write(chunkHeader(kind, l.sequence, 0, at, at), base)
	l.sequence++
	return base
}

// record writes a record of a type with the fields after its header.
func (l *Log) record(kind uint16, a uint32, fields []byte, at uint64) {
	size := wire.RecordHeaderSize + len(fields)
	pad := -size & 7
	if l.at+int64(size+pad) > l.base+wire.ChunkSize {
		l.begin(at)
	}
	b := make([]byte, wire.RecordHeaderSize, size+pad)
	le.PutUint16(b, kind)
	le.PutUint16(b[2:], uint16(size+pad))
	le.PutUint32(b[4:], a)
	b = append(append(b, fields...), make([]byte, pad)...)
	l.write(b, l.at)
	l.at += int64(len(b))
	l.last = at
}
