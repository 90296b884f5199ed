package toolchain

import (
	"context"
	"path/filepath"

	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/verb"
)

// A gcc that was configured with the path of its assembler does not look for one in the directories of -B. It starts a
// program around each of its tools instead, if it is told to (-wrapper).

// writeAround puts such a program beside the assembler's stand-in, if the compiler needs it.
func (o *ShimOptions) writeAround(ctx context.Context, bin, self string, c Compiler) error {
	if c.Family != driver.GCC || sameFile(c.programOf(ctx, append([]string{"-B" + bin + "/"}, o.Target...), "as"), verb.Executable(filepath.Join(bin, "as"))) {
		return nil
	}
	return verb.StandIn(self, filepath.Join(bin, driver.AroundName))
}

// readAround reports whether a directory of the cache has it.
func readAround(dir string) bool {
	return Exists(verb.Executable(filepath.Join(dir, "bin", driver.AroundName)))
}
