package spikes

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
)

// spikeRunFlags are the flags of cairn watch run.
type spikeRunFlags struct {
	dir, threshold string
	detours        bool
	choose         detourFlags
}

func newSpikeRunCmd(s *verb.Streams) *cobra.Command {
	var f spikeRunFlags
	c := &cobra.Command{
		Use:   "run [flags] PROGRAM ARGS...",
		Short: "Run a program that was not built with cairn and find spikes",
		Long: `run starts a program with a library that hooks its functions, and reports what it
hooked. The program writes a log as in mode spike: see cairn spikes.

The functions must have been compiled, in the program or in its libraries, with one
of
  -finstrument-functions
  -pg -mfentry, or -pg alone
  -fpatchable-function-entry=5, or more
With --detours, functions of the program are hooked without such preparation, also
of a program for Windows, which runs in Wine on other systems.

All but -finstrument-functions report entries only; for these the library replaces
the return address to see the exit. Where shadow stacks (CET) are enabled, the return
address cannot be replaced, and such functions are not hooked.`,
		Example: `  cairn watch run --threshold 5ms --dir raws -- ./app args
  cairn watch run --detours ./app
  cairn spikes raws`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return verb.Usagef("watch run: no program given; use: cairn watch run ./app")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if !f.detours {
				if err := refuseFlags(c, "watch run", "--detours", append(detourFlagNames, alsoFlag)...); err != nil {
					return err
				}
			}
			return f.run(c.Context(), s, args)
		},
	}
	c.Flags().SetInterspersed(false)
	f.register(c)
	c.Flags().BoolVar(&f.detours, "detours", false, "hook the functions of the program without preparation by the compiler")
	return c
}

// register registers all but --detours.
func (f *spikeRunFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.dir, "dir", "", "`directory` for the logs (default CAIRN_DIR, or the current directory)")
	c.Flags().StringVar(&f.threshold, "threshold", "", "report calls that take longer, such as `5ms` (default that of CAIRN_SPIKE, or 10ms)")
	f.choose.register(c.Flags(), "watch run", "with --detours: ")
	f.choose.registerAlso(c.Flags(), "with --detours: ")
}

