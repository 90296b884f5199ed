package bundle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/cairnprof/cairn/internal/bytecur"
)

const (
	// Magic begins a bundle.
	Magic = "CAIRNBDL"
	// MaxName is the maximum of bytes of a name.
	MaxName = 255

	version    = 1
	headerSize = 12
	headSize   = 16 // of a file
	sumOffset  = 4
	sizeOffset = 8

	kindEnd  = 0
	kindFile = 1

	step = 64 << 10 // initial size of a file's buffer, as the declared size is not trusted
)

var (
	// ErrMagic is in the error of a reader whose input is another kind of file.
	ErrMagic = errors.New("bad magic")
	// ErrNewer is in the error of a reader that is older than its input.
	ErrNewer = errors.New("it requires a newer version of cairn")
	// ErrLimit is in the error of a reader whose limits a bundle exceeds.
	ErrLimit = errors.New("limit exceeded")
)

// File is a file in a bundle.
type File struct {
	Name string // base name, or empty
	Data []byte
}

// Limits bound what a reader accepts.
type Limits struct {
	Files int   // number of files
	File  int64 // bytes of a file
	Total int64 // bytes of all files
}

// Detect reports whether a file that starts with head is a bundle.
func Detect(head []byte) bool { return bytes.HasPrefix(head, []byte(Magic)) }

// CheckName returns an error unless name can be the name of a file in its directory.
func CheckName(name string) error {
	if name == "." || name == ".." || len(name) > MaxName || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%.60q cannot be the name of a file in a bundle", name)
	}
	return nil
}

// Writer writes a bundle.
type Writer struct {
	w     io.Writer
	files uint64
	began bool
}

