package logfile

import (
	"compress/gzip"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Suffix returns the suffix of a path that determines the compression of the output, ".gz", ".zst" or "".
func Suffix(path string) string {
	for _, s := range []string{".gz", ".zst"} {
		if strings.HasSuffix(strings.ToLower(path), s) {
			return path[len(path)-len(s):]
		}
	}
	return ""
}

// Compress returns a writer that compresses to w as the suffix of path requires. The same content gives the
// same bytes. Close ends the compressed stream, and does not close w.
func Compress(w io.Writer, path string) (io.WriteCloser, error) {
	switch strings.ToLower(Suffix(path)) {
	case ".gz":
		return gzip.NewWriter(w), nil
	case ".zst":
		// One goroutine: a trace is produced about as fast as that compresses it.
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	}
	return asIs{w}, nil
}

type asIs struct{ io.Writer }

func (asIs) Close() error { return nil }
