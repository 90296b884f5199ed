package spikes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/output/spikelist"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/internal/watch/attach"
)

// spikeAttachFlags are the flags of cairn watch attach.
type spikeAttachFlags struct {
	dir, threshold string
	background     bool
	choose         detourFlags
	show           spikelist.Choice
}

func newSpikeAttachCmd(s *verb.Streams) *cobra.Command {
	var f spikeAttachFlags
	c := &cobra.Command{
		Use:   "attach [flags] PID [PROGRAM...]",
		Short: "Find spikes in a running program",
		Long: `attach prints where each thread of a running program is and since when it waits there,
hooks the program's functions, and prints the calls that exceed the threshold as they
end, until Ctrl-C or the program's exit. The program need not be
built for it or restarted. On Ctrl-C the hooks are removed, and nothing is left in the
program. All its threads are stopped several times, for some milliseconds each, while
hooks are installed, and again while they are removed.

The program writes a log as in mode spike, with its own permissions: its user must
be able to write to the directory. Function names and source lines are read from the
program, or from separate debug files if it is stripped: PROGRAM is one that is not beside it.

Only root and the user of the program can attach. Not supported are programs that are
statically linked, written in Go, run with more privileges than their user, or are
traced by another program, and those with a seccomp filter that forbids a system call
which attach needs; only root can read the filter. They continue unchanged.`,
		Example: `  cairn watch attach --threshold 5ms 4711
  cairn watch attach --background --dir /tmp/raws $(pidof redis-server)
  cairn watch detach 4711`,
		Args: func(c *cobra.Command, args []string) error {
			others, binaries := verb.SplitBinaries(args)
			f.show.Debug = append(f.show.Debug, binaries...)
			if len(others) == 0 {
				others = args // the error says that this is no process
			}
			return pidArg("attach")(c, others)
		},
		RunE: func(c *cobra.Command, args []string) error {
			args, _ = verb.SplitBinaries(args)
			pid, _ := strconv.Atoi(args[0])
			return f.run(c.Context(), s, pid)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.dir, "dir", "", "`directory` for the program's log (default CAIRN_DIR, or the current directory)")
	fl.StringVar(&f.threshold, "threshold", "10ms", "calls that take longer are spikes, such as `5ms`")
	fl.BoolVar(&f.background, "background", false, "return at once; cairn watch detach removes the hooks")
	fl.BoolVar(&f.show.Json, "json", false, "print a list of each thread as it was, and then each spike")
	f.show.RegisterLines(c)
	fl.StringArrayVar(&f.show.Debug, "debug", nil, "name functions by this program or debug `file`, found by its build id, or by those below a directory; repeatable")
	verb.Hide(c, "debug")
	fl.BoolVar(&f.show.NoInlined, "no-inlined", false, "omit inlined functions (large programs are read faster)")
	f.choose.register(fl, "watch attach", "")
	f.show.RegisterColor(c)
	return c
}

func newSpikeDetachCmd(s *verb.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "detach PID",
		Short: "Remove the hooks of watch attach from a program",
		Long: `detach removes from a running program all that cairn watch attach installed: its code
is restored, and no thread, memory or open file of cairn is left. The log remains. A
cairn watch attach that shows spikes of the program exits.`,
		Example: `  cairn watch detach 4711`,
		Args:    pidArg("detach"),
		RunE: func(_ *cobra.Command, args []string) error {
			pid, _ := strconv.Atoi(args[0])
			// It is not left in the middle.
			if err := attach.Detach(context.Background(), pid); err != nil {
				return fmt.Errorf("watch detach: %w", err)
			}
			verb.Note(s, "process %d: hooks removed", pid)
			return nil
		},
	}
}

// pidArg requires the id of one process.
func pidArg(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return verb.Usagef("watch %s: give one process id, such as: cairn watch %[1]s 4711", name)
		}
		if pid, err := strconv.Atoi(args[0]); err != nil || pid <= 0 {
			return verb.Usagef("watch %s: %q is not a process id", name, args[0])
		}
		return nil
	}
}

func (f *spikeAttachFlags) run(ctx context.Context, s *verb.Streams, pid int) error {
	spelled := toolchain.InstrumentFlags{Shim: toolchain.ShimOptions{Options: probe.Options{Timing: probe.Timing{Threshold: f.threshold}}}}
	if err := spelled.CheckThreshold(); err != nil {
		return err
	}
	if _, err := f.show.Style(s); err != nil {
		return err
	}
	r, err := f.attach(ctx, s, pid, spelled.Shim.Threshold)
	if r != nil {
		err = errors.Join(err, f.show.PrintThreads(s, pid, r))
	}
	if err != nil {
		return err
	}
	changed := ""
	if r.Changed > 0 {
		changed = fmt.Sprintf(", %s not hooked because their code differs from the file or crosses pages", report.Plural(r.Changed, "function"))
	}
	verb.Note(s, "process %d: %s hooked%s; stopped %s, for at most %.1f ms", pid, report.Plural(r.Hooked, "function"), changed, report.Plural(r.Stops, "time"), float64(r.Stopped)/float64(time.Millisecond))
	verb.Note(s, "log: %s", r.Log)
	if f.background {
		verb.Note(s, "to remove the hooks: cairn watch detach %d", pid)
		return f.show.CloseObjects(s)
	}
	return f.follow(ctx, s, pid, r.Log)
}

// attach puts the hooks into the program.
func (f *spikeAttachFlags) attach(ctx context.Context, s *verb.Streams, pid int, threshold string) (*attach.Result, error) {
	if err := attach.Check(pid); err != nil {
		return nil, fmt.Errorf("watch attach: %w", err)
	}
	exe := fmt.Sprintf("/proc/%d/exe", pid)
	plan, err := f.choose.planDetours(exe)
	if err != nil {
		name, _ := os.Readlink(exe)
		return nil, errors.New(strings.ReplaceAll(err.Error(), exe, cmp.Or(name, exe)))
	}
	if err := f.choose.summarize(s, plan); err != nil {
		return nil, err
	}
	library, err := toolchain.AttachLibrary(ctx)
	if err != nil {
		return nil, fmt.Errorf("watch attach: %w", err)
	}
	dir, err := filepath.Abs(cmp.Or(f.dir, os.Getenv("CAIRN_DIR"), "."))
	if err != nil {
		return nil, err
	}
	if err := attach.MakeDir(pid, dir); err != nil {
		return nil, fmt.Errorf("watch attach: %w", err)
	}
	r, err := attach.Attach(ctx, &attach.Options{
		PID: pid, Library: library, Plan: plan.plan, Entry: plan.entry,
		Words: []string{"CAIRN_DIR=" + dir, "CAIRN_SPIKE=threshold=" + threshold},
	})
	if err != nil {
		return r, fmt.Errorf("watch attach: %w", err)
	}
	return r, nil
}

// follow shows spikes until the user interrupts it, and removes the hooks.
func (f *spikeAttachFlags) follow(ctx context.Context, s *verb.Streams, pid int, log string) error {
	verb.RanProgram.Store(true) // an interrupt is no reason to leave it in the middle
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	f.show.Following = true
	f.show.Sort = "worst"
	followed := f.show.Write(ctx, s, []string{log})
	err := attach.Detach(context.WithoutCancel(ctx), pid)
	switch {
	case errors.Is(err, attach.ErrNotAttached), errors.Is(err, attach.ErrEnded):
		err = nil // another detach was faster, or the program has ended
	case err == nil:
		verb.Note(s, "process %d: hooks removed", pid)
	default:
		err = fmt.Errorf("watch detach: %w", err)
	}
	return errors.Join(followed, err)
}