// NewWriter returns a writer to w. Close ends the bundle.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Add writes a file.
func (w *Writer) Add(f File) error {
	if err := CheckName(f.Name); err != nil {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	w.files++
	head := makeHead(kindFile, f.Name, uint64(len(f.Data)), f.Data)
	if _, err := w.w.Write(append(head, f.Name...)); err != nil {
		return err
	}
	_, err := w.w.Write(f.Data)
	return err
}

// Close writes the end of the bundle. It does not close the underlying writer.
func (w *Writer) Close() error {
	if err := w.begin(); err != nil {
		return err
	}
	_, err := w.w.Write(makeHead(kindEnd, "", w.files, nil))
	return err
}

func (w *Writer) begin() error {
	if w.began {
		return nil
	}
	w.began = true
	h := binary.LittleEndian.AppendUint16([]byte(Magic), version)
	_, err := w.w.Write(binary.LittleEndian.AppendUint16(h, 0))
	return err
}

// makeHead returns the head of a file, or the end.
func makeHead(kind byte, name string, size uint64, data []byte) []byte {
	h := make([]byte, headSize, headSize+len(name))
	h[0], h[1] = kind, byte(len(name))
	binary.LittleEndian.PutUint64(h[sizeOffset:], size)
	binary.LittleEndian.PutUint32(h[sumOffset:], sum(h, name, data))
	return h
}

// sum returns the checksum of a file whose head has zeros in its place.
func sum(head []byte, name string, data []byte) uint32 {
	s := crc32.ChecksumIEEE(head)
	s = crc32.Update(s, crc32.IEEETable, []byte(name))
	return crc32.Update(s, crc32.IEEETable, data)
}

// Append appends a bundle of files to b.
func Append(b []byte, files []File) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	w := NewWriter(buf)
	for _, f := range files {
		if err := w.Add(f); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return buf.Bytes(), err
}

// Reader reads a bundle.
type Reader struct {
	r      io.Reader
	limits Limits
	off    int64
	files  int
	total  int64
	err    error
}

// NewReader returns a reader of the bundle in r.
func NewReader(r io.Reader, limits Limits) *Reader { return &Reader{r: r, limits: limits} }

// Next returns the next file, whose data belongs to the caller. After the last it returns io.EOF; any other
// error is returned again, and makes all earlier files of the bundle untrustworthy unless they are checked
// otherwise.
func (r *Reader) Next() (File, error) {
	if r.err != nil {
		return File{}, r.err
	}
	f, err := r.next()
	if err != nil {
		r.err = err
	}
	return f, err
}

// damaged is an error at an offset of the bundle.
func damaged(off int64, format string, args ...any) error {
	return fmt.Errorf("damaged bundle: %w", &bytecur.Error{Off: off, What: fmt.Sprintf(format, args...)})
}

func (r *Reader) next() (File, error) {
	if r.off == 0 {
		if err := r.readHeader(); err != nil {
			return File{}, err
		}
	}
	at := r.off
	var head [headSize]byte
	if err := r.fill(head[:]); err != nil {
		return File{}, err
	}
	want := binary.LittleEndian.Uint32(head[sumOffset:])
	clear(head[sumOffset:sizeOffset])
	size := binary.LittleEndian.Uint64(head[sizeOffset:])
	switch {
	case head[0] == kindEnd:
		return File{}, r.end(at, head[:], want, size)
	case head[0] != kindFile:
		return File{}, damaged(at, "a file of kind %d", head[0])
	case head[2] != 0 || head[3] != 0:
		return File{}, damaged(at+2, "reserved bytes are %#x, not 0", head[2:4])
	case r.files >= r.limits.Files:
		return File{}, fmt.Errorf("bundle: %w: more than %d files", ErrLimit, r.limits.Files)
	case size > uint64(r.limits.File):
		return File{}, fmt.Errorf("bundle: %w: a file of %d bytes, at most %d are allowed", ErrLimit, size, r.limits.File)
	case size > uint64(r.limits.Total-r.total):
		return File{}, fmt.Errorf("bundle: %w: files of more than %d bytes together", ErrLimit, r.limits.Total)
	}
	r.files++
	r.total += int64(size)
	name := make([]byte, head[1])
	if err := r.fill(name); err != nil {
		return File{}, err
	}
	data, err := r.data(size)
	if err != nil {
		return File{}, err
	}
	f := File{Name: string(name), Data: data}
	if got := sum(head[:], f.Name, data); got != want {
		return File{}, damaged(at, "checksum %#08x, but the head of the file has %#08x", got, want)
	}
	if err := CheckName(f.Name); err != nil {
		return File{}, damaged(at+headSize, "%v", err)
	}
	return f, nil
}

// end checks the end of the bundle, and that nothing follows it.
func (r *Reader) end(at int64, head []byte, want uint32, files uint64) error {
	if got := sum(head, "", nil); got != want || head[1] != 0 || head[2] != 0 || head[3] != 0 {
		return damaged(at, "the end is not one: checksum %#08x, but it has %#08x", got, want)
	}
	if files != uint64(r.files) {
		return damaged(at, "%d files, but the end says %d", r.files, files)
	}
	var more [1]byte
	switch _, err := io.ReadFull(r.r, more[:]); err {
	case nil:
		return damaged(r.off, "data after the end")
	default:
		return err // io.EOF
	}
}

func (r *Reader) readHeader() error {
	var h [headerSize]byte
	n, err := io.ReadFull(r.r, h[:])
	r.off += int64(n)
	if !bytes.HasPrefix(h[:], []byte(Magic)) {
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		return fmt.Errorf("not a bundle: %w", ErrMagic)
	}
	if err := r.truncated(err); err != nil {
		return err
	}
	if v := binary.LittleEndian.Uint16(h[len(Magic):]); v != version {
		return fmt.Errorf("bundle of version %d: %w", v, ErrNewer)
	}
	if h[10] != 0 || h[11] != 0 {
		return damaged(10, "reserved bytes are %#x, not 0", h[10:])
	}
	return nil
}

// truncated returns the error for the end of the input in the middle of a bundle.
func (r *Reader) truncated(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return damaged(r.off, "truncated")
	}
	return err
}

func (r *Reader) fill(b []byte) error {
	n, err := io.ReadFull(r.r, b)
	r.off += int64(n)
	return r.truncated(err)
}

// data reads size bytes. The buffer is at most twice as large as the data read.
func (r *Reader) data(size uint64) ([]byte, error) {
	data := make([]byte, 0, min(size, step))
	for uint64(len(data)) < size {
		if len(data) == cap(data) {
			grown := make([]byte, len(data), min(size, 2*uint64(cap(data))))
			copy(grown, data)
			data = grown
		}
		n := len(data)
		data = data[:cap(data)]
		if err := r.fill(data[n:]); err != nil {
			return nil, err
		}
	}
	return data, nil
}
