package toolchain

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/instrument/nativert"
)

// noCOFFLTO is why gcc -flto for Windows is refused: the compilers that its linker starts do not run our stand-in for the
// assembler.
const noCOFFLTO = "gcc -flto is not supported for Windows: build with -fno-lto"

// noCOFFWrapper is why a command with a -wrapper of its own is refused: the last of a command is used, so that ours would
// not see the assembler.
const noCOFFWrapper = "cairn needs the option -wrapper of this gcc, which has the path of its assembler built in: build without your own"

// coffRefusal returns why a command for Windows gets no probes, or "".
func coffRefusal(cmd *driver.Command, tc driver.Toolchain) string {
	switch {
	case cmd.LTO && !cmd.Bitcode:
		return noCOFFLTO
	case len(cmd.Sources)+len(cmd.Codes) > 0 && cmd.Wrapped() && readAround(filepath.Dir(tc.Bin)):
		return noCOFFWrapper
	}
	return ""
}

// coffLacks returns a requested feature that programs for Windows cannot have, or "".
func (o *ShimOptions) coffLacks() string {
	switch {
	case o.Mode.Timed():
		return fmt.Sprintf("mode %s is not supported for Windows: its runtime needs ELF and Linux; modes cover, block, count, full, order and block+order are", o.Mode)
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
	flags := slices.Concat([]string{"-Os"}, opts.Target, nativert.COFFFlags(), nativert.ObjectArgs(opts.DefaultDir, opts.Slots))
	cmd := exec.CommandContext(ctx, c.forC().Path, append(flags, "-x", "c", "-c", "-o", filepath.Join(tmp, coffObject), nativert.COFFSource)...)
	cmd.Dir = src.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling %s: %w: %s", nativert.COFFSource, err, bytes.TrimSpace(out))
	}
	script, err := os.ReadFile(filepath.Join(src.dir, nativert.COFFScript))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(tmp, nativert.COFFScript), script, 0o644)
}
