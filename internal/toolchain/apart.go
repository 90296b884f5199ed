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
//
// In the same way it makes one block of several with the same code, and one test of two operands. Modes that tell which
// blocks ran keep these apart; a build by their profile does, too, so that it has the same blocks. Modes for layouts and
// for frequencies of blocks record the code that is shipped.

// apartFile has the options, a line each, that keep what has the same code apart and that the compiler knows. It is there
// if there are any.
const apartFile = "apart"

// apartOptions returns the options for functions of a mode that keep what has the same code apart. Modes that do not tell
// what ran leave the code as it is shipped.
func apartOptions(m prof.Mode) []string {
	if m.Timed() || m == prof.ModeOrder {
		return nil
	}
	return driver.ApartOptions(m == prof.ModeBlock || m == prof.ModeFull)
}

// recordedApart returns the options by which the functions of a profile were kept apart.
func recordedApart(p *prof.Profile) (options []string) {
	hasFunc(p, func(f *prof.Func) bool {
		if more := apartOptions(f.Mode); len(more) > len(options) {
			options = more
		}
		return false
	})
	return options
}

// writeApart records in a directory of the cache by which options the compiler is to keep apart what has the same code.
func (o *ShimOptions) writeApart(ctx context.Context, dir string, c Compiler) error {
	wanted := apartOptions(o.Mode)
	if o.Use != nil {
		wanted = o.Use.Apart
	}
	if c.Family != driver.GCC {
		return nil
	}
	var known []string
	for _, option := range wanted {
		args := append(slices.Clone(o.Target), option, "-S", "-o", "-", "-x", "c", "-")
		cmd := exec.CommandContext(ctx, c.Path, args...)
		cmd.Stdin = strings.NewReader("")
		var messages strings.Builder
		cmd.Stderr = &messages
		if cmd.Run() == nil && messages.Len() == 0 { // an old gcc, or another compiler by its name
			known = append(known, option)
		}
	}
	if len(known) == 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, apartFile), []byte(strings.Join(known, "\n")), 0o644)
}

// readApart returns the options that a directory of the cache has.
func readApart(dir string) []string {
	text, err := os.ReadFile(filepath.Join(dir, apartFile))
	if err != nil {
		return nil
	}
	return strings.Split(string(text), "\n")
}

// apart returns the options by which a command that writes a compiler's assembly is to keep apart what has the same code. One
// for which there is no toolchain gets none.
func (f *InstrumentFlags) apart(ctx context.Context, c Compiler, cmd *driver.Command) []string {
	if c.Family != driver.GCC || len(apartOptions(f.Shim.Mode)) == 0 {
		return nil
	}
	tc, err := prepare(ctx, c, f.Shim, cmd.Target)
	if err != nil {
		return nil
	}
	return tc.Apart
}
