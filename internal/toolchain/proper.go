package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/verb"
)

// The parts of clang that a driver for MSVC's system starts: package driver says why cairn is started in their place.
const (
	properCompiler  = "-cc1"
	properAssembler = "-cc1as"
)

// properFile has the options of the driver, one a line.
const properFile = "msvc"

// parse reads the compiler's arguments.
func (c Compiler) parse(args []string) driver.Command {
	if driver.IsCL(c.Path) {
		cmd := driver.ParseCL(args, ReadResponse, os.Getenv)
		cmd.AddLINK(ReadResponse, os.Getenv)
		return cmd
	}
	cmd := driver.Parse(c.Family, args, ReadResponse)
	cmd.AddLINK(ReadResponse, os.Getenv)
	return cmd
}

// writeProper puts cairn beside the assembler's stand-in under the compiler's name, if the system is MSVC's. The driver finds its
// own headers and its linker by the place that it was started from.
func (o *ShimOptions) writeProper(ctx context.Context, tmp, self string, c Compiler) error {
	if !o.MSVC {
		return nil
	}
	if c.Family != driver.Clang {
		return foreignError("of compilers for MSVC's system, cairn drives clang and clang-cl")
	}
	out, err := exec.CommandContext(ctx, c.Path, append(slices.Clone(o.Target), "-print-resource-dir")...).Output()
	if err != nil {
		return fmt.Errorf("%s -print-resource-dir: %w", c.Path, err)
	}
	options := []string{"-no-canonical-prefixes", "-fno-integrated-cc1", "-resource-dir=" + strings.TrimSpace(string(out)), "-B" + filepath.Dir(c.real)}
	if err := os.WriteFile(filepath.Join(tmp, properFile), []byte(strings.Join(options, "\n")), 0o644); err != nil {
		return err
	}
	standIn := filepath.Join(tmp, "bin", filepath.Base(c.Path))
	if err := verb.StandIn(self, standIn); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, c.Path, slices.Concat(options, o.Target, []string{"-###", "-c", "-x", "c", os.DevNull})...)
	cmd.Args[0] = standIn
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte(strings.ReplaceAll(standIn, `\`, `\\`)+`" "`+properCompiler)) {
		return foreignError(filepath.Base(c.Path) + " does not start its compiler proper by the name that it was started under: use clang 11 or later")
	}
	return nil
}

// readProper returns the options that writeProper wrote, none for other systems.
func readProper(dir string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, properFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Split(string(text), "\n"), err
}

// runProper runs a part of clang in its place. The compiler proper writes assembly in place of an object, which is
// assembled with probes.
func (sh *shim) runProper(ctx context.Context, args []string) error {
	args = expanded(args)
	object, output := slices.Index(args, "-emit-obj"), slices.Index(args, "-o")+1
	switch {
	case len(args) > 0 && args[0] == properAssembler && output > 0 && output < len(args)-1:
		name := args[len(args)-1]
		text, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("as: %w", err)
		}
		if asm.IsCOFF(text) {
			return sh.assembleInput(ctx, []string{"-o", args[output], name})
		}
		list := sh.opts.listByHand
		if asm.HoldsNoCode(text) {
			list = listEmpty
		}
		if err := list(text, name, args[output]); err != nil {
			return err
		}
	case len(args) > 0 && args[0] == properCompiler && object > 0 && output > 0 && output < len(args):
		return sh.compileProper(ctx, args, object, output)
	}
	return become(sh.opts.Clang, append([]string{sh.opts.Clang}, args...))
}

// compileProper compiles to assembly, and assembles that. object and output are the indexes of -emit-obj and of the output's name.
func (sh *shim) compileProper(ctx context.Context, args []string, object, output int) error {
	tmp, err := os.MkdirTemp("", "cairn-compile-")
	if err != nil {
		return fmt.Errorf("cc: %w", err)
	}
	defer verb.Temporary.Add(tmp)()
	defer verb.RemoveAll(tmp)
	made, text := args[output], filepath.Join(tmp, "text.s")
	args = slices.Clone(args)
	args[object], args[output] = "-S", text
	if i := slices.Index(args, "-x86-asm-syntax=intel"); i > 0 { // clang-cl asks for it, whatever is written
		args[i] = "-x86-asm-syntax=att"
	}
	argv, done, err := withinLimit(append([]string{sh.opts.Clang}, args...))
	if err != nil {
		return fmt.Errorf("cc: %w", err)
	}
	defer done()
	cmd := exec.CommandContext(ctx, sh.opts.Clang, argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = sh.streams.In, sh.streams.Out, sh.streams.Err
	if err := ChildError(cmd.Run()); err != nil {
		return err
	}
	return sh.assembleInput(ctx, []string{"-o", made, text})
}
