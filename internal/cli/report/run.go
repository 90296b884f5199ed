package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/inputs/reportset"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// runDirectory is where a run is recorded if the user names no directory. Further runs have a number behind it.
const runDirectory = "cairn-run"

type runFlags struct {
	reportFlags
	dir      string
	programs []string
	open     bool
}

// Run returns the command cairn run.
func Run(s *verb.Streams) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [flags] -- COMMAND ARGS...",
		Short: "Run a program with probes, and write the report of that run",
		Long: `run runs a command, collects what programs with probes recorded during it, and writes the
report. The command can be the program itself, what runs its tests (ctest, make check), or
a server, which Ctrl-C ends. It has the terminal, its output is unchanged, and its exit code
is that of cairn run.

The records, raw files and logs, stay in a directory of their own: cairn-run, cairn-run-2 and
so on, or --dir, with the maps of the programs that wrote them. Every other command reads
them there, as cairn covered cairn-run, also when the programs have been built anew.

If the command is a program with probes, the report is about it and what else ran during the
command. Otherwise, as for ctest, it is about all programs and libraries with probes below the
current directory, also those that did not run. Programs are looked for at the path of the
command, among its libraries, below the current directory, and below --program.

cairn build and cairn go build make programs with probes. For others, cairn record samples,
and cairn watch run finds slow calls.`,
		Example: `  cairn run -- ./app
  cairn run -- make check
  cairn run --dir raws -o raws/report.html -- ./app`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return verb.Usagef("run: no command given; use: cairn run -- ./app")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, args) },
	}
	c.Flags().SetInterspersed(false)
	c.Flags().StringVar(&f.dir, "dir", "", "record into this `directory`, which is created and must be empty (default "+runDirectory+", with a number if it exists)")
	verb.Directories(c, "dir")
	c.Flags().StringArrayVar(&f.programs, "program", nil, "also look for programs that ran in this `file` or below this directory; repeatable")
	c.Flags().StringVarP(&f.out, "output", "o", "report.html", "write the report to this `file`")
	c.Flags().BoolVar(&f.open, "open", false, "open the report in a browser")
	c.Flags().BoolVar(&f.allow, "allow-omitted", false, "exit with the code of the command if inputs were omitted, rather than with 3")
	register(c, &f.Choice)
	c.ValidArgsFunction = nil // what is completed is a command
	return c
}

func (f *runFlags) run(ctx context.Context, s *verb.Streams, argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if f.dir, err = freshDirectory(f.dir); err != nil {
		return err
	}
	full, err := filepath.Abs(f.dir)
	if err != nil {
		return err
	}
	code, err := verb.RunThrough(verb.InPlaceOfUs(ctx, s, path, argv, []string{"CAIRN_DIR=" + full}))
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	// Interrupts until now were for the program.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return cmp.Or(f.report(ctx, s, path), asExit(code))
}

// asExit returns the error that makes a code that of cairn.
func asExit(code int) error {
	if code == 0 {
		return nil
	}
	return verb.ExitError(code)
}

// freshDirectory makes the directory of a run: dir, or one whose name is free.
func freshDirectory(dir string) (string, error) {
	if dir == "" {
		dir = runDirectory
		for n := 2; ; n++ {
			err := os.Mkdir(dir, 0o777)
			if !os.IsExist(err) {
				return dir, err
			}
			dir = fmt.Sprintf("%s-%d", runDirectory, n)
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = verb.Usagef("--dir %s: contains files: the records of a run need a directory of their own", dir)
	}
	return dir, err
}

// report writes the report of what is in the directory of the run.
func (f *runFlags) report(ctx context.Context, s *verb.Streams, command string) error {
	in := reportset.New(s)
	records, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	if len(records) == 0 {
		return f.nothing(command)
	}
	if err := in.Add(f.dir); err != nil {
		return fmt.Errorf("%w; the records are kept", err)
	}
	if err := in.AddPrograms(ctx, command, f.programs); err != nil {
		return fmt.Errorf("%w; the records are in %s", err, f.dir)
	}
	r, err := f.Model(ctx, s, in)
	if err != nil {
		return fmt.Errorf("%w; the records are in %s", err, f.dir)
	}
	defer r.Close()
	fmt.Fprintf(s.Remarks(), "%s: %s of this run\n", f.dir, report.Plural(len(records), "file"))
	for _, found := range r.Model.Findings {
		fmt.Fprintf(s.Remarks(), "  %s\n", found.Text)
	}
	if err := cmp.Or(f.finish(s, r, in.Omitted), keepMaps(s, f.dir, in.Ran())); err != nil || !f.open {
		return err
	}
	return f.show(ctx)
}

// nothing removes the directory of a run that left no records, and returns why it has none. Whether there was room for
// them is tried: the programs themselves can have said so among much else.
func (f *runFlags) nothing(command string) error {
	defer os.Remove(f.dir)
	trial := filepath.Join(f.dir, "trial")
	err := os.WriteFile(trial, make([]byte, 1<<16), 0o666)
	os.Remove(trial)
	switch {
	case err != nil:
		return fmt.Errorf("run: %s recorded nothing: %s cannot be written to: %w", command, f.dir, errors.Unwrap(err))
	case reportset.HasProbes(command):
		return fmt.Errorf("run: %s recorded nothing, although it has probes: what it printed may say why (docs/troubleshooting.md)", command)
	}
	return fmt.Errorf("run: %s recorded nothing: no program that it ran has probes (cairn build and cairn go build add them; cairn record and cairn watch run need none)", command)
}

// keepMaps writes the maps of programs into the directory of the run, so that its raw files can be read there by
// themselves. Of what has no map that can be read, as a program that was stripped, it says so.
func keepMaps(s *verb.Streams, dir string, programs []string) error {
	for _, path := range programs {
		m, err := gather.ReadMap(s, path)
		if err != nil {
			verb.Note(s, "%s has no map of %s: %v", dir, path, err)
			continue
		}
		to := filepath.Join(dir, fmt.Sprintf("%s.%s.mipmap", filepath.Base(path), m.BuildID))
		if err := verb.WriteFile(s, to, func(w io.Writer) error { return mip.WriteMap(w, m) }); err != nil {
			return err
		}
	}
	return nil
}

// show opens the report in a browser.
func (f *runFlags) show(ctx context.Context) error {
	for _, opener := range []string{"xdg-open", "open"} {
		if path, err := exec.LookPath(opener); err == nil {
			return exec.CommandContext(ctx, path, f.out).Run()
		}
	}
	return fmt.Errorf("--open: neither xdg-open nor open is installed: open %s", f.out)
}
