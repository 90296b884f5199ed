package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
)

// The ways to catch compilers.
const (
	catchPreload = "preload"
	catchPath    = "path"
)

// defaultCatch is the way that finds more, where there is a choice.
var defaultCatch = map[bool]string{true: catchPath, false: catchPreload}[runtime.GOOS == "windows"]

// compilerVariables are the environment's names for compilers and linkers.
var compilerVariables = []string{"CC", "CXX", "FC", "F77", "CPP", "LD", "HOSTCC", "HOSTCXX", "CC_FOR_BUILD", "OBJC"}

// environment returns additional environment variables for the programs of the build, and a
// function to call at its end.
func (b *build) environment(ctx context.Context, way string) (env []string, end func(), err error) {
	dir, err := toolchain.WrapperDir(b.s, b.opts)
	if err != nil {
		return nil, nil, err
	}
	cache, err := verb.CacheDir()
	if err != nil {
		return nil, nil, err
	}
	logs := b.log
	if outer := os.Getenv(catch.EnvLog); outer != "" {
		logs += "\n" + outer // a build around this one counts as well
	}
	// The cache is named for programs whose environment has lost HOME.
	env = append(toolchain.SelfVariable(), catch.EnvBuild+"="+dir, catch.EnvLog+"="+logs, "CAIRN_CACHE="+cache)
	tmp, err := verb.PrivateDir("cairn-build-")
	if err != nil {
		return nil, nil, err
	}
	undo := verb.Temporary.Add(tmp)
	end = func() {
		verb.RemoveAll(tmp)
		undo()
	}
	// Programs that run in the build are its own tools and tests: their raw files would
	// clutter the source tree.
	if b.opts.Shim.DefaultDir == "." && os.Getenv("CAIRN_DIR") == "" {
		b.raws = filepath.Join(tmp, "raws")
		env = append(env, "CAIRN_DIR="+b.raws)
	}
	if way == catchPreload {
		why := staticCompiler()
		if why == nil {
			var more []string
			if more, why = preloadEnvironment(ctx, tmp); why == nil {
				return append(env, more...), end, nil
			}
		}
		verb.Note(b.s, "build: intercepting compilers through PATH only, not those started by an absolute path: %v", why)
	}
	more, err := b.pathEnvironment(dir)
	if err != nil {
		end()
	}
	return append(env, more...), end, err
}

// preloadEnvironment has the loader load the library that intercepts compilers into each
// program of the build. tmp is a directory that exists during the build.
func preloadEnvironment(ctx context.Context, tmp string) (env []string, err error) {
	library, err := catchLibrary(ctx)
	if err != nil {
		return nil, err
	}
	entry, err := verb.Preload(library, tmp)
	if err != nil {
		return nil, err
	}
	// The runtime of -fsanitize=address ends programs in which a library is before it.
	asan := "verify_asan_link_order=0"
	if old := os.Getenv("ASAN_OPTIONS"); old != "" {
		asan = old + ":" + asan
	}
	return []string{entry, "ASAN_OPTIONS=" + asan}, nil
}

// pathEnvironment puts wrappers first on PATH and into the variables that name compilers.
func (b *build) pathEnvironment(dir string) ([]string, error) {
	if err := toolchain.LinkTools(dir, toolchain.ToolsOnPath(dir)); err != nil {
		return nil, err
	}
	env := []string{"PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")}
	if os.Getenv("RUSTC_WRAPPER") == "" && defaultCatch == catchPreload {
		env = append(env, "RUSTC_WRAPPER="+filepath.Join(dir, "rustc")) // cargo starts rustc by an absolute path
	}
	for _, name := range compilerVariables {
		if v := os.Getenv(name); v != "" {
			wrapped, err := toolchain.WrapVariable(b.s, dir, v, b.opts)
			if err != nil {
				return nil, err
			}
			env = append(env, name+"="+wrapped)
		}
	}
	return env, nil
}

// staticCompiler is the reason if a compiler on PATH, or one that the environment names,
// is linked statically: a library catches it only where another program starts it that has
// the library.
func staticCompiler() error {
	for _, name := range append([]string{"cc", "gcc", "clang"}, os.Getenv("CC"), os.Getenv("CXX")) {
		path, err := toolchain.RealTool(name)
		if filepath.IsAbs(name) {
			path, err = name, nil
		}
		if err != nil {
			continue
		}
		f, err := objfile.Open(path)
		if err != nil {
			continue // a script
		}
		static := f.Interpreter() == ""
		f.Close()
		if static {
			return fmt.Errorf("%s is linked statically", path)
		}
	}
	return nil
}

// catchLibrary returns the path of the library, which it builds on first use.
func catchLibrary(ctx context.Context) (string, error) {
	why := errors.New("no C compiler (cc, gcc, clang) on PATH to build the library that intercepts the others")
	for _, name := range []string{"cc", "gcc", "clang"} {
		path, err := toolchain.RealTool(name)
		if err != nil {
			continue
		}
		c, err := toolchain.FindCompiler(path)
		if err != nil {
			return "", err
		}
		dir, err := toolchain.Cached("catch-", "the library that intercepts compilers", c, toolchain.ShimOptions{}, func(tmp, _ string) error {
			return buildCatchLibrary(ctx, tmp, c)
		})
		if err == nil {
			return filepath.Join(dir, catch.Library), nil
		}
		why = err
	}
	return "", why
}

func buildCatchLibrary(ctx context.Context, tmp string, c toolchain.Compiler) error {
	if err := os.WriteFile(filepath.Join(tmp, catch.SourceName), catch.Source(), 0o644); err != nil {
		return err
	}
	args := append(append([]string{}, catch.Flags...), "-o", catch.Library, catch.SourceName)
	cmd := exec.CommandContext(ctx, c.Path, append(args, catch.LinkFlags...)...)
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", c.Path, err, bytes.TrimSpace(out))
	}
	return nil
}
