package toolchain

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/runtime/nativert"
)

// noCOFFLTO is why gcc -flto for Windows is refused: the compilers that its linker starts do not run our stand-in for the
// assembler.
const noCOFFLTO = "gcc -flto is not supported for Windows: build with -fno-lto, or with clang and lld"

// noCOFFWrapper is why a command with a -wrapper of its own is refused: the last of a command is used, so that ours would
// not see the assembler.
const noCOFFWrapper = "cairn needs the option -wrapper of this gcc, which has the path of its assembler built in: build without your own"

// coffRefusal returns why a command for Windows gets no probes, or "".
func coffRefusal(cmd *driver.Command, tc driver.Toolchain) string {
	switch {
	case cmd.LTO && !cmd.Bitcode:
		return noCOFFLTO
	case len(cmd.Sources)+len(cmd.Codes) == 0 || !readAround(filepath.Dir(tc.Bin)):
		return ""
	case cmd.Wrapped():
		return noCOFFWrapper
	case strings.Contains(tc.Bin, ","):
		return fmt.Sprintf("the cache %s has a comma in its path, at which gcc divides its option -wrapper: set CAIRN_CACHE to another directory", tc.Bin)
	}
	return ""
}

// coffLacks returns a requested feature that programs for Windows cannot have, or "".
func (o *ShimOptions) coffLacks() string {
	switch {
	case o.Exact || o.Signals:
		return "--clock exact and --tick signal are not supported for Windows: there a thread keeps the clock of mode spike"
	case o.Runtime != "":
		return "--shared-runtime is not supported for Windows"
	case o.Prove:
		return "--prove supports x86-64 ELF only"
	}
	return ""
}

// buildCOFF compiles the runtime for Windows, which is one object, and puts the linker script beside it.
func buildCOFF(ctx context.Context, tmp string, src sources, c Compiler, opts ShimOptions) error {
	if err := src.write(); err != nil {
		return err
	}
	source, args := nativert.COFFSource(opts.Options)
	flags := slices.Concat([]string{"-Os"}, opts.Target, nativert.COFFFlags(), args)
	cmd := exec.CommandContext(ctx, c.forC().Path, append(flags, "-x", "c", "-c", "-o", filepath.Join(tmp, coffObject), source)...)
	cmd.Dir = src.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling %s: %w: %s", source, err, bytes.TrimSpace(out))
	}
	script, err := os.ReadFile(filepath.Join(src.dir, nativert.COFFScript))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(tmp, nativert.COFFScript), script, 0o644)
}
