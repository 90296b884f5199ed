//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/samples/tailguests"
)

// crossBuilds are machines and compilers that real programs are built for and by.
var crossBuilds = []struct {
	processor emulator
	compiler  string
	flags     []string
}{
	{aarch64, "aarch64-linux-gnu-gcc", []string{"-O2"}},
	{armv7, "arm-linux-gnueabihf-gcc", []string{"-O2"}},
}

// TestCrossLZO runs the test program of lzo2, which compresses, decompresses and compares, and
// holds calls, blocks and orders against the emulator's log of the same run.
func TestCrossLZO(t *testing.T) {
	t.Parallel()
	takesLong(t)
	_, _, sources := fetchGuest(t, &tailguests.Guest{Name: "lzo2", Debian: "lzo2"})
	files := slices.Concat(mustGlob(t, filepath.Join(sources, "src", "*.c")), []string{filepath.Join(sources, "lzotest", "lzotest.c")})
	data := filepath.Join(sources, "examples", "overlap.c")
	for _, b := range crossBuilds {
		t.Run(b.compiler+strings.Join(b.flags, ""), func(t *testing.T) {
			t.Parallel()
			args := slices.Concat(b.flags, []string{"-w", "-I" + sources, "-I" + filepath.Join(sources, "include"), "-I" + filepath.Join(sources, "src")}, files)
			program := build(t, "full", b.compiler, args...)
			_, ran, seen, m := b.processor.emulated(t, program, "-m1", "-n1", "-q", data)
			checkCalls(t, m, ran)
			checkCovered(t, m, ran)
			checkOrder(t, m, seen)
		})
	}
}
