package logfile

import (
	"compress/gzip"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Suffix returns the suffix of a path that says how what is written there is
// compressed, ".gz", ".zst" or "".
func Suffix(path string) string {
	for _, s := range []string{".gz", ".zst"} {
		if strings.HasSuffix(strings.ToLower(path), s) {
			return path[len(path)-len(s):]
		}
	}
	return ""
}

// Compress returns a writer that compresses to w as the suffix of path says. The
// same content gives the same bytes. Close ends the compressed stream, and leaves
// w open.
func Compress(w io.Writer, path string) (io.WriteCloser, error) {
	switch strings.ToLower(Suffix(path)) {
	case ".gz":
		return gzip.NewWriter(w), nil
	case ".zst":
		// One goroutine: a trace is made about as fast as that packs it.
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	}
	return asIs{w}, nil
}

type asIs struct{ io.Writer }

func (asIs) Close() error { return nil }
