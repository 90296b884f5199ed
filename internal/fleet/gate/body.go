package gate

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

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

// body reads the body of a request and unpacks it. Until done is called, its bytes count against
// those that all bodies together may have.
func (g *Gate) body(w http.ResponseWriter, r *http.Request) (body []byte, done func(), err error) {
	meter := &meter{g: g, from: newSender(g.grant(r).Name, address(r)), left: g.o.MaxAll}
	done = func() { g.budget.giveBack(meter.from, meter.taken) }
	sent := http.MaxBytesReader(w, r.Body, g.o.MaxBody)
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		meter.r = sent
	case "gzip":
		z, err := gzip.NewReader(sent)
		if err != nil {
			return nil, done, fmt.Errorf("gzip: %w", err)
		}
		meter.r = z
	case "zstd":
		z := decoders.Get().(*zstd.Decoder)
		defer decoders.Put(z)
		if err := z.Reset(sent); err != nil {
			return nil, done, fmt.Errorf("zstd: %w", err)
		}
		meter.r = z
	default:
		return nil, done, fmt.Errorf("%w %.40q: gzip and zstd are known", errEncoding, encoding)
	}
	body, err = io.ReadAll(meter)
	return body, done, err
}

// meter counts what is read against the limits.
type meter struct {
	g     *Gate
	r     io.Reader
	from  sender
	left  int64 // bytes that this body may still have
	taken int64 // bytes taken from the budget of all bodies
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.taken += int64(n)
	m.left -= int64(n)
	if err := m.g.budget.take(m.from, int64(n)); err != nil {
		return n, err
	}
	if m.left < 0 {
		return n, fmt.Errorf("%w: a body of more than %d bytes when unpacked", bundle.ErrLimit, m.g.o.MaxAll)
	}
	return n, err
}
