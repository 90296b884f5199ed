package gate

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/cairnprof/cairn/format/bundle"
)

var (
	errEncoding = errors.New("unknown content encoding")
	errBusy     = errors.New("too many uploads at once")
)

const maxWindow = 8 << 20 // of a Zstandard stream

// decoders are reused: creating one costs more than decoding most uploads.
var decoders = sync.Pool{New: func() any {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		panic(err) // of options that are constants
	}
	return z
}}

// Bodies take memory only once they have come completely, so that a slow sender holds none. Until then what has come of
// a body is in a file, unless it is small. Then its size when unpacked is determined, by unpacking it to nowhere, and
// it waits for as much memory as it needs.

const (
	smallBody  = 64 << 10 // as sent, kept in memory
	workFactor = 3        // bytes of memory for a byte of a body while it is stored: the body, the record of the journal
	patience   = 30 * time.Second
)

// body reads the body of a request and unpacks it. done gives back what it takes.
func (g *Gate) body(w http.ResponseWriter, r *http.Request) (body []byte, done func(), err error) {
	sent := &spool{g: g, from: newSender(g.grant(r).Name, address(r))}
	defer sent.close()
	done = func() {}
	if err := sent.read(http.MaxBytesReader(w, r.Body, g.o.MaxBody)); err != nil {
		return nil, done, err
	}
	encoding := r.Header.Get("Content-Encoding")
	if encoding == "zstd" {
		in, err := sent.open()
		if err == nil {
			err = checkBlocks(in)
		}
		if err != nil {
			return nil, done, err
		}
	}
	size, err := g.unpack(sent, encoding, io.Discard)
	if err != nil {
		return nil, done, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	need := g.work.clamp(workFactor * (size + smallBody))
	if err := g.work.acquire(ctx, need); err != nil {
		return nil, done, errBusy
	}
	done = func() { g.work.giveBack(need) }
	b := bytes.NewBuffer(make([]byte, 0, size))
	_, err = g.unpack(sent, encoding, b)
	return b.Bytes(), done, err
}

// unpack writes what a body has when it is unpacked, and returns its size.
func (g *Gate) unpack(sent *spool, encoding string, w io.Writer) (int64, error) {
	in, err := sent.open()
	if err != nil {
		return 0, err
	}
	switch encoding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(in)
		if err != nil {
			return 0, fmt.Errorf("gzip: %w", err)
		}
		in = z
	case "zstd":
		z := decoders.Get().(*zstd.Decoder)
		defer decoders.Put(z)
		if err := z.Reset(in); err != nil {
			return 0, fmt.Errorf("zstd: %w", err)
		}
		in = z
	default:
		return 0, fmt.Errorf("%w %.40q: gzip and zstd are known", errEncoding, encoding)
	}
	// A decoder of Zstandard would write directly into w, by its own limits.
	n, err := io.Copy(w, struct{ io.Reader }{io.LimitReader(in, g.o.MaxAll+1)})
	if err == nil && n > g.o.MaxAll {
		err = fmt.Errorf("%w: a body of more than %d bytes when unpacked", bundle.ErrLimit, g.o.MaxAll)
	}
	return n, err
}

// spool holds a body as it was sent.
type spool struct {
	g     *Gate
	from  sender
	taken int64 // bytes taken from the budget of all bodies
	small int64 // bytes that head may have
	head  []byte
	file  *os.File // what is behind head, nil if there is nothing
}

// read reads a body. Of all bodies in progress, a sixteenth of the memory may have the first bytes.
func (s *spool) read(r io.Reader) error {
	r = meter{r, s}
	if s.g.small.Add(smallBody) <= s.g.o.Memory/16 {
		s.small = smallBody
	} else {
		s.g.small.Add(-smallBody)
	}
	head, err := io.ReadAll(io.LimitReader(r, s.small))
	s.head = head
	if err != nil || int64(len(head)) < s.small {
		return err
	}
	if s.file, err = os.CreateTemp(s.g.o.Temp, "body-*"); err != nil {
		return err
	}
	if err := os.Remove(s.file.Name()); err != nil { // its space is free when it is closed
		return err
	}
	_, err = io.Copy(s.file, r)
	return err
}

// open returns a reader of the body from its start.
func (s *spool) open() (io.Reader, error) {
	if s.file == nil {
		return bytes.NewReader(s.head), nil
	}
	_, err := s.file.Seek(0, io.SeekStart)
	return io.MultiReader(bytes.NewReader(s.head), s.file), err
}

func (s *spool) close() {
	s.g.budget.giveBack(s.from, s.taken)
	s.g.small.Add(-s.small)
	if s.file != nil {
		_ = s.file.Close() // it has no name any more
	}
}

// meter counts what is read of a body against the budget.
type meter struct {
	r io.Reader
	s *spool
}

func (m meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.s.taken += int64(n)
	if err := m.s.g.budget.reserve(m.s.from, int64(n)); err != nil {
		return n, err
	}
	return n, err
}
