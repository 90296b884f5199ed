package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/internal/runtime/nativert"
)

// hookLibraryName is the library that is preloaded into programs to hook them.
const hookLibraryName = "libcairn-spike.so"

// attachLibraryName is the library that is put into running programs to hook them.
const attachLibraryName = "libcairn-attach.so"

// HookLibrary returns the path of the library that is preloaded, which it builds on first
// use.
func HookLibrary(ctx context.Context) (string, error) {
	return hookLibrary{"hooks-", hookLibraryName, nativert.TimedFlags(nativert.X86_64), nativert.LibraryObjects(), nativert.LibraryLinkFlags}.find(ctx)
}

// AttachLibrary is HookLibrary for the library that is put into running programs.
func AttachLibrary(ctx context.Context) (string, error) {
	return hookLibrary{"attach-", attachLibraryName, nativert.AttachFlags, nativert.AttachObjects(), nativert.AttachLinkFlags}.find(ctx)
}

// hookLibrary is how a library is made.
type hookLibrary struct {
	prefix, name string // of the directory in the cache, and of the file in it
	flags        []string
	objects      []nativert.Object
	link         []string // flags
}

// find returns the path of the library in the cache, where it is built if it is not there.
func (l hookLibrary) find(ctx context.Context) (string, error) {
	for _, name := range []string{"cc", "gcc", "clang"} {
		path, err := RealTool(name)
		if err != nil {
			continue
		}
		c, err := FindCompiler(path)
		if err != nil {
			return "", err
		}
		dir, err := Cached(l.prefix, "the hook library", c, ShimOptions{}, func(tmp, _ string) error {
			return withSources(tmp, func(src sources) error {
				return l.build(ctx, tmp, src, c)
			})
		})
		if err != nil {
			return "", err
		}
		return filepath.Join(dir, l.name), nil
	}
	return "", errors.New("no C compiler (cc, gcc, clang) on PATH to build the hook library")
}

// build compiles the library in the directory of src, and links it into dir.
func (l hookLibrary) build(ctx context.Context, dir string, src sources, c Compiler) error {
	if err := compileObjects(ctx, src, c, l.flags, l.objects...); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, c.Path, slices.Concat([]string{"-o", filepath.Join(dir, l.name)}, names(l.objects), l.link)...)
	cmd.Dir = src.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("linking %s: %w: %s", l.name, err, bytes.TrimSpace(out))
	}
	return nil
}
