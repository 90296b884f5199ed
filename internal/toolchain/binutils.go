package toolchain

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/lazyregexp"
)

// binutilsFile, in a directory of the cache, holds the version of binutils for which clang writes assembly. It
// is missing if clang should write what any version accepts.
const binutilsFile = "binutils"

// dottedVersion matches a version of binutils.
var dottedVersion = lazyregexp.New(`[0-9]+\.[0-9]+`)

// writeBinutils records the version for a clang. Without it, clang with an external assembler writes for a
// version of 2014: it omits that a section belongs to another or must be retained by the linker, so objects
// differ from those of its integrated assembler.
func (o *ShimOptions) writeBinutils(ctx context.Context, dir string, c Compiler) error {
	if c.Family != driver.Clang {
		return nil
	}
	version := "none" // clang's integrated assembler is used
	if len(o.AssemblerArgs) == 0 {
		version = gnuVersion(ctx, o.Assembler)
	}
	if version == "" || exec.CommandContext(ctx, c.Path, "-fbinutils-version="+version, "-###", "-c", "-x", "c", os.DevNull).Run() != nil {
		return nil // not GNU as, or a clang before 12
	}
	return os.WriteFile(filepath.Join(dir, binutilsFile), []byte(version), 0o644)
}

// gnuVersion asks a GNU assembler for its version, and returns "" for another.
func gnuVersion(ctx context.Context, assembler string) string {
	out, err := exec.CommandContext(ctx, assembler, "--version").Output()
	line, _, _ := bytes.Cut(out, []byte("\n"))
	if err != nil || !strings.HasPrefix(string(line), "GNU assembler") {
		return ""
	}
	// A distribution may name its own version first, in parentheses.
	if i := bytes.LastIndexByte(line, ')'); i >= 0 {
		line = line[i:]
	}
	return string(dottedVersion().Find(line))
}

// readBinutils returns the version that writeBinutils recorded in a directory of the cache, or "".
func readBinutils(dir string) string {
	version, err := os.ReadFile(filepath.Join(dir, binutilsFile))
	if err != nil {
		return ""
	}
	return string(version)
}
