package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/cairnprof/cairn/internal/instrument/nativert"
)

// hookLibraryName is the library that is preloaded into programs to hook them.
const hookLibraryName = "libcairn-spike.so"

// attachLibraryName is the library that is put into running programs to hook them.
const attachLibraryName = "libcairn-attach.so"

// HookLibrary returns the path of the library that is preloaded, which it builds on first
// use.
func HookLibrary(ctx context.Context) (string, error) {
	return libraryOf(ctx, "hooks-", hookLibraryName, nativert.TimedFlags(nativert.X86_64), nativert.LibraryObjects(), nativert.LibraryLinkFlags)
}

// AttachLibrary is HookLibrary for the library that is put into running programs.
func AttachLibrary(ctx context.Context) (string, error) {
	return libraryOf(ctx, "attach-", attachLibraryName, nativert.AttachFlags, nativert.AttachObjects(), nativert.AttachLinkFlags)
}

func libraryOf(ctx context.Context, prefix, library string, flags []string, objects []nativert.Object, link []string) (string, error) {
	for _, name := range []string{"cc", "gcc", "clang"} {
		path, err := RealTool(name)
		if err != nil {
			continue
		}
		c, err := FindCompiler(path)
		if err != nil {
			return "", err
		}
		dir, err := Cached(prefix, "the hook library", c, ShimOptions{}, func(tmp, _ string) error {
			return withSources(tmp, func(src sources) error {
				return buildLibrary(ctx, filepath.Join(tmp, library), src, c, flags, objects, link)
			})
		})
		if err != nil {
			return "", err
		}
		return filepath.Join(dir, library), nil
	}
	return "", errors.New("no C compiler (cc, gcc, clang) on PATH to build the hook library")
}

// buildLibrary compiles and links a library, in the directory of src.
func buildLibrary(ctx context.Context, library string, src sources, c Compiler, flags []string, objects []nativert.Object, linkFlags []string) error {
	if err := compileObjects(ctx, src, c, flags, objects...); err != nil {
		return err
	}
	link := append([]string{"-o", library}, names(objects)...)
	cmd := exec.CommandContext(ctx, c.Path, append(link, linkFlags...)...)
	cmd.Dir = src.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("linking %s: %w: %s", filepath.Base(library), err, bytes.TrimSpace(out))
	}
	return nil
}
