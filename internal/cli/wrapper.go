package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/driver"
)

// A wrapper is cairn under the name of a compiler or linker, in a directory
// that cairn build puts first on PATH. The directory stays: a build that
// remembers a compiler's path (CMake does) goes on working, instrumented the
// same way, when it is run again without cairn build.

// wrapperFile holds, beside the wrappers, the flags of cairn build.
const wrapperFile = "cairn-build.json"

// wrapperOptions is the content of wrapperFile.
type wrapperOptions struct {
	Shim       shimOptions `json:"shim"`
	DefaultDir string      `json:"default_dir"`
	Tool       string      `json:"tool,omitempty"` // the only one wrapped; "" for those on PATH
}

var (
	compilerName = regexp.MustCompile(`^(?:x86_64-[a-z0-9]+-(?:gnu|musl)-|musl-)?(?:gcc|g\+\+|cc|c\+\+|c89|c99|clang|clang\+\+|gfortran|f77|f95)(?:-\d+(?:\.\d+)*)?$`)
	linkerName   = regexp.MustCompile(`^(?:ld|ld\.bfd|ld\.gold|ld\.lld|ld\.mold|mold|lld)(?:-\d+)?$`)
)

// wrapperDir returns the directory of wrappers for the options, with a wrapper
// for the one tool that they name, or for each compiler and linker that PATH
// has today.
func wrapperDir(s *Streams, opts wrapperOptions) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(opts, "", "\t")
	if err != nil {
		return "", err
	}
	key := sha256.Sum256(append([]byte(self+"\n"), text...))
	dir := filepath.Join(cache, "build-"+hex.EncodeToString(key[:8]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// Wrappers of another build may be reading it, and the cache may be one
	// that is only read.
	file := filepath.Join(dir, wrapperFile)
	if old, err := os.ReadFile(file); err != nil || !bytes.Equal(old, text) {
		if err := writeBytes(s, file, text); err != nil {
			return "", err
		}
	}
	names := []string{filepath.Base(opts.Tool)}
	if opts.Tool == "" {
		names = toolsOnPath(dir)
	}
	for _, name := range names {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrExist) {
			return "", err
		}
	}
	return dir, nil
}

// wrapVariable returns the value of a variable that names a compiler or linker
// by its absolute path, maybe with arguments, with a wrapper in its place: the
// one in dir if it stands for the same file, else one for that file alone. Any
// other value is returned as it is.
func wrapVariable(s *Streams, dir, value string, opts wrapperOptions) (string, error) {
	value = strings.TrimSpace(value)
	tool, args := value, ""
	if i := strings.IndexAny(value, " \t"); i >= 0 {
		tool, args = value[:i], value[i:]
	}
	name := filepath.Base(tool)
	if !filepath.IsAbs(tool) || !compilerName.MatchString(name) && !linkerName.MatchString(name) {
		return value, nil
	}
	// It may be the wrapper of a cairn build around this one.
	var outer wrapperOptions
	if found, err := readOptions(filepath.Join(filepath.Dir(tool), wrapperFile), &outer); err != nil {
		return "", fmt.Errorf("build: %w", err)
	} else if found {
		tool = outer.Tool
	}
	if tool == "" {
		return filepath.Join(dir, name) + args, nil
	}
	if onPath, err := realTool(name); err != nil || !sameFile(tool, onPath) {
		opts.Tool = tool
		if dir, err = wrapperDir(s, opts); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, name) + args, nil
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// toolsOnPath lists the names of compilers and linkers on PATH, except in the
// directory given.
func toolsOnPath(except string) []string {
	var names []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if dir == except {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // PATH often names directories that are not there
		}
		for _, e := range entries {
			if n := e.Name(); compilerName.MatchString(n) || linkerName.MatchString(n) {
				names = append(names, n)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// wrapper is one run of cairn in the place of a compiler or linker.
type wrapper struct {
	name   string
	opts   wrapperOptions
	broken error // why opts could not be read
}

// asWrapper returns the wrapper if args say that cairn was started as one. A
// tool found through PATH is started under its bare name, so PATH is asked for
// the directory as well.
func asWrapper(args []string) (*wrapper, bool) {
	name := filepath.Base(args[0])
	if !compilerName.MatchString(name) && !linkerName.MatchString(name) {
		return nil, false
	}
	dirs := []string{filepath.Dir(args[0])}
	if dirs[0] == "." {
		dirs = filepath.SplitList(os.Getenv("PATH"))
	}
	for _, dir := range dirs {
		if !exists(filepath.Join(dir, name)) {
			continue
		}
		w := &wrapper{name: name}
		found, err := readOptions(filepath.Join(dir, wrapperFile), &w.opts)
		if w.broken = err; found {
			return w, true
		}
	}
	return nil, false
}

// run becomes the real tool.
func (w *wrapper) run(ctx context.Context, s *Streams, args []string) error {
	if w.broken != nil {
		return fmt.Errorf("build: %w", w.broken)
	}
	path := w.opts.Tool
	if path == "" {
		var err error
		if path, err = realTool(w.name); err != nil {
			return err
		}
	}
	if linkerName.MatchString(w.name) {
		return w.link(ctx, s, path, args)
	}
	return runCompiler(ctx, s, instrumentFlags{shim: w.opts.Shim, defaultDir: w.opts.DefaultDir}, path, args)
}

// realTool finds a tool on PATH past the wrappers, those of another cairn build
// included.
func realTool(name string) (string, error) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if exists(filepath.Join(dir, wrapperFile)) {
			continue
		}
		if found, err := exec.LookPath(path); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("build: no %s on PATH besides cairn's wrapper", name)
}

// link runs a linker that the build starts itself, with the runtime behind its
// own arguments. A linker that a wrapped driver starts has it already.
func (w *wrapper) link(ctx context.Context, s *Streams, path string, args []string) error {
	argv := append([]string{w.name}, args...)
	// The arguments alone do not tell: drivers put them into response files.
	if os.Getenv(envLinks) != "" {
		return become(path, argv)
	}
	for _, a := range args {
		switch {
		case a == "-r" || a == "-i" || a == "--relocatable" || a == "--version" || a == "-v" || a == "-V" || a == "--help",
			filepath.Base(a) == "libcairn.a":
			return become(path, argv)
		}
	}
	if !slices.ContainsFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") }) {
		return become(path, argv)
	}
	for _, name := range []string{"cc", "gcc", "clang"} {
		found, err := realTool(name)
		if err != nil {
			continue
		}
		c, err := findCompiler(found)
		if err != nil {
			return err
		}
		if w.opts.Shim.Use != nil {
			return w.useLinker(ctx, s, c, path, argv)
		}
		tc, err := prepare(ctx, c, w.opts.Shim, w.opts.DefaultDir)
		if err != nil {
			return err
		}
		argv = append(append(argv[:1:1], "--build-id"), args...)
		if tc.Timed {
			argv = append(argv, driver.TimedLinkerArgs(args)...)
		}
		return become(path, append(argv, tc.Archive))
	}
	return errors.New("build: no cc on PATH to compile the runtime with")
}
