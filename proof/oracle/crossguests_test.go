//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/proof/tailguests"
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

// crossGuest is a real program with a test program of its own.
type crossGuest struct {
	debian  string
	files   []string // as globs in its sources
	options []string // {sources} is their directory
	args    []string
	data    string // a file of the sources that is the last argument, "" for none
}

// TestCrossLZO runs the test program of lzo2, which compresses, decompresses and compares.
func TestCrossLZO(t *testing.T) {
	t.Parallel()
	skipLong(t)
	(&crossGuest{
		debian: "lzo2", files: []string{"src/*.c", "lzotest/lzotest.c"}, options: []string{"-I{sources}", "-I{sources}/include", "-I{sources}/src"},
		args: []string{"-m1", "-n1", "-q"}, data: "examples/overlap.c",
	}).run(t)
}

// TestCrossZlib runs the two test programs of zlib: of its interface, and of all paths of inflate.
func TestCrossZlib(t *testing.T) {
	t.Parallel()
	skipLong(t)
	for _, name := range []string{"example", "infcover"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &crossGuest{debian: "zlib", files: []string{"*.c", "test/" + name + ".c"}, options: []string{"-I{sources}", "-DHAVE_UNISTD_H"}}
			if name == "example" {
				g.args = []string{filepath.Join(t.TempDir(), "written.gz")}
			}
			g.run(t)
		})
	}
}

// TestCrossYAML runs a test program of libyaml, which reads a file, writes its events, reads them again and compares.
func TestCrossYAML(t *testing.T) {
	t.Parallel()
	skipLong(t)
	(&crossGuest{
		debian: "libyaml", files: []string{"src/*.c", "tests/run-emitter.c"}, data: "examples/global-tag.yaml",
		options: []string{
			"-DYAML_VERSION_MAJOR=0", "-DYAML_VERSION_MINOR=2", "-DYAML_VERSION_PATCH=5", "-DYAML_VERSION_STRING=\"0.2.5\"", "-I{sources}/include",
		},
	}).run(t)
}

// run compares calls, blocks and orders with the emulator's log of the same run, and the answer
// with that of the program without probes.
func (g *crossGuest) run(t *testing.T) {
	_, _, sources := fetchGuest(t, &tailguests.Guest{Name: g.debian, Debian: g.debian})
	args := []string{"-w"}
	for _, option := range g.options {
		args = append(args, strings.ReplaceAll(option, ltoSources, sources))
	}
	for _, glob := range g.files {
		args = append(args, mustGlob(t, filepath.Join(sources, glob))...)
	}
	given := g.args
	if g.data != "" {
		given = append(slices.Clone(given), filepath.Join(sources, g.data))
	}
	for _, b := range crossBuilds {
		t.Run(b.compiler+strings.Join(b.flags, ""), func(t *testing.T) {
			t.Parallel()
			args := append(slices.Clone(b.flags), args...)
			program := build(t, "full", b.compiler, args...)
			answer, ran, seen, m := b.processor.emulated(t, program, given...)
			if g.debian != "lzo2" { // which prints its speed
				checkAnswer(t, answer, output(t, b.processor.run(t, build(t, "", b.compiler, args...), given...)))
			}
			checkCalls(t, m, ran)
			checkCovered(t, m, ran)
			checkOrder(t, m, seen)
		})
	}
}
