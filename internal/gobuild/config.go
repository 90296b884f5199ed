// Package gobuild instruments Go programs while the go command builds them. The go command
// runs cairn in place of the compiler and the linker (go build -toolexec): Tool adds probes
// to the text that the compiler gets, keeps a list of them in the package's archive, and
// makes the map in the linked program from these lists. Nothing is printed during a build,
// as the go command would print it again in later builds that use its cache.
package gobuild

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/cairnprof/cairn/prof"
)

// Config says what is instrumented. It is passed from the go command to each tool on the
// command line, so that GOFLAGS=-toolexec works as well.
type Config struct {
	Mode   prof.Mode
	Atomic bool
	Only   []string // patterns of packages, in the syntax of the go command
	// Threshold is the duration from which mode spike reports calls, 0 for its default.
	Threshold time.Duration
	// Small is the number of syntax nodes below which functions that cannot wait get no probes
	// in timed modes; with 0 all functions get probes.
	Small int
}

// ToolexecName is the first argument of cairn where it runs in place of a tool.
const ToolexecName = "go-toolexec"

// Args returns the arguments that ParseArgs reads, without those of the tool.
func (c *Config) Args() []string {
	args := []string{ToolexecName, "--mode=" + c.Mode.String(), "--only=" + strings.Join(c.Only, ",")}
	if c.Atomic {
		args = append(args, "--atomic")
	}
	if c.Small != 0 {
		args = append(args, "--small="+strconv.Itoa(c.Small))
	}
	if c.Threshold != 0 {
		args = append(args, "--threshold="+c.Threshold.String())
	}
	return args
}

// ParseArgs reads the arguments after ToolexecName. rest begins with the tool.
func ParseArgs(args []string) (c Config, rest []string, err error) {
	c.Mode = prof.ModeCover
	for i, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch {
		case !strings.HasPrefix(arg, "-"):
			return c, args[i:], c.check()
		case name == "--mode":
			mode, ok := prof.ParseMode(value)
			if !ok {
				return c, nil, fmt.Errorf("%s: unknown mode %q", ToolexecName, value)
			}
			c.Mode = mode
		case name == "--only":
			c.Only = strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
		case name == "--atomic":
			c.Atomic, err = true, nil
			if value != "" {
				c.Atomic, err = strconv.ParseBool(value)
			}
			if err != nil {
				return c, nil, fmt.Errorf("%s: --atomic=%s: true or false expected", ToolexecName, value)
			}
		case name == "--small":
			if c.Small, err = strconv.Atoi(value); err != nil || c.Small < 0 {
				return c, nil, fmt.Errorf("%s: --small=%s: a number is expected", ToolexecName, value)
			}
		case name == "--threshold":
			if c.Threshold, err = time.ParseDuration(value); err != nil || c.Threshold <= 0 {
				return c, nil, fmt.Errorf("%s: --threshold=%s: a duration is expected, such as 5ms", ToolexecName, value)
			}
		default:
			return c, nil, fmt.Errorf("%s: unknown flag %s", ToolexecName, arg)
		}
	}
	return c, nil, fmt.Errorf("%s: no tool given; it is for go build -toolexec", ToolexecName)
}

func (c *Config) check() error {
	switch {
	case !Supported(c.Mode):
		return fmt.Errorf("mode %s is not for Go programs; the modes are %s", c.Mode, Modes)
	case c.Atomic && c.Mode != prof.ModeCount:
		return fmt.Errorf("--atomic is for mode count")
	case c.Threshold != 0 && c.Mode != prof.ModeSpike:
		return fmt.Errorf("--threshold is for mode spike")
	case c.Small != 0 && !c.Mode.Timed():
		return fmt.Errorf("--small is for modes spike, stacks and trace")
	case len(c.Only) == 0:
		return fmt.Errorf("%s: --only=PATTERNS is missing, the patterns of the packages that get probes", ToolexecName)
	}
	return nil
}

// Modes names the modes in which Go programs can be built.
const Modes = "cover, count, order, block, spike, stacks and trace"

// DefaultSmall returns the default of Config.Small in a mode.
func DefaultSmall(m prof.Mode) int {
	if m == prof.ModeSpike {
		return 200
	}
	return 0
}

// Supported reports whether Go programs can be built in a mode.
func Supported(m prof.Mode) bool {
	switch m {
	case prof.ModeCover, prof.ModeCount, prof.ModeOrder, prof.ModeBlock, prof.ModeSpike, prof.ModeStacks, prof.ModeTrace:
		return true
	}
	return false
}

// untouched are packages that run before the records are mapped, or that package runtime
// needs. The compiler and the linker lay out those of FIPS 140 by themselves, without pointers in
// data, and the program checks a hash of them.
var untouched = []string{
	"runtime", "runtime/internal/...", "internal/runtime/...", "internal/abi", "internal/cpu", "internal/bytealg",
	"internal/goarch", "internal/goos", "internal/goexperiment", "internal/byteorder", "internal/chacha8rand",
	"internal/coverage/...", "internal/race", "internal/asan", "internal/msan", "internal/godebugs", "internal/profilerecord",
	"internal/stringslite", "internal/trace/tracev2", "internal/strconv", "unsafe", "sync/atomic", "runtime/cgo", "runtime/race", "runtime/coverage", "crypto/internal/fips140/...",
}

// untimed are packages in which calls have no probes in timed modes: a child between fork and
// exec runs functions of package syscall, and may call nothing of package runtime.
var untimed = []string{"syscall", "internal/syscall/...", "internal/reflectlite", "internal/sync", "sync", "reflect", "iter", markPackage}

// Selects reports whether the package of that import path gets probes.
func (c *Config) Selects(importPath string) bool {
	importPath, _, _ = strings.Cut(importPath, " ") // a variant for tests: p [p.test]
	if matchesAny(untouched, importPath) || c.Mode.Timed() && matchesAny(untimed, importPath) {
		return false
	}
	return importPath == "command-line-arguments" || matchesAny(c.Only, importPath)
}

func matchesAny(patterns []string, importPath string) bool {
	for _, p := range patterns {
		if matches(p, importPath) {
			return true
		}
	}
	return false
}

// matches reports whether a pattern of packages matches an import path: ... stands for any
// string, all for all packages, std for those of the standard library.
func matches(pattern, importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	switch pattern {
	case "all":
		return true
	case "std":
		return !strings.Contains(first, ".") && first != "main"
	}
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok && !strings.Contains(prefix, "...") {
		return importPath == prefix || strings.HasPrefix(importPath, prefix+"/")
	}
	if !strings.Contains(pattern, "...") {
		return path.Clean(pattern) == importPath
	}
	return matchDots(strings.Split(pattern, "..."), importPath)
}

// matchDots reports whether s has the parts in order, the first at its start and the last
// at its end.
func matchDots(parts []string, s string) bool {
	s, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	for _, p := range parts[1 : len(parts)-1] {
		if _, s, ok = strings.Cut(s, p); !ok {
			return false
		}
	}
	return strings.HasSuffix(s, parts[len(parts)-1])
}
