package gobuild

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/cairnprof/cairn/internal/runtime/goruntime"
)

// Environment variables that the command cairn go sets for the tools of its build.
const (
	// ReportVar is a file to which each link appends what it made, as JSON lines.
	ReportVar = "CAIRN_GO_REPORT"
	// MapsVar is a directory for the maps of programs that the go command removes.
	MapsVar = "CAIRN_GO_MAPS"
)

// Tool runs a tool of the go command as cfg says; args begin with the path of the tool.
func Tool(ctx context.Context, cfg Config, args []string, stdout, stderr io.Writer) error {
	name := toolName(args[0])
	if len(args) == 2 && args[1] == "-V=full" && (name == "compile" || name == "link") {
		return printVersion(ctx, cfg, args[0], stdout, stderr)
	}
	t := tool{ctx: ctx, cfg: cfg, path: args[0], args: args[1:], stdout: stdout, stderr: stderr}
	switch name {
	case "compile":
		return t.compile()
	case "link":
		return t.link()
	}
	return t.run(t.args)
}

// Linked returns the program that a tool of the go command has linked, "" if it is another tool.
func Linked(args []string) string {
	t := tool{args: args[1:]}
	if output, ok := t.flag("-o"); ok && toolName(args[0]) == "link" {
		return output
	}
	return ""
}

// toolName returns the name of a tool by its path.
func toolName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".exe") }

// tool is an invocation of a tool.
type tool struct {
	ctx            context.Context
	cfg            Config
	path           string
	args           []string
	stdout, stderr io.Writer
}

// run runs the tool itself.
func (t *tool) run(args []string) error {
	c := exec.CommandContext(t.ctx, t.path, args...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, t.stdout, t.stderr
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return ExitError(max(1, exit.ExitCode()))
	}
	return err
}

// ExitError is the exit code of a tool that failed and reported why.
type ExitError int

func (e ExitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// flag returns the value of a flag of the tool, -name value or -name=value.
func (t *tool) flag(name string) (string, bool) {
	for i, a := range t.args {
		if a == name && i+1 < len(t.args) {
			return t.args[i+1], true
		}
		if v, ok := strings.CutPrefix(a, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// has reports whether a flag without a value is set.
func (t *tool) has(name string) bool {
	for _, a := range t.args {
		if a == name || a == name+"=true" || a == name+"=1" {
			return true
		}
	}
	return false
}

// printVersion prints the version of a tool with a hash of everything that affects its output.
// The go command makes it a part of its cache's keys, so instrumented packages and those of
// other builds are kept apart.
func printVersion(ctx context.Context, cfg Config, path string, stdout, stderr io.Writer) error {
	c := exec.CommandContext(ctx, path, "-V=full")
	c.Stderr = stderr
	out, err := c.Output()
	if err != nil {
		return err
	}
	line := strings.TrimSpace(string(out)) // as compile version go1.26.8
	fields := strings.Fields(line)
	if len(fields) < 3 {
		return fmt.Errorf("%s -V=full printed %q", path, line)
	}
	if err := target(fields[2]).Check(); err != nil {
		return err
	}
	// A hash of the whole program would change more often than that of the parts that decide what the tools write, and
	// each change makes the go command compile the standard library again.
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", compileSources)
	if err := goruntime.Hash(h); err != nil {
		return err
	}
	if fields[0] == "link" {
		fmt.Fprintf(h, "%s\n", linkSources)
	} else {
		cfg.Threshold = 0 // the linker writes it into the program
	}
	fmt.Fprintf(h, "%q\n", cfg.Args())
	_, err = fmt.Fprintf(stdout, "%s cairn:%x\n", line, h.Sum(nil)[:12])
	return err
}

// target returns the target that the tools in this process's environment build for: the go
// command sets it.
func target(version string) goruntime.Target {
	return goruntime.Target{Version: version, GOOS: os.Getenv("GOOS"), GOARCH: os.Getenv("GOARCH")}
}
