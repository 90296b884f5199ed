package perfdata

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"
)

// maxUnpacked bounds the unpacked size of one compressed record. perf packs the buffer of a processor, by
// default 512 kB.
const maxUnpacked = 64 << 20

// unpacker unpacks the payloads of compressed records. They are parts of one stream and contain whole blocks:
// so each payload can be unpacked before the next is available.
type unpacker struct {
	next func() ([]byte, error, bool)
	stop func()
	feed feed
}

// feed is what the decoder reads. When it has read all, it waits for more.
type feed struct {
	data  []byte
	yield func([]byte, error) bool
	out   []byte // what the decoder made since it waited last
}

func (f *feed) Read(b []byte) (int, error) {
	for len(f.data) == 0 {
		if !f.yield(f.out, nil) {
			return 0, io.EOF
		}
		f.out = f.out[:0]
	}
	n := copy(b, f.data)
	f.data = f.data[n:]
	return n, nil
}

func newUnpacker() *unpacker {
	u := new(unpacker)
	u.next, u.stop = iter.Pull2(func(yield func([]byte, error) bool) {
		u.feed.yield = yield
		if err := u.decode(); err != nil {
			yield(nil, err)
		}
	})
	u.next() // to where the decoder wants data
	return u
}

// decode runs until there is an error, or nothing to read any more.
func (u *unpacker) decode() error {
	const window = 128 << 20 // of the strongest level
	z, err := zstd.NewReader(&u.feed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return err
	}
	defer z.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := z.Read(buffer)
		u.feed.out = append(u.feed.out, buffer[:n]...)
		switch {
		case err != nil:
			return err
		case len(u.feed.out) > maxUnpacked:
			return fmt.Errorf("a record decompresses to more than %d MB", maxUnpacked>>20)
		}
	}
}

// unpack returns the unpacked payload, valid until the next call.
func (u *unpacker) unpack(payload []byte) ([]byte, error) {
	u.feed.data = payload
	out, err, ok := u.next()
	if !ok {
		return nil, errors.New("unexpected end of the compressed data")
	}
	return out, err
}
