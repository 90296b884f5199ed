package toolchain

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/catch"
)

// cargo compiles a crate again only if something that it knows of changed. It does not know of cairn, so it gets one
// more flag for rustc that does nothing and has the name of the build's configuration. With it, cargo keeps what it
// made with probes beside what it made without. Flags come from one of several places ("build.rustflags" in the cargo
// book): two variables of the environment, or else tables of the configuration. The flag is added to that place.

// cargoTargets is the value of EnvCargo if cargo was told for which machine to compile.
const cargoTargets = "targets"

// cargoFlag returns the flag for a directory of a build's options.
func cargoFlag(dir string) string {
	return "--cfg=cairn_" + strings.TrimPrefix(filepath.Base(dir), "build-")
}

// runCargo becomes cargo, with the flag.
func (w *wrapper) runCargo(ctx context.Context, path string, args []string) error {
	if w.opts.Shim.Map { // the flag may be part of the names of symbols
		return becomeOpen(path, append([]string{path}, args...))
	}
	flag := cargoFlag(w.dir)
	argv := append([]string{path}, args...)
	if slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, flag) }) { // the link that rustup puts before cargo has started it
		return becomeOpen(path, argv)
	}
	at := 1
	if len(args) > 0 && strings.HasPrefix(args[0], "+") { // a toolchain of rustup
		at = 2
	}
	c := cargoCommand{path: path, before: argv[1:at], args: argv[at:], flag: flag}
	env, add, ok := c.flags(ctx)
	env = append(env, catch.EnvCargo+"="+c.targets())
	if ok && c.builds() {
		if err := logEvent(buildEvent{rustEvent: rustEvent{Cargo: true}}); err != nil {
			return err
		}
	}
	return becomeOpen(path, slices.Insert(argv, at, add...), env...)
}

// cargoCommand is a command line of cargo.
type cargoCommand struct {
	path   string
	before []string // +TOOLCHAIN
	args   []string
	flag   string
	config cargoConfig
}

// cargoConfig is what this needs of the merged configuration files.
type cargoConfig struct {
	Build struct {
		Rustflags any `json:"rustflags"`
		Target    any `json:"target"`
	} `json:"build"`
	Target map[string]map[string]any `json:"target"`
}

// builds reports whether the command compiles programs.
func (c *cargoCommand) builds() bool {
	return slices.ContainsFunc(c.args, func(a string) bool {
		return slices.Contains([]string{"build", "b", "run", "r", "test", "t", "bench", "rustc", "install", "nextest"}, a)
	})
}

// targets returns cargoTargets if the command, its environment or its configuration name a machine.
func (c *cargoCommand) targets() string {
	named := slices.ContainsFunc(c.args, func(a string) bool { return a == "--target" || strings.HasPrefix(a, "--target=") })
	if named || os.Getenv("CARGO_BUILD_TARGET") != "" || c.config.Build.Target != nil {
		return cargoTargets
	}
	return "host"
}

// flags returns the environment and the arguments that add the flag. ok is false if it may not reach rustc.
func (c *cargoCommand) flags(ctx context.Context) (env, args []string, ok bool) {
	known := c.readConfig(ctx)
	if old, set := os.LookupEnv("CARGO_ENCODED_RUSTFLAGS"); set {
		return c.appended("CARGO_ENCODED_RUSTFLAGS", old, "\x1f"), nil, true
	}
	if old, set := os.LookupEnv("RUSTFLAGS"); set {
		return c.appended("RUSTFLAGS", old, " "), nil, true
	}
	for _, v := range os.Environ() { // cargo appends these to the lists of its files
		name, old, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "CARGO_TARGET_") && strings.HasSuffix(name, "_RUSTFLAGS") && !strings.Contains(old, c.flag) {
			env = append(env, name+"="+strings.TrimSpace(old+" "+c.flag))
		}
	}
	if !known {
		return env, nil, false
	}
	args = append(args, "--config", "build.rustflags="+withFlag(c.config.Build.Rustflags, c.flag))
	for key, table := range c.config.Target {
		if old, set := table["rustflags"]; set {
			args = append(args, "--config", fmt.Sprintf("target.%q.rustflags=%s", key, withFlag(old, c.flag)))
		}
	}
	return env, args, true
}

// appended returns a variable with the flag after those that it has.
func (c *cargoCommand) appended(name, old, separator string) []string {
	switch {
	case strings.Contains(old, c.flag): // of the cargo that started this one
		return nil
	case old == "":
		return []string{name + "=" + c.flag}
	}
	return []string{name + "=" + old + separator + c.flag}
}

// withFlag returns the TOML by which --config adds a flag to a list of flags: cargo joins arrays, and replaces
// strings.
func withFlag(old any, flag string) string {
	if s, ok := old.(string); ok {
		return fmt.Sprintf("%q", strings.TrimSpace(s+" "+flag))
	}
	return fmt.Sprintf("[%q]", flag)
}

// readConfig asks cargo for its configuration, and reports whether it answered. The command is not stable, so cargo is
// told that it may be used.
func (c *cargoCommand) readConfig(ctx context.Context) bool {
	args := slices.Clone(c.before)
	for i, a := range c.args {
		if a == "--" {
			break
		}
		switch {
		case (a == "--config" || a == "-C") && i+1 < len(c.args):
			args = append(args, a, c.args[i+1])
		case strings.HasPrefix(a, "--config="), strings.HasPrefix(a, "-C") && len(a) > 2:
			args = append(args, a)
		}
	}
	cmd := exec.CommandContext(ctx, c.path, append(args, "-Zunstable-options", "config", "get", "--format", "json-value")...)
	cmd.Env = append(os.Environ(), "RUSTC_BOOTSTRAP=1", catch.EnvCaught+"=1")
	out, err := cmd.Output()
	return err == nil && json.Unmarshal(out, &c.config) == nil
}
