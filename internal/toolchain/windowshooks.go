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
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/runtime/nativert"
	"github.com/cairnprof/cairn/internal/verb"
)

// WindowsHooks compiles the hooks for Windows into files in dir, by a C compiler of mingw-w64. Nothing is replaced there before
// all are made.
func WindowsHooks(ctx context.Context, compiler, dir string) error {
	c, err := windowsCompiler(ctx, compiler)
	if err != nil {
		return err
	}
	return makeWindows(ctx, c, dir, nativert.HooksCOFF(), nativert.HookFilesCOFF)
}

// windowsCompiler returns a C compiler of mingw-w64.
func windowsCompiler(ctx context.Context, compiler string) (c Compiler, err error) {
	path, err := exec.LookPath(compiler)
	if err != nil {
		return c, fmt.Errorf("no C compiler %s for Windows on PATH: install gcc-mingw-w64-x86-64, or name another", compiler)
	}
	if c, err = FindCompiler(path); err != nil {
		return c, err
	}
	if target := c.target(ctx, nil); !strings.HasPrefix(target, "x86_64-") || !strings.Contains(target, "mingw") && !strings.Contains(target, "windows-gnu") {
		return c, fmt.Errorf("%s compiles for %s, not for x86-64 Windows by mingw-w64", compiler, cmp.Or(target, "an unknown machine"))
	}
	return c, nil
}

// makeWindows makes files by commands of a compiler, and puts them into dir.
func makeWindows(ctx context.Context, c Compiler, dir string, commands [][]string, files []string) error {
	tmp, err := os.MkdirTemp(dir, ".hooks-*")
	if err != nil {
		return err
	}
	defer verb.RemoveAll(tmp)
	return withSources(tmp, func(src sources) error {
		if err := src.write(); err != nil {
			return err
		}
		for _, args := range commands {
			cmd := exec.CommandContext(ctx, c.Path, args...)
			cmd.Dir = src.dir
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("compiling hooks: %s: %w: %s", c.Path, err, bytes.TrimSpace(out))
			}
		}
		var problems []error
		for _, name := range files {
			problems = append(problems, os.Rename(filepath.Join(src.dir, name), filepath.Join(dir, name)))
		}
		return errors.Join(problems...)
	})
}

// WindowsDetours returns the directory with nativert.DetourFilesCOFF: hooks beside this program, as in the archive for Windows, or
// one in the cache, which is made on first use.
func WindowsDetours(ctx context.Context) (string, error) {
	if self, err := os.Executable(); err == nil {
		dir := filepath.Join(filepath.Dir(self), "hooks")
		if !slices.ContainsFunc(nativert.DetourFilesCOFF, func(name string) bool { return !Exists(filepath.Join(dir, name)) }) {
			return dir, nil
		}
	}
	c, err := windowsCompiler(ctx, "x86_64-w64-mingw32-gcc")
	if err != nil {
		return "", err
	}
	return Cached("detours-", "the hooks for Windows", c, ShimOptions{}, func(tmp, _ string) error {
		return makeWindows(ctx, c, tmp, nativert.DetoursCOFF(), nativert.DetourFilesCOFF)
	})
}
