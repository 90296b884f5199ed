package toolchain

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/cairnprof/cairn/internal/runtime/nativert"
)

// WindowsHooks compiles the hooks for Windows into files in dir, by a C compiler of mingw-w64. Nothing is replaced there before
// all are made.
func WindowsHooks(ctx context.Context, compiler, dir string) error {
	path, err := exec.LookPath(compiler)
	if err != nil {
		return fmt.Errorf("no C compiler %s for Windows on PATH: install gcc-mingw-w64-x86-64, or name another", compiler)
	}
	c, err := FindCompiler(path)
	if err != nil {
		return err
	}
	if target := c.target(ctx, nil); !strings.HasPrefix(target, "x86_64-") || !strings.Contains(target, "mingw") && !strings.Contains(target, "windows-gnu") {
		return fmt.Errorf("%s compiles for %s, not for x86-64 Windows by mingw-w64", compiler, cmp.Or(target, "an unknown machine"))
	}
	tmp, err := os.MkdirTemp(dir, ".hooks-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	return withSources(tmp, func(src sources) error {
		if err := src.write(); err != nil {
			return err
		}
		for _, args := range nativert.HooksCOFF() {
			cmd := exec.CommandContext(ctx, path, args...)
			cmd.Dir = src.dir
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("compiling hooks: %s: %w: %s", compiler, err, bytes.TrimSpace(out))
			}
		}
		var problems []error
		for _, name := range nativert.HookFilesCOFF {
			problems = append(problems, os.Rename(filepath.Join(src.dir, name), filepath.Join(dir, name)))
		}
		return errors.Join(problems...)
	})
}
