package toolchain

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/verb"
)

// A launcher runs in place of a compiler, as "ccache gcc -c x.c" or through a link called gcc, and starts the
// compiler or avoids that. ccache returns objects of earlier builds: our configuration becomes part of its key.
// The others compile on other machines or in servers, where cairn does not exist; the compiler is started in
// their place.

// ccache is the launcher that is not bypassed.
const ccache = "ccache"

var launcherName = lazyregexp.New(`^(?:ccache|distcc|icecc|sccache)$`)

// launcherAt returns the name of the launcher at a path, "" for none.
func launcherAt(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !launcherName().MatchString(driver.ToolName(real)) {
		return ""
	}
	return driver.ToolName(real)
}

// launch is a launcher's command line.
type launch struct {
	launcher string   // its name
	path     string   // its executable, as called
	words    []string // argv up to the compiler's arguments
	compiler string   // as the command line has it
	args     []string // the compiler's
}

// parseLaunch parses a launcher's command line. It is nil if no compiler is started: the launcher was asked for
// something else, or is for another language.
func parseLaunch(path string, args []string) *launch {
	l := &launch{launcher: launcherAt(path), path: path, words: []string{path}, args: args}
	if l.launcher != driver.ToolName(path) { // a link that is called as a compiler
		l.compiler = driver.ToolName(path)
		return l
	}
	n := 0
	for n < len(args) && l.launcher == ccache && strings.Contains(args[n], "=") {
		n++ // settings
	}
	l.words = append(l.words, args[:n]...)
	for n < len(args) && launcherName().MatchString(driver.ToolName(args[n])) {
		n++ // a nested launcher, which is bypassed
	}
	if n == len(args) || !compilerName().MatchString(driver.ToolName(args[n])) {
		return nil
	}
	l.words = append(l.words, args[n])
	l.compiler = args[n]
	if launcherAt(args[n]) != "" {
		l.compiler = driver.ToolName(args[n])
	}
	l.args = args[n+1:]
	return l
}

// started returns the compiler that a launcher finally starts.
func (l *launch) started() (string, error) {
	if filepath.Base(l.compiler) != l.compiler {
		return l.compiler, nil
	}
	return RealTool(l.compiler)
}

// environment returns variables that make ccache separate objects of one configuration from all others: key is
// its name, which file contains. Versions before 4.5 ignore the name.
func (l *launch) environment(ctx context.Context, key, file string) []string {
	namespace := key
	if old := os.Getenv("CCACHE_NAMESPACE"); old != "" && old != key {
		namespace = old + "-" + key
	}
	// Files that users list in the environment or their settings still count.
	files, set := os.LookupEnv("CCACHE_EXTRAFILES")
	if real, err := filepath.EvalSymlinks(l.path); err == nil && !set {
		cmd := exec.CommandContext(ctx, real, "--get-config", "extra_files_to_hash")
		cmd.Env = append(os.Environ(), catch.EnvLaunch+"=0")
		if out, err := cmd.Output(); err == nil {
			files = strings.TrimSpace(string(out))
		}
	}
	if files != "" {
		file = files + ":" + file
	}
	return []string{"CCACHE_NAMESPACE=" + namespace, "CCACHE_EXTRAFILES=" + file}
}

// launch runs a launcher that was intercepted in a build.
func (w *wrapper) launch(ctx context.Context, s *verb.Streams, path string, args []string) error {
	l := parseLaunch(path, args)
	switch {
	case l == nil && len(args) > 0 && otherCompiler(driver.ToolName(args[0])) == others["rustc"] && launcherAt(path) != ccache:
		if err := logEvent(buildEvent{cacheEvent: cacheEvent{PassedBy: launcherAt(path)}}); err != nil {
			return err
		}
		return w.compileRust(ctx, s, args[0], args[1:])
	case l == nil:
		return becomeOpen(path, append([]string{path}, args...), catch.EnvLaunch+"=0")
	case l.launcher != ccache:
		if err := logEvent(buildEvent{cacheEvent: cacheEvent{PassedBy: l.launcher}}); err != nil {
			return err
		}
		compiler, err := l.started()
		if err != nil {
			return err
		}
		return RunCompiler(ctx, s, InstrumentFlags{Shim: w.opts.Shim}, compiler, l.args)
	}
	id, err := logLaunch(l)
	if err != nil {
		return err
	}
	key, file := identity(cmp.Or(w.dir, os.Getenv(catch.EnvBuild)))
	return becomeOpen(path, append(l.words[:len(l.words):len(l.words)], l.args...), append(l.environment(ctx, key, file), id)...)
}

// logLaunch records a request that a cache may answer without its compiler; other command lines are passed on.
// It returns the variable that identifies answers by compilers.
func logLaunch(l *launch) (variable string, err error) {
	id := fmt.Sprintf("%d.%d", os.Getpid(), time.Now().UnixNano())
	variable = catch.EnvLaunch + "=" + id
	cmd := driver.Parse(driver.FamilyOf(l.compiler), l.args, ReadResponse)
	if !cmd.Compiles || cmd.Links || len(cmd.Sources) != 1 || cmd.Refusal != "" || isCheck(&cmd) {
		return variable, nil
	}
	return variable, logEvent(buildEvent{Result: probe.Result{Source: cmd.Sources[0]}, cacheEvent: cacheEvent{Cache: l.launcher, Launch: id}})
}

// becomeOpen is become for programs that start compilers to be caught.
func becomeOpen(path string, argv []string, env ...string) error {
	os.Unsetenv(catch.EnvCaught)
	return verb.Become("build", path, argv, append(os.Environ(), env...))
}

// throughLauncher returns the compiler that a launcher would start for cairn cc, and its arguments. Through
// ccache it is run by become.
func throughLauncher(path string, args []string) (*Compiler, []string, error) {
	l := parseLaunch(path, args)
	if l == nil {
		return nil, nil, nil
	}
	started, err := l.started()
	if err != nil {
		return nil, nil, err
	}
	c, err := FindCompiler(started)
	if err != nil {
		return nil, nil, err
	}
	if l.launcher == ccache {
		c.cache = l
	}
	return &c, l.args, nil
}

// become replaces the process by the compiler, through its cache if it has one. dir is our directory for the
// configuration, "" if the compiler needs nothing of ours.
func (c *Compiler) become(ctx context.Context, argv []string, dir string, env ...string) error {
	path, argv, env, err := c.command(ctx, argv, dir, env)
	if err != nil {
		return err
	}
	return become(path, argv, env...)
}

// runLink is become for a command that links l.
func (c *Compiler) runLink(ctx context.Context, l *mixedLink, argv []string, dir string, env ...string) error {
	path, argv, env, err := c.command(ctx, argv, dir, env)
	if err != nil {
		return err
	}
	return l.run(path, argv, env...)
}

// command returns the program that compiles, the compiler or its cache, with its arguments and the additions to its
// environment.
func (c *Compiler) command(ctx context.Context, argv []string, dir string, env []string) (string, []string, []string, error) {
	if c.cache == nil {
		return c.Path, argv, env, nil
	}
	if dir != "" {
		key, file := identity(dir)
		env = append(env, c.cache.environment(ctx, key, file)...)
		id, err := logLaunch(c.cache)
		if err != nil {
			return "", nil, nil, err
		}
		env = append(env, id, "CCACHE_PREFIX=") // other machines have no cairn
	}
	words := c.cache.words
	return c.cache.path, append(words[:len(words):len(words)], argv[1:]...), env, nil
}
