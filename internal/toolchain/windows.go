package toolchain

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/verb"
)

// On Windows, cairn stands in for a tool as a file of its own in place of a link, and starts the tool in place of becoming it
// (package verb). What else is not as on other systems is here.

// onWindows is whether cairn runs there.
const onWindows = runtime.GOOS == "windows"

// CalledAs returns the command line of cairn with the name by which it was called first: on Windows the file says which
// tool it stands in for, since what starts it may give any name.
func CalledAs(args []string) []string {
	if self, err := os.Executable(); onWindows && err == nil && len(args) > 0 {
		return calledAs(self, args)
	}
	return args
}

func calledAs(self string, args []string) []string {
	name := driver.ToolName(self)
	around := slices.Contains([]string{driver.AroundName, ltoLinkerName, appleLinkerName, msvcLTOName, distributorName}, name)
	if name == catch.Program || !around && !StandsInFor(name) && !strings.Contains(name, "clang") { // cairn, whatever it is called: cairn build starts it for a compiler that is its command
		return args
	}
	return append([]string{filepath.Join(filepath.Dir(self), name)}, args[1:]...)
}

// ourPath returns the path of cairn. It is the same for what stands in for tools in a build: the keys of the cache depend on it.
func ourPath() (string, error) {
	if self := os.Getenv(catch.EnvSelf); onWindows && self != "" && Exists(self) {
		return self, nil
	}
	return os.Executable()
}

// SelfVariable returns what tells stand-ins the path of cairn, nothing where links do.
func SelfVariable() []string {
	if self, err := os.Executable(); onWindows && err == nil {
		return []string{catch.EnvSelf + "=" + self}
	}
	return nil
}

// standInOnPath returns the name, for variables that have compilers, of a stand-in in the directory that is first on PATH: users of
// Windows have spaces in theirs, at which make divides the variables, and shells remove backslashes.
func standInOnPath(dir, name string) string {
	if onWindows {
		return name
	}
	return filepath.Join(dir, name)
}

// standInPath is standInOnPath for a stand-in of a tool that is not on PATH. It is the tool itself if that cannot be written.
func standInPath(s *verb.Streams, dir, name, tool string) string {
	path := filepath.ToSlash(verb.Executable(filepath.Join(dir, name)))
	if onWindows && strings.ContainsAny(path, " \t") {
		verb.Note(s, "build: %s is not on PATH, and the cache has a space in its path: it is not intercepted; set CAIRN_CACHE", tool)
		return filepath.ToSlash(tool)
	}
	return path
}

// calledBy returns the name by which a wrapper calls its linker, which on Windows finds its files by it, not behind the stand-in on
// PATH.
func (w *wrapper) calledBy(path string) string {
	if onWindows {
		return path
	}
	return w.name
}

// isRust reports whether a name is of a tool of Rust. Its linker is started by paths in variables, which is not tried on Windows:
// there Rust's code is built without probes.
func isRust(name string) bool {
	return cargoName().MatchString(name) || otherCompiler(name) == others["rustc"]
}

const canRust = !onWindows

// withinLimit returns a command line that the system accepts, and what removes the response file that it then has.
func withinLimit(argv []string) (short []string, done func(), err error) {
	return shortened(argv, verb.MaxCommandLine)
}

func shortened(argv []string, limit int) (short []string, done func(), err error) {
	done = func() {}
	size := 0
	for _, a := range argv {
		size += len(a) + strings.Count(a, `"`) + strings.Count(a, `\`) + 3
	}
	if limit == 0 || size < limit {
		return argv, done, nil
	}
	kept := 1
	if len(argv) > 1 && strings.HasPrefix(argv[1], properCompiler) { // it says what clang is, and is not looked for in a file
		kept = 2
	}
	join := driver.JoinResponse
	if name := driver.ToolName(argv[0]); driver.IsCL(name) || msvcLinkerName().MatchString(name) || strings.HasSuffix(name, "lld") {
		join = driver.JoinCL
	}
	f, err := os.CreateTemp("", "cairn-*.rsp")
	if err != nil {
		return nil, done, err
	}
	undo := verb.Temporary.Add(f.Name())
	done = func() {
		os.Remove(f.Name())
		undo()
	}
	_, err = f.WriteString(join(argv[kept:]))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		done()
		return nil, func() {}, err
	}
	return append(argv[:kept:kept], "@"+f.Name()), done, nil
}

// expanded returns the arguments of a part of clang with its response files in place, which its driver writes where the system's
// command lines are too short.
func expanded(args []string) []string {
	var out []string
	for _, a := range args {
		if name, ok := strings.CutPrefix(a, "@"); ok {
			if text, err := ReadResponse(name); err == nil {
				out = append(out, driver.SplitResponse(text)...)
				continue
			}
		}
		out = append(out, a)
	}
	return out
}
