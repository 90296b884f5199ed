// Package build has the commands that build programs, with probes or by a profile. The
// replacements of compilers and assemblers that they start are in internal/toolchain.
package build

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
)

const buildHelp = `build runs a build command and instruments what it compiles, as cairn cc does. At
the end it prints a summary: how many files, functions and blocks were instrumented,
and what was not and why. It edits no file of the build. Trees that CMake or
configure prepared earlier need not be configured again, and do not refer to cairn
afterwards.

Compilers and linkers are intercepted by a library that is loaded into every program
of the build (LD_PRELOAD), whoever starts them and by whatever path. Where the
library cannot be used (no C compiler to build it with, a statically linked
compiler), and with --catch path, wrappers on PATH are used instead. Compilers that
environment variables name (CC, CXX, FC, LD...) are then wrapped too; compilers that
the build starts by an absolute path of its own are not intercepted. On Windows that is
always so.

A build that compiles nothing is an error: either it was up to date, or its
compilers could not be intercepted. --allow-nothing accepts such builds.

With --use nothing is instrumented. The build's code is laid out by a profile, as
cairn cc --use does.

With --map nothing is instrumented either, and the programs are byte for byte those of
the build without cairn. Beside each, PROGRAM.mipmap has where the blocks of its
functions are. From samples of the program, cairn profgen --format mip then estimates
how often each block and branch ran.`

// Build returns the command cairn build.
func Build(s *verb.Streams) *cobra.Command {
	var f toolchain.InstrumentFlags
	b := build{s: s}
	var way string
	c := &cobra.Command{
		Use:   "build [flags] -- COMMAND ARGS...",
		Short: "Run a build command and instrument it or optimise it by a profile",
		Long:  buildHelp,
		Example: `  cairn build -- make -j2
  cairn build --mode full -- sh -c './configure && make'
  cairn build --mode block -- sh -c 'cmake -B out . && cmake --build out'
  cairn build --prove --certificate app.json -- make -B
  cairn build --use app.mip -- make -B
  cairn build --map -- make -B`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return verb.Usagef("build: no command given; use: cairn build -- make")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.Check(c.Flags()); err != nil {
				return err
			}
			if way != catchPreload && way != catchPath {
				return verb.Usagef("--catch %s: must be preload or path", way)
			}
			if way == catchPreload && defaultCatch != catchPreload {
				return verb.Usagef("--catch preload: Windows loads no library into the programs of a build; use --catch path")
			}
			b.opts = toolchain.WrapperOptions{Shim: f.Shim}
			return runBuild(c.Context(), &b, way, args)
		},
	}
	c.Flags().SetInterspersed(false)
	f.Register(c.Flags())
	f.RegisterUse(c.Flags())
	f.RegisterMap(c.Flags())
	arrangeFlags(c)
	c.Flags().StringVar(&way, "catch", defaultCatch, "how to intercept compilers: `preload`, by a library loaded into every program of the build, or path, by wrappers on PATH")
	verb.Values(c, "catch", catchPreload, catchPath)
	c.Flags().BoolVar(&b.nothing, "allow-nothing", false, "succeed if nothing was compiled")
	c.Flags().StringVar(&b.certificate, "certificate", "", "with --prove: write the result for each object to this `file`, as JSON")
	c.Flags().BoolVar(&b.asJSON, "json", false, "print the summary as JSON on standard output")
	verb.Seldom(c, "catch", "certificate")
	verb.Rules(c, verb.Needs("certificate", "prove"))
	return c
}

// build is one run of cairn build.
type build struct {
	s       *verb.Streams
	opts    toolchain.WrapperOptions
	log     string // file that gets a JSON line per object
	raws    string // directory for raw files of programs that run during the build, or ""
	nothing bool   // a build in which nothing is compiled is not an error
	asJSON  bool
	failed  bool // the command

	certificate string // with --prove: file for the results
}

// runBuild runs the command with cairn in place of its compilers.
func runBuild(ctx context.Context, b *build, way string, args []string) error {
	// Compilers that cairn starts for itself must not be intercepted by an enclosing build.
	outer := os.Environ()
	os.Setenv(catch.EnvCaught, "1")
	log, err := os.CreateTemp("", "cairn-build-*.jsonl")
	if err != nil {
		return err
	}
	log.Close()
	defer os.Remove(log.Name())
	b.log = log.Name()

	path, err := exec.LookPath(args[0])
	if err != nil {
		return verb.Usagef("build: %w", err)
	}
	env, end, err := b.environment(ctx, way)
	if err != nil {
		return err
	}
	defer end()
	cmd := exec.Command(path, args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Env = append(outer, env...)
	if toolchain.StandsInFor(driver.ToolName(args[0])) { // the command is a compiler itself
		if cmd.Path, err = os.Executable(); err != nil {
			return err
		}
		if path, err = filepath.Abs(path); err != nil {
			return err
		}
		cmd.Env = append(cmd.Env, catch.EnvTool+"="+path)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = b.s.In, b.s.Out, b.s.Err
	if b.asJSON {
		cmd.Stdout = b.s.Err // standard output is for the summary
	}
	failure := runForeground(cmd)
	b.failed = failure != nil
	return cmp.Or(failure, b.summary())
}

// summary prints the summary of the build. It fails if nothing was instrumented.
func (b *build) summary() error {
	if b.opts.Shim.Map {
		return b.maps()
	}
	sum, err := toolchain.ReadBuildLog(b.log, b.opts.Shim.Mode.String())
	if err != nil {
		return err
	}
	sum.Cargo = sum.Cargo && !b.failed // what it compiled earlier is not all
	if b.opts.Shim.Prove {
		if err := sum.Certify(b.s, b.certificate); err != nil {
			return err
		}
	}
	remarks := &verb.Streams{Out: b.s.Out, Err: b.s.Remarks()}
	switch use := b.opts.Shim.Use; {
	case b.asJSON:
		err = report.WriteJSON(b.s.Out, sum)
	case use != nil:
		sum.PrintUse(remarks, use)
	default:
		sum.Print(remarks)
	}
	b.noteRaws()
	if err == nil && sum.Proof.Different() {
		return verb.ExitError(verb.ExitFail)
	}
	if err == nil && !b.nothing {
		err = sum.Nothing(b.opts.Shim.Use)
	}
	return err
}

// maps writes the maps of a plain build.
func (b *build) maps() error {
	sum, err := toolchain.WriteMaps(b.s, b.log)
	if err != nil {
		return err
	}
	if b.asJSON {
		err = report.WriteJSON(b.s.Out, sum)
	} else {
		sum.Print(&verb.Streams{Out: b.s.Out, Err: b.s.Remarks()})
	}
	if err == nil && !b.nothing {
		err = sum.Nothing()
	}
	return err
}

// noteRaws prints a note if programs of the build recorded data that was dropped.
func (b *build) noteRaws() {
	if entries, err := os.ReadDir(b.raws); b.raws != "" && err == nil && len(entries) > 0 {
		verb.Note(b.s, "instrumented programs that ran during the build wrote %s, which are discarded; set CAIRN_DIR to keep them", report.Plural(len(entries), "file"))
	}
}

// runForeground runs a command that shares our terminal. An interrupt reaches
// both; we wait for the child and take over its exit code. The signal is caught
// and not ignored: the child would ignore it, too, and never stop.
func runForeground(cmd *exec.Cmd) error {
	verb.RanProgram.Store(true)
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	defer signal.Stop(terminate)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-terminate: // for us alone
			cmd.Process.Signal(syscall.SIGTERM)
		case <-ended:
		}
	}()
	return toolchain.ChildError(cmd.Wait())
}
