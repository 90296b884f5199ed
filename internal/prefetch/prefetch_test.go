package prefetch_test

import (
	"testing"

	"github.com/cairnprof/cairn/internal/prefetch"
)

// TestBytes checks that bytes stay, and that none is a fault, also none at all.
func TestBytes(t *testing.T) {
	t.Parallel()
	b := make([]byte, 1000)
	for i := range b {
		b[i] = byte(i)
	}
	for lo := range 130 {
		for _, hi := range []int{lo, lo + 1, lo + prefetch.Line, len(b)} {
			prefetch.Bytes(b[lo:hi])
		}
	}
	prefetch.Bytes(nil)
	for i := range b {
		if b[i] != byte(i) {
			t.Fatalf("byte %d is %d", i, b[i])
		}
	}
}
