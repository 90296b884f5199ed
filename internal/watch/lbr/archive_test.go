package lbr

import (
	"testing"

	"github.com/cairnprof/cairn/internal/golden"
	"github.com/cairnprof/cairn/internal/packed"
)

// TestArchive checks that the program has the sources of the directory. -update writes the archive.
func TestArchive(t *testing.T) {
	t.Parallel()
	golden.Archive(t, "sources.zst", packed.Unpack(archive), "c")
}
