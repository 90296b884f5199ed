package toolchain

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/prof"
)

// gcc -O2 replaces a function by another one with the same code, before anything is instrumented. The one that it keeps
// would have the records of both, and the other none. Modes that tell what ran keep them apart, and so do builds by
// a profile of such a mode: in them, a function that is kept although it never ran would be moved away with the
// calls of the other.

// apartFile exists if functions with the same code are to be kept apart, and the compiler has an option for it.
const apartFile = "apart"

// tellsApart reports whether a mode keeps functions with the same code apart. The others leave the code as it is shipped.
func tellsApart(m prof.Mode) bool { return !m.Timed() && m != prof.ModeOrder }

// recordedApart reports whether a profile has functions of a mode that keeps those with the same code apart.
func recordedApart(p *prof.Profile) bool {
	return hasFunc(p, func(f *prof.Func) bool { return tellsApart(f.Mode) })
}

// writeApart records in a directory of the cache whether functions with the same code are to be kept apart, and
// the compiler has an option for it.
func (o *ShimOptions) writeApart(ctx context.Context, dir string, c Compiler) error {
	wanted := tellsApart(o.Mode)
	if o.Use != nil {
		wanted = o.Use.Apart
	}
	if c.Family != driver.GCC || !wanted {
		return nil
	}
	args := append(slices.Clone(o.Target), driver.KeepApart, "-S", "-o", "-", "-x", "c", "-")
	cmd := exec.CommandContext(ctx, c.Path, args...)
	cmd.Stdin = strings.NewReader("")
	var messages strings.Builder
	cmd.Stderr = &messages
	if cmd.Run() != nil || messages.Len() > 0 {
		return nil // another compiler by the name of gcc
	}
	return os.WriteFile(filepath.Join(dir, apartFile), nil, 0o644)
}

// keepsApart reports whether a command that writes a compiler's assembly is to keep functions with the same code apart. One
// for which there is no toolchain gets no option.
func (f *InstrumentFlags) keepsApart(ctx context.Context, c Compiler, cmd *driver.Command) bool {
	if c.Family != driver.GCC || !tellsApart(f.Shim.Mode) {
		return false
	}
	tc, err := prepare(ctx, c, f.Shim, cmd.Target)
	return err == nil && tc.Apart
}
