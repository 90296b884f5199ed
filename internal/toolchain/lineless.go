package toolchain

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/verb"
)

// keepsLineless reports whether an assembler keeps which code has no line, if it is told as GNU as must be.
func keepsLineless(ctx context.Context, assembler string) (bool, error) {
	dir, err := os.MkdirTemp("", "cairn-as-")
	if err != nil {
		return false, err
	}
	defer verb.RemoveAll(dir)
	object := filepath.Join(dir, "a.o")
	cmd := exec.CommandContext(ctx, assembler, "-o", object)
	cmd.Stdin = bytes.NewReader(probe.LinelessSample())
	if cmd.Run() != nil {
		return false, ctx.Err() // it does not know the directive
	}
	f, err := objfile.Open(object)
	if err != nil {
		return false, nil // of another machine, or format
	}
	defer f.Close()
	lines, size, err := f.ObjectLines()
	if err != nil || size == 0 {
		return false, nil
	}
	_, _, first := lines.Lookup(0)
	_, _, second := lines.Lookup(size / 2)
	return first && !second, nil
}
