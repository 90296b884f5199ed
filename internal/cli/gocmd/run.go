package gocmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/cairnprof/cairn/internal/gobuild"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/runtime/goruntime"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// goEnv is the output of go env.
type goEnv struct{ GOVERSION, GOOS, GOARCH, GOFLAGS string }

// run runs the go command.
func (f *flags) run(ctx context.Context, s *verb.Streams, args []string) error {
	cfg, err := f.config()
	if err != nil {
		return err
	}
	c, err := parse(args)
	if err != nil {
		return err
	}
	env, err := c.environment(ctx)
	if err != nil {
		return err
	}
	if own := c.ownFlag(); own != "" {
		return verb.Usagef("go: --%s is a flag of cairn: give it before %s, as in cairn go --%[1]s ... %[2]s", own, c.name)
	}
	if c.hasFlag(env.GOFLAGS, "toolexec") {
		return verb.Usagef("go: -toolexec is set already, in the arguments or in GOFLAGS; the go command runs one such program")
	}
	if c.hasFlag(env.GOFLAGS, "cover", "covermode", "coverpkg", "coverprofile") {
		fmt.Fprintln(s.Err, "cairn: go: with -cover nothing is instrumented: Go's own counters are in the same place")
		return execute(ctx, s, append(append([]string{c.name}, c.dir...), c.args...), os.Environ())
	}
	target := goruntime.Target{Version: env.GOVERSION, GOOS: env.GOOS, GOARCH: env.GOARCH}
	if err := target.Check(); err != nil {
		return fmt.Errorf("go: %w", err)
	}
	if len(cfg.Only) == 0 {
		if cfg.Only, err = c.mainModules(ctx); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return c.build(ctx, s, &build{cfg: cfg, quiet: f.quiet, all: f.all, self: self, env: env})
}

// build is what a build needs beside its command line.
type build struct {
	cfg   gobuild.Config
	quiet bool
	all   bool   // count packages that are in no program
	self  string // path of cairn
	env   goEnv
}

// build runs the go command with cairn in place of its tools, and prints a summary.
func (c *command) build(ctx context.Context, s *verb.Streams, b *build) error {
	tmp, err := os.MkdirTemp("", "cairn-go-")
	if err != nil {
		return err
	}
	defer verb.RemoveAll(tmp)
	log := filepath.Join(tmp, "report")
	env := append(os.Environ(), gobuild.ReportVar+"="+log)
	dir := ""
	if c.name == "run" || c.name == "test" {
		// A test runs in the directory of its package.
		if dir, err = filepath.Abs(os.Getenv("CAIRN_DIR")); err != nil {
			return err
		}
		env = append(env, "CAIRN_DIR="+dir, gobuild.MapsVar+"="+dir)
	}
	runErr := execute(ctx, s, c.line(b.self, b.cfg), env)
	reports, err := readReports(log)
	if err != nil {
		return errors.Join(runErr, err)
	}
	if !b.quiet {
		summarise(s, b.cfg, reports)
	}
	if c.name == "test" && !b.cfg.Mode.Timed() {
		if err := c.addUntested(ctx, s, b, reports, dir); err != nil && runErr == nil {
			return err
		}
	}
	if runErr == nil && (c.name == "build" || c.name == "install") && !b.cfg.Mode.Timed() {
		if err := c.addUnlinked(ctx, s, b); err != nil {
			return err
		}
	}
	if runErr == nil && len(reports) > 0 && !slices.ContainsFunc(reports, func(r gobuild.Report) bool { return r.Plain == "" }) {
		return fmt.Errorf("nothing of this build is instrumented: %s: %s", reports[0].Program, reports[0].Plain)
	}
	return runErr
}

// execute runs the go command to its end; an interrupt is for the command to handle.
func execute(ctx context.Context, s *verb.Streams, args, env []string) error {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(ignored)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "go", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = s.In, s.Out, s.Err, env
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return verb.ExitError(128 + int(ws.Signal()))
		}
		return verb.ExitError(exit.ExitCode())
	}
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("go: the go command is not on PATH")
	}
	return err
}

// output returns the output of the go command.
func (c *command) output(ctx context.Context, args ...string) (string, error) {
	args = append(append([]string{args[0]}, c.dir...), args[1:]...)
	cmd := exec.CommandContext(ctx, "go", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("go: the go command is not on PATH")
	}
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

func (c *command) environment(ctx context.Context) (env goEnv, err error) {
	out, err := c.output(ctx, "env", "-json", "GOVERSION", "GOOS", "GOARCH", "GOFLAGS")
	if err != nil {
		return env, err
	}
	return env, json.Unmarshal([]byte(out), &env)
}

// mainModules returns the patterns of the packages of the main modules.
func (c *command) mainModules(ctx context.Context) ([]string, error) {
	if path := c.remote(); path != "" {
		return []string{path + "/..."}, nil
	}
	out, err := c.output(ctx, "list", "-m", "-f", "{{if .Main}}{{.Path}}{{end}}")
	if err != nil || strings.TrimSpace(out) == "command-line-arguments" {
		// Outside of a module: files on the command line are a package of that name.
		return []string{"command-line-arguments"}, nil
	}
	return patternsOf(out), nil
}

// without returns how many other functions have no record, by reason.
func without(mode prof.Mode, r *gobuild.Report) string {
	inlined, others, before := "inlined everywhere", "without a probe", "; "
	if mode.Timed() {
		inlined, others, before = "that can be inlined", "others", "; without probes: "
	}
	var parts []string
	for _, x := range []struct {
		n     int
		why   string
		names []string
	}{{r.Inlined, inlined, nil}, {r.Small, "small", nil}, {len(r.Dropped), "unreachable", r.Dropped}, {len(r.Skipped), others, r.Skipped}} {
		switch {
		case x.n == 0:
		case x.names == nil:
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.why))
		default:
			const most = 3
			parts = append(parts, fmt.Sprintf("%d %s (%s)", x.n, x.why, report.First(x.names, most)))
		}
	}
	if parts == nil {
		return ""
	}
	return before + strings.Join(parts, ", ")
}

// readReports returns the results of the links of a build.
func readReports(path string) (reports []gobuild.Report, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // nothing was linked
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var r gobuild.Report
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	return reports, lines.Err()
}

// summarise prints the results of the links of a build.
func summarise(s *verb.Streams, cfg gobuild.Config, reports []gobuild.Report) {
	for i := range reports {
		r := &reports[i]
		if r.Plain != "" {
			fmt.Fprintf(s.Err, "cairn: %s: not instrumented: %s\n", r.Program, r.Plain)
			continue
		}
		fmt.Fprintf(s.Err, "cairn: %s: mode %s, %s of %s%s\n",
			r.Program, cfg.Mode, report.Plural(r.Functions, "function"), report.Plural(r.Packages, "package"), without(cfg.Mode, r))
		for _, pkg := range r.Lost {
			fmt.Fprintf(s.Err, "cairn: %s: package %s is not in the map: the linker dropped the variable that says where its records are\n", r.Program, pkg)
		}
	}
}