func (f *spikeRunFlags) run(ctx context.Context, s *verb.Streams, argv []string) error {
	spelled := toolchain.InstrumentFlags{Shim: toolchain.ShimOptions{Options: probe.Options{Timing: probe.Timing{Threshold: f.threshold}}}}
	if err := spelled.CheckThreshold(); err != nil {
		return err
	}
	f.threshold = spelled.Shim.Threshold
	if path := imageOf(argv[0]); path != "" {
		return f.runImage(ctx, s, path, argv)
	}
	if runtime.GOOS == "windows" {
		return fmt.Errorf("watch run: %s is not a program for Windows that can be found", argv[0])
	}
	h, err := hookableAt(ctx, argv[0])
	if err != nil {
		return err
	}
	var plan *detours
	if f.detours {
		if plan, err = f.choose.planDetours(h.path); err != nil {
			return err
		}
	}
	if plan == nil && len(h.ready) == 0 {
		return fmt.Errorf("watch run: no function of %s or its libraries was compiled for hooks: compile with -finstrument-functions, -pg -mfentry or -fpatchable-function-entry=5, or use --detours", h.path)
	}
	library, err := toolchain.HookLibrary(ctx)
	if err != nil {
		return fmt.Errorf("watch run: %w", err)
	}
	tmp, err := verb.PrivateDir("cairn-spike-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	env, err := f.environment(tmp, library, plan)
	if err != nil {
		return err
	}
	for _, text := range h.ready {
		verb.Note(s, "%s", text)
	}
	if plan != nil {
		if err := f.choose.summarize(s, plan); err != nil {
			return err
		}
	}
	return runHooked(s, verb.InPlaceOfUs(ctx, s, h.path, argv, env), filepath.Join(tmp, summaryFile), nil)
}

// summaryFile is the file to which the library writes its summary.
const summaryFile = "summary"

// settings returns the environment of the program on any system: where its log is, and what is in it.
func (f *spikeRunFlags) settings(path func(string) string) ([]string, error) {
	dir, err := filepath.Abs(cmp.Or(f.dir, os.Getenv("CAIRN_DIR"), "."))
	if err != nil {
		return nil, err
	}
	words := os.Getenv("CAIRN_SPIKE")
	if f.threshold != "" {
		words = strings.TrimPrefix(words+",threshold="+f.threshold, ",")
	}
	return []string{"CAIRN_DIR=" + path(dir), "CAIRN_SPIKE=" + words}, nil
}

// environment returns the additional environment variables of the program.
func (f *spikeRunFlags) environment(tmp, library string, plan *detours) ([]string, error) {
	env, err := f.settings(func(path string) string { return path })
	if err != nil {
		return nil, err
	}
	summary := filepath.Join(tmp, summaryFile)
	if err := os.WriteFile(summary, nil, 0o600); err != nil {
		return nil, err
	}
	loaded, err := verb.Preload(library, tmp)
	if err != nil {
		return nil, fmt.Errorf("watch run: %w", err)
	}
	env = append(env, loaded, "CAIRN_HOOK_SUMMARY="+summary)
	if plan == nil {
		return env, nil
	}
	file := filepath.Join(tmp, "plan")
	return append(env, "CAIRN_DETOURS="+file), os.WriteFile(file, plan.file, 0o600)
}

// runHooked runs a program and prints the library's summary, which is in a file. On Windows, that is of all processes, and of the program
// and these DLLs and programs.
func runHooked(s *verb.Streams, cmd *exec.Cmd, summary string, images []string) error {
	code, err := verb.RunThrough(cmd)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(summary)
	if err != nil {
		return err
	}
	lines := summaryOf(string(text), cmd.Process.Pid)
	if len(images) > 0 {
		lines = imageSummary(string(text), images)
	}
	for _, line := range lines {
		verb.Note(s, "%s", line)
	}
	if code != 0 {
		return verb.ExitError(code)
	}
	return nil
}

var entriesLine = lazyregexp.New(`^entries (\d+)(?: short=(\d+))?(?: unknown=(\d+))?(?: failed=(\d+) errno=(\d+))?(?: (.+))? in (\S.*)$`)

// summaryOf converts the library's summary of process pid to sentences. Child processes also
// load the library.
func summaryOf(text string, pid int) []string {
	var out []string
	other := ""
	for line := range strings.Lines(text) {
		by, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		if by != strconv.Itoa(pid) {
			continue
		}
		switch kind, rest, _ := strings.Cut(what, " "); kind {
		case "refused":
			out = append(out, "no return address was replaced: "+rest)
		case "entries":
			out = append(out, entriesSentence(what))
		case "detours":
			if path, ok := strings.CutPrefix(rest, "other "); ok {
				other = path
				continue
			}
			out = append(out, detoursSentence(rest, ""))
		default:
			out = append(out, what)
		}
	}
	if other != "" { // env, a shell or the like became it by exec
		out = append(out, "no function of "+other+" is hooked, which the program started in its place: give that program, and variables before cairn, as X=Y cairn watch run --detours -- "+filepath.Base(other))
	}
	return out
}

// detoursSentence describes the result of the plan of --detours, of functions of something.
func detoursSentence(rest, of string) string {
	what, detail, _ := strings.Cut(rest, " ")
	if n, err := strconv.Atoi(detail); err == nil && what == "hooked" {
		return report.Plural(n, "function") + of + " hooked"
	}
	return "functions are not hooked: " + detail
}

// entriesSentence describes how many entries of -fpatchable-function-entry are hooked in a
// module, and why others are not.
func entriesSentence(line string) string {
	m := entriesLine().FindStringSubmatch(line)
	if m == nil {
		return line
	}
	hooked, _ := strconv.Atoi(m[1])
	text := entriesText(hooked) + " hooked in " + m[7]
	for _, c := range []struct{ n, why string }{
		{m[2], "have no room for 5 bytes"},
		{m[3], "are of functions with an unknown start"},
		{m[4], "could not be changed (errno " + m[5] + ")"},
	} {
		if c.n != "" {
			text += ", " + c.n + " " + c.why
		}
	}
	if m[6] != "" {
		text += ": " + m[6]
	}
	return text
}
