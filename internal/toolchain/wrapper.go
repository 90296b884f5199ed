package toolchain

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/layout/linkorder"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/verb"
)

// A wrapper is cairn in the place of a compiler or linker: caught by the library that
// cairn build has loaded into a build's programs, or under the tool's name in a directory
// that is first on PATH. The directory is kept, in case a build remembers a path in it
// (CMake does); without a cairn build around it a wrapper becomes the unchanged tool.

// wrapperFile holds, beside the wrappers, the flags of cairn build.
const wrapperFile = "cairn-build.json"

// WrapperOptions is the content of wrapperFile.
type WrapperOptions struct {
	Shim ShimOptions `json:"shim"`
	Tool string      `json:"tool,omitempty"` // the only one wrapped; "" for those on PATH
}

var (
	compilerName  = lazyregexp.New(`^(?:(?:x86_64|aarch64|arm|armv7[a-z]*)-(?:[^/]*?-)?(?:(?:gnu|musl)(?:eabi|eabihf)?|android(?:eabi)?\d*|mingw32)-|musl-)?(?:gcc|g\+\+|cc|c\+\+|c89|c99|clang|clang\+\+|clang-cl|gfortran|f77|f95|gdc)(?:-\d+(?:\.\d+)*)?(?:-posix|-win32)?$`)
	assemblerName = lazyregexp.New(`^((?:x86_64|aarch64|arm|armv7[a-z]*)-(?:[^/]*?-)?(?:(?:gnu|musl)(?:eabi|eabihf)?|mingw32)-|musl-)?as$`)
	cargoName     = lazyregexp.New(`^cargo(?:-\d+(?:\.\d+)*)?$`)
	linkerName    = lazyregexp.New(`^((?:x86_64|aarch64|arm|armv7[a-z]*)-(?:[^/]*?-)?(?:(?:gnu|musl)(?:eabi|eabihf)?|mingw32)-|musl-)?(?:ld|ld\.bfd|ld\.gold|ld\.lld|ld\.mold|mold|lld)(?:-\d+(?:\.\d+)*)?$`)
)

// StandsInFor reports whether cairn build catches programs of that name.
func StandsInFor(name string) bool {
	return assemblerName().MatchString(name) || otherCompiler(name) != nil || cargoName().MatchString(name) || compilerName().MatchString(name) || linkerName().MatchString(name) || machOLinkerName().MatchString(name) || msvcLinkerName().MatchString(name) || launcherName().MatchString(name)
}

