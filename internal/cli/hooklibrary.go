package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/cairnprof/cairn/internal/nativert"
)

// hookLibraryName is the file that is preloaded into programs to hook them.
const hookLibraryName = "libcairn-spike.so"

// hookLibrary returns the path of the library, which it builds on first use.
func hookLibrary(ctx context.Context) (string, error) {
	for _, name := range []string{"cc", "gcc", "clang"} {
		path, err := realTool(name)
		if err != nil {
			continue
		}
		c, err := findCompiler(path)
		if err != nil {
			return "", err
		}
		dir, err := cached("hooks-", "the library for hooks", c, shimOptions{}, "", func(tmp, _ string) error {
			return buildHookLibrary(ctx, tmp, c)
		})
		if err != nil {
			return "", err
		}
		return filepath.Join(dir, hookLibraryName), nil
	}
	return "", errors.New("no C compiler (cc, gcc, clang) on PATH to build the library for hooks with")
}

// buildHookLibrary compiles and links the library in tmp.
func buildHookLibrary(ctx context.Context, tmp string, c compiler) error {
	src := filepath.Join(tmp, "src")
	if err := os.Mkdir(src, 0o755); err != nil {
		return err
	}
	for _, f := range nativert.Sources() {
		if err := os.WriteFile(filepath.Join(src, f.Name), f.Data, 0o644); err != nil {
			return err
		}
	}
	link := []string{"-o", filepath.Join(tmp, hookLibraryName)}
	for _, o := range nativert.LibraryObjects() {
		if err := compileObject(ctx, src, c, nativert.TimedFlags, o); err != nil {
			return err
		}
		link = append(link, o.Name)
	}
	cmd := exec.CommandContext(ctx, c.path, append(link, nativert.LibraryLinkFlags...)...)
	cmd.Dir = src
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("linking %s: %w: %s", hookLibraryName, err, bytes.TrimSpace(out))
	}
	return nil
}
