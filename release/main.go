// Command release makes the files of a release of cairn:
//
//	cd release && go run . -version v1.2.3 -o ../dist
//
// They are an archive for each system, .deb and .rpm packages for Linux, a software bill of materials, a formula
// for Homebrew, a manifest for Scoop, a container file with its context, and SHA256SUMS. Two runs from the same sources with the same Go make the
// same bytes: times are SOURCE_DATE_EPOCH, or those of the last commit.
//
// It is a program of its own, and not GoReleaser, because that brings 911 modules, and its newest version needs a newer
// Go; the packages are made by nfpm, which GoReleaser uses, too. nfpm is pinned to the last version whose modules can
// all be downloaded from the module proxy that the project is built with. The module is separate so that none of this
// is in go.mod of cairn.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// target is a system that cairn is built for.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "-" + t.arch }

// program is the name of the program in an archive.
func (t target) program() string {
	if t.os == "windows" {
		return "cairn.exe"
	}
	return "cairn"
}

var targets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"}}

// build is one run of the command.
type build struct {
	version string // with the v
	source  string // the root of the tree
	out     string
	work    string // for what goes into packages
	date    time.Time
	targets []target
	shared  []file            // what all packages have: documentation, completions, the kit
	hooks   map[target][]file // for compilers of Windows, in the archives for it
}

// number is the version without the v, as packages have it.
func (b *build) number() string { return strings.TrimPrefix(b.version, "v") }

// toolchain builds releases, whichever version of Go is installed: the first one of whose standard library no
// vulnerability is known that the program calls (make vuln).
const toolchain = "go1.26.10"

// semantic is a version by semver.org, with a v ahead.
var semantic = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	b := &build{targets: targets}
	flags.StringVar(&b.version, "version", "", "the semantic `version`, such as v1.2.3; by default the one that git describe gives")
	flags.StringVar(&b.source, "source", "..", "the root of the tree")
	flags.StringVar(&b.out, "o", "../dist", "the `directory` to write, which is replaced")
	dirty := flags.Bool("dirty", false, "allow changes that are not committed, for trying the command: such a release cannot be made again")
	only := flags.String("targets", "", "only these `systems`, such as linux-amd64,darwin-arm64")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *only != "" {
		b.targets = nil
		for _, name := range strings.Split(*only, ",") {
			system, arch, _ := strings.Cut(name, "-")
			b.targets = append(b.targets, target{system, arch})
		}
	}
	if !*dirty {
		if err := b.clean(ctx); err != nil {
			return err
		}
	}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	defer os.RemoveAll(b.work)
	return b.all(ctx)
}

// prepare finds the version and the date, and makes the directories.
func (b *build) prepare(ctx context.Context) (err error) {
	if b.source, err = filepath.Abs(b.source); err != nil {
		return err
	}
	if b.out, err = filepath.Abs(b.out); err != nil {
		return err
	}
	if b.version == "" {
		out, err := command(ctx, b.source, nil, "git", "describe", "--tags", "--match", "v[0-9]*")
		if err != nil {
			return fmt.Errorf("no tag such as v1.2.3 before this commit (%w): give -version", err)
		}
		b.version = strings.TrimSpace(string(out))
	}
	if !semantic.MatchString(b.version) {
		return fmt.Errorf("%s: not a semantic version such as v1.2.3", b.version)
	}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		out, err := command(ctx, b.source, nil, "git", "log", "-1", "--format=%ct")
		if err != nil {
			return fmt.Errorf("the time of the last commit: %w: set SOURCE_DATE_EPOCH", err)
		}
		seconds = strings.TrimSpace(string(out))
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	b.date = time.Unix(n, 0).UTC()
	if err := checkOutput(b.out); err != nil {
		return err
	}
	if b.work, err = os.MkdirTemp("", "cairn-release-"); err != nil {
		return err
	}
	return nil
}

// clean fails if the tree has changes that are not committed. A tree that is not git's is as it was unpacked.
func (b *build) clean(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(b.source, ".git")); os.IsNotExist(err) {
		return nil
	}
	out, err := command(ctx, b.source, nil, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if first, _, _ := strings.Cut(string(out), "\n"); first != "" {
		return fmt.Errorf("%s has changes that are not committed (%s): commit them, or give -dirty", b.source, strings.TrimSpace(first))
	}
	return nil
}

// checkOutput empties the output directory, if it is one that this command made.
func checkOutput(dir string) error {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, sumsFile)); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty, and not of an earlier release", dir)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// all makes all files.
func (b *build) all(ctx context.Context) error {
	if err := b.documentation(ctx); err != nil {
		return err
	}
	for _, t := range b.targets {
		fmt.Fprintln(os.Stderr, "building", t)
		program, err := b.compile(ctx, t)
		if err != nil {
			return err
		}
		if err := b.addHooks(ctx, t); err != nil {
			return err
		}
		if err := b.archive(t, program); err != nil {
			return err
		}
		if t.os == "linux" {
			if err := b.packages(t, program); err != nil {
				return err
			}
		}
		if err := b.materials(t, program); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(b.targets, func(t target) bool { return t.os == "linux" }) {
		if err := b.container(); err != nil {
			return err
		}
	}
	if err := errors.Join(b.formula(), b.scoop()); err != nil {
		return err
	}
	return b.sums()
}

// compile builds the program for a system and returns its path.
func (b *build) compile(ctx context.Context, t target) (string, error) {
	path := filepath.Join(b.work, t.String(), t.program())
	env := []string{"CGO_ENABLED=0", "GOOS=" + t.os, "GOARCH=" + t.arch, "GOFLAGS=-mod=readonly"}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X github.com/cairnprof/cairn/internal/verb.release=" + b.version}
	for _, room := range once {
		args = append(args, "-gcflags=github.com/cairnprof/cairn/internal/"+room+"/...=-l")
	}
	_, err := command(ctx, b.source, env, "go", append(args, "-o", path, "./cmd/cairn")...)
	return path, err
}

// once are the packages whose code runs once for each command, file or request: what they call is not inlined, which would make
// the program 0.4 MB larger, and no command faster.
var once = []string{"cli", "output", "toolchain", "fleet"}

// command runs a command and returns its output. Its error has what the command printed.
func command(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOTOOLCHAIN="+toolchain), env...)
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, strings.TrimSpace(problems.String()))
	}
	return out, nil
}