// WrapperDir returns the directory with the flags of a build, and cairn. There is one for each
// combination of flags, content of the profile, and version of cairn.
func WrapperDir(s *verb.Streams, opts WrapperOptions) (string, error) {
	self, err := ourPath()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(self)
	if err != nil {
		return "", err
	}
	cache, err := verb.CacheDir()
	if err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(opts, "", "\t")
	if err != nil {
		return "", err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s %d %d\n%s", self, info.Size(), info.ModTime().UnixNano(), text))
	dir := filepath.Join(cache, "build-"+hex.EncodeToString(key[:8]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// Wrappers of another build may be reading it, and the cache may be
	// read-only.
	file := filepath.Join(dir, wrapperFile)
	if old, err := os.ReadFile(file); err != nil || !bytes.Equal(old, text) {
		if err := verb.WriteBytes(s, file, text); err != nil {
			return "", err
		}
	}
	if _, file := identity(dir); !Exists(file) {
		if err := verb.WriteBytes(s, file, []byte(filepath.Base(dir)+"\n")); err != nil {
			return "", err
		}
	}
	return dir, LinkTools(dir, []string{catch.Program})
}

// LinkTools puts cairn into dir under each of the names.
func LinkTools(dir string, names []string) error {
	self, err := ourPath()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := verb.StandIn(self, filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

// WrapVariable returns the value of a variable that names a compiler or linker
// by its absolute path, maybe with arguments, with a wrapper in its place: the
// one in dir if it stands for the same file, else one for that file alone. Any
// other value is returned as it is.
func WrapVariable(s *verb.Streams, dir, value string, opts WrapperOptions) (string, error) {
	value = strings.TrimSpace(value)
	tool, args := value, ""
	if i := strings.IndexAny(value, " \t"); i >= 0 {
		tool, args = value[:i], value[i:]
	}
	name := driver.ToolName(tool)
	if !filepath.IsAbs(tool) || !compilerName().MatchString(name) && !linkerName().MatchString(name) && !machOLinkerName().MatchString(name) {
		return value, nil
	}
	// It may be the wrapper of a cairn build around this one.
	var outer WrapperOptions
	if found, err := readOptions(filepath.Join(filepath.Dir(tool), wrapperFile), &outer); err != nil {
		return "", fmt.Errorf("build: %w", err)
	} else if found {
		tool = outer.Tool
	}
	if tool == "" {
		return standInOnPath(dir, name) + args, nil
	}
	if found, err := exec.LookPath(tool); err == nil { // Windows adds .exe
		tool = found
	}
	onPath, err := RealTool(name)
	if err != nil || !sameFile(tool, onPath) {
		opts.Tool = tool
		if dir, err = WrapperDir(s, opts); err != nil {
			return "", err
		}
		if err := LinkTools(dir, []string{name}); err != nil {
			return "", err
		}
		return standInPath(s, dir, name, tool) + args, nil
	}
	return standInOnPath(dir, name) + args, nil
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// ToolsOnPath lists the names of compilers and linkers on PATH, except in the
// directory given.
func ToolsOnPath(except string) []string {
	var names []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if dir == except {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // PATH often names directories that do not exist
		}
		for _, e := range entries {
			if n := driver.ToolName(e.Name()); verb.IsExecutable(e.Name()) && StandsInFor(n) && (canRust || !isRust(n)) {
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
	tool   string // path of what was caught, "" for a wrapper on PATH
	dir    string // where opts are
	opts   WrapperOptions
	broken error // why opts could not be read
}

// AsWrapper returns the wrapper if cairn was started as one, according to args, or to
// the environment, which names a caught tool.
func AsWrapper(args []string) (*wrapper, bool) {
	if tool, dir := os.Getenv(catch.EnvTool), os.Getenv(catch.EnvBuild); tool != "" && dir != "" {
		w := &wrapper{name: driver.ToolName(args[0]), tool: asCalled(tool, args[0]), dir: dir}
		if !StandsInFor(w.name) {
			w.name = driver.ToolName(tool)
		}
		var found bool
		if found, w.broken = readOptions(filepath.Join(dir, wrapperFile), &w.opts); !found {
			w.broken = fmt.Errorf("%s is missing: it was removed while the build ran; restart the build", filepath.Join(dir, wrapperFile))
		}
		return w, true
	}
	return asWrapperOnPath(args)
}

// asCalled returns the path by which a caught tool was called. A driver that was caught
// at its start is identified only by its file, and links with different names to one file
// select different languages.
func asCalled(tool, name string) string {
	candidates := []string{name}
	if filepath.Base(name) == name {
		candidates = nil
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			candidates = append(candidates, filepath.Join(dir, name))
		}
	}
	for _, path := range candidates {
		if sameFile(path, tool) {
			return path
		}
	}
	return tool
}

// asWrapperOnPath is AsWrapper for the directories of wrappers. A tool found through PATH is
// started under its bare name, so PATH is asked for the directory as well.
func asWrapperOnPath(args []string) (*wrapper, bool) {
	name := driver.ToolName(args[0])
	if name == "cairn" || !StandsInFor(name) { // the former saves the time to compile expressions
		return nil, false
	}
	dirs := []string{filepath.Dir(args[0])}
	if dirs[0] == "." {
		dirs = filepath.SplitList(os.Getenv("PATH"))
	}
	for _, dir := range dirs {
		if !Exists(verb.Executable(filepath.Join(dir, name))) {
			continue
		}
		w := &wrapper{name: name, dir: dir}
		found, err := readOptions(filepath.Join(dir, wrapperFile), &w.opts)
		if w.broken = err; found {
			return w, true
		}
	}
	return nil, false
}

// Run becomes the real tool.
func (w *wrapper) Run(ctx context.Context, s *verb.Streams, args []string) error {
	caught := os.Getenv(catch.EnvCaught) != ""
	os.Unsetenv(catch.EnvTool)
	os.Setenv(catch.EnvCaught, "1") // what we compile for ourselves is not caught
	if w.broken != nil {
		return fmt.Errorf("build: %w", w.broken)
	}
	path := cmp.Or(w.tool, w.opts.Tool)
	if path == "" {
		var err error
		// Below a launcher, PATH led to cairn in place of the compiler: skip launchers.
		if path, err = toolOnPath(w.name, !caught && os.Getenv(catch.EnvLaunch) == ""); err != nil {
			return err
		}
	}
	switch {
	case caught || !building():
		return become(path, append([]string{path}, args...))
	case launcherAt(path) != "":
		return w.launch(ctx, s, path, args)
	case cargoName().MatchString(w.name):
		return w.runCargo(ctx, path, args)
	case otherCompiler(w.name) == others["rustc"]:
		return w.compileRust(ctx, s, path, args)
	case otherCompiler(w.name) != nil:
		return w.listOther(s, path, args)
	case assemblerName().MatchString(w.name):
		return w.assemble(ctx, s, path, args)
	case msvcLinkerName().MatchString(w.name):
		return w.linkMSVC(ctx, s, path, args)
	case machOLinkerName().MatchString(w.name):
		return w.linkMachO(ctx, s, path, args)
	case linkerName().MatchString(w.name):
		if line := driver.ParseLinker(args, ReadResponse); line.Err != nil {
			return fmt.Errorf("ld: %w", line.Err)
		}
		return w.link(ctx, s, path, args)
	}
	return w.compile(ctx, s, path, args)
}

// compile runs a driver, which may link for rustc.
func (w *wrapper) compile(ctx context.Context, s *verb.Streams, path string, args []string) error {
	job, err := rustJobAround()
	if err != nil {
		return err
	}
	if job == nil || AsksIdentity(args) {
		return RunCompiler(ctx, s, InstrumentFlags{Shim: w.opts.Shim}, path, args)
	}
	l, err := job.link(ctx, s, w, path, args)
	if err != nil {
		return err
	}
	if l.plain {
		return become(path, append([]string{path}, args...))
	}
	if job.Plain && os.Getenv(catch.EnvCargo) != "" {
		os.Unsetenv(catch.EnvLog) // it was listed
	}
	if err := RunCompiler(ctx, s, InstrumentFlags{Shim: w.opts.Shim}, path, l.args); err != nil {
		return err
	}
	l.finish(ctx, path)
	return nil
}

// building reports whether the cairn build that a wrapper belongs to is still running.
// Processes that a build leaves running (servers, watchers) keep its environment.
func building() bool {
	for log := range strings.SplitSeq(os.Getenv(catch.EnvLog), "\n") {
		if log != "" && Exists(log) {
			return true
		}
	}
	return false
}

// RealTool finds a tool on PATH past the wrappers, those of another cairn build
// included, and past launchers.
func RealTool(name string) (string, error) { return toolOnPath(name, false) }

func toolOnPath(name string, launchers bool) (string, error) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if Exists(filepath.Join(dir, wrapperFile)) {
			continue
		}
		found, err := exec.LookPath(path)
		if err == nil && (launchers || launcherName().MatchString(name) || launcherAt(found) == "") {
			return found, nil
		}
	}
	return "", fmt.Errorf("build: no %s on PATH except cairn's wrapper and compiler caches", name)
}

// link runs a linker that the build starts itself, with the runtime after its
// own arguments. A linker that a wrapped driver starts has it already.
func (w *wrapper) link(ctx context.Context, s *verb.Streams, path string, args []string) error {
	argv := append([]string{w.calledBy(path)}, args...)
	for _, a := range args {
		switch {
		case a == "-r" || a == "-i" || a == "--relocatable":
			if !w.opts.Shim.Map && w.opts.Shim.recordsUnits(driver.Toolchain{}) {
				inputs, output := linkerInputs(args)
				argv = append(argv, linkRecord(s, inputs, output, true, false)...)
			}
			return become(path, argv)
		case a == "--version" || a == "-v" || a == "-V" || a == "--help",
			filepath.Base(a) == archiveName:
			return become(path, argv)
		}
	}
	if !slices.ContainsFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") }) {
		return become(path, argv)
	}
	if w.opts.Shim.Map {
		if err := logProgram(outputOf(argv)); err != nil {
			return err
		}
		return become(path, argv)
	}
	c, err := linkedBy(path)
	if err != nil {
		return err
	}
	if w.opts.Shim.Use != nil {
		return w.useLinker(ctx, &invocation{streams: s, compiler: c, argv: argv}, w.opts.Shim, path)
	}
	restore := hideDriver()
	tc, err := prepare(ctx, c, w.opts.Shim, nil)
	restore()
	var foreign foreignError
	if errors.As(err, &foreign) {
		return become(path, argv) // nothing that it links has probes
	}
	if err != nil {
		return err
	}
	if kept := driver.WithoutStrip(args); len(kept) < len(args) {
		fmt.Fprintln(s.Err, "cairn: ld: ignoring the strip option of the link, which would remove the map; run strip after cairn map")
		args = kept
	}
	argv = append(append(argv[:1:1], "--build-id"), args...)
	linker := LinkerAt(ctx, path)
	argv = append(argv, driver.LinkerArgs(args, tc, linker.word())...)
	argv = append(argv, tc.Archive)
	inputs, output := linkerInputs(args)
	if w.opts.Shim.recordsUnits(tc) {
		argv = append(argv, linkRecord(s, inputs, output, false, slices.Contains(args, "--whole-archive"))...)
	}
	l := &mixedLink{streams: s, inputs: inputs, runtime: tc.Archive, mode: w.opts.Shim.Mode.String(), output: output, strict: w.opts.Shim.strict()}
	if linker.Kind == linkorder.LLD {
		return runLTOLinker(ctx, filepath.Dir(tc.Archive), path, argv[1:], l)
	}
	return l.run(path, argv)
}

// linkedBy returns the compiler whose objects the linker at path links: the driver that
// started it, if one did, or by its name, as aarch64-linux-gnu-ld links what
// aarch64-linux-gnu-gcc makes.
func linkedBy(path string) (Compiler, error) {
	if name := os.Getenv(collectGCC); name != "" {
		if c, err := FindCompiler(name); err == nil {
			return c, nil
		}
	}
	target := linkerName().FindStringSubmatch(driver.ToolName(path))
	for _, name := range []string{"cc", "gcc", "clang"} {
		if len(target) > 1 {
			name = target[1] + name
		}
		if found, err := RealTool(name); err == nil {
			return FindCompiler(found)
		}
	}
	return Compiler{}, errors.New("build: no cc on PATH to compile the runtime")
}

// collectGCC is set by gcc's drivers, for what they start, to their own name.
const collectGCC = "COLLECT_GCC"

// hideDriver removes the variables that a driver of gcc has set for the tools that it starts:
// another driver would use its tools. The function that it returns restores them.
func hideDriver() (restore func()) {
	if os.Getenv(collectGCC) == "" {
		return func() {}
	}
	kept := map[string]string{}
	for _, name := range []string{"COMPILER_PATH", "LIBRARY_PATH", "GCC_EXEC_PREFIX", collectGCC, "COLLECT_GCC_OPTIONS", "COLLECT_LTO_WRAPPER"} {
		if value, ok := os.LookupEnv(name); ok {
			kept[name] = value
			os.Unsetenv(name)
		}
	}
	return func() {
		for name, value := range kept {
			os.Setenv(name, value)
		}
	}
}
