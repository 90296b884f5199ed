package toolchain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cairnprof/cairn/internal/runtime/nativert"
	"github.com/cairnprof/cairn/internal/verb"
)

// With --shared-runtime programs map the runtime from a file when they start, or, in the modes that measure time, load it as a
// library. Each program has its path, whose name contains a digest of its contents, so that runtimes of different versions and
// modes coexist and a program never finds a wrong one.

// maxRuntimeDir bounds the directory: the path is in each program.
const maxRuntimeDir = 1024

// checkSharedRuntime validates --shared-runtime and makes it absolute.
func (f *InstrumentFlags) checkSharedRuntime() error {
	dir := f.Shim.Runtime
	if dir == "" {
		return nil
	}
	if f.Shim.Mode.Timed() && !sharesRuntime(&f.Shim) {
		mode := "mode " + f.Shim.Mode.String()
		if f.Shim.Flight {
			mode = "--flight"
		}
		return verb.Usagef("--shared-runtime: not supported for %s, whose runtime is always linked in", mode)
	}
	if strings.ContainsFunc(dir, func(r rune) bool { return r < ' ' || r == 0x7f }) || !utf8.ValidString(dir) {
		return verb.Usagef("--shared-runtime %q: the path must be printable text", dir)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if len(abs) > maxRuntimeDir {
		return verb.Usagef("--shared-runtime: the path has %d bytes, at most %d are allowed", len(abs), maxRuntimeDir)
	}
	f.Shim.Runtime = abs
	return nil
}

// runtimeCopy is the directory of a toolchain that has the file.
const runtimeCopy = "runtime"

// image makes the file of a runtime for programs that map it from a directory, puts a copy into
// tmp, and returns what programs have that map it.
func (b runtimeBuild) image(ctx context.Context, tmp string) ([]nativert.Object, error) {
	src, c, m, opts := b.src, b.compiler, b.machine, &b.opts
	o := nativert.Image(opts.DefaultDir)
	if err := src.write(); err != nil { // the linker's script is one
		return nil, err
	}
	if err := compileObjects(ctx, src, c, append(slices.Clone(opts.Target), nativert.Flags(m)...), o); err != nil {
		return nil, err
	}
	const linked, image = "image", "image.bin"
	for _, argv := range [][]string{
		slices.Concat([]string{c.Path}, opts.Target, []string{"-o", linked, o.Name}, nativert.ImageLinkFlags(m)),
		{c.tool(ctx, opts.Target, "objcopy"), "-O", "binary", "-j", nativert.ImageSection, linked, image},
	} {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir = src.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("linking the shared runtime: %s: %w: %s", argv[0], err, bytes.TrimSpace(out))
		}
	}
	data, err := os.ReadFile(filepath.Join(src.dir, image))
	if err != nil {
		return nil, err
	}
	path, err := b.keepRuntime(tmp, "rt", data)
	return nativert.MappedObjects(m, path, len(data)), err
}

// keepRuntime puts the file of a runtime into tmp, and returns its path in the directory of the programs.
func (b runtimeBuild) keepRuntime(tmp, suffix string, data []byte) (string, error) {
	digest := sha256.Sum256(data)
	name := fmt.Sprintf("cairn-%x.%s", digest[:6], suffix)
	if err := os.Mkdir(filepath.Join(tmp, runtimeCopy), 0o755); err != nil {
		return "", err
	}
	return filepath.Join(b.opts.Runtime, name), os.WriteFile(filepath.Join(tmp, runtimeCopy, name), data, 0o644)
}

// placeRuntime writes the file of a toolchain's runtime to dir, if it is not there.
func placeRuntime(toolchain, dir string) error {
	from := filepath.Join(toolchain, runtimeCopy)
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		path := filepath.Join(dir, e.Name())
		old, err := os.ReadFile(path)
		if err == nil && bytes.Equal(old, data) {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("--shared-runtime: %w", err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("--shared-runtime: %w", err)
		}
		if err := verb.WriteBytes(&verb.Streams{}, path, data); err != nil {
			return fmt.Errorf("--shared-runtime: %w", err)
		}
	}
	return nil
}
