package spikes

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/inputs/spikeset"
	"github.com/cairnprof/cairn/internal/output/spikelist"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/internal/spikes/spikecontrol"
	"github.com/cairnprof/cairn/internal/verb"
)

// openFlags are the flags of cairn watch open.
type openFlags struct {
	dir  string
	pids []int
	show spikelist.Choice
}

func newSpikeOpenCmd(s *verb.Streams) *cobra.Command {
	var f openFlags
	c := &cobra.Command{
		Use:   "open [DIR] [PROGRAM...]",
		Short: "Show the calls of running programs that have not ended",
		Long: `open shows the calls that are over their threshold now and have not ended, of running
programs of mode spike, native ones and those of cairn go, with their stacks, since when they
go on, and what their threads do. Programs that were started with CAIRN_SPIKE=control, or built
with cairn cc --control, look at their threads when they are asked; what the log of another one
has is at most a second old. cairn spikes shows spikes, and calls of programs that were killed.`,
		Example: `  cairn watch open raws
  cairn watch open --pid 4711 --json`,
		Args: f.args,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), s) },
	}
	fl := c.Flags()
	fl.StringVar(&f.dir, "dir", "", "programs with logs in this `directory` (default CAIRN_DIR, or the current directory)")
	fl.IntSliceVar(&f.pids, "pid", nil, "only processes with these `ids`")
	fl.IntVar(&f.show.Top, "top", 10, "show `n` stacks, 0 for all")
	fl.BoolVar(&f.show.Json, "json", false, "print a list of the calls, as cairn spikes does")
	f.show.RegisterLines(c)
	verb.Hide(c, "dir")
	fl.StringArrayVar(&f.show.Debug, "debug", nil, "name functions by this program or debug `file`, found by its build id, or by those below a directory; repeatable")
	verb.Hide(c, "debug")
	f.show.RegisterColor(c)
	return c
}

// args takes the directory with the logs, and programs or debug files, which name functions.
func (f *openFlags) args(_ *cobra.Command, args []string) error {
	dirs, binaries := verb.SplitBinaries(args)
	f.show.Debug = append(f.show.Debug, binaries...)
	switch {
	case len(dirs) == 0:
		return nil
	case f.dir != "" || len(dirs) > 1:
		return verb.Usagef("watch open: give one directory with logs, and no --dir")
	}
	f.dir = dirs[0]
	return nil
}

func (f *openFlags) run(ctx context.Context, s *verb.Streams) error {
	style, err := f.show.Style(s)
	if err != nil {
		return err
	}
	dir := cmp.Or(f.dir, os.Getenv("CAIRN_DIR"), ".")
	f.ask(ctx, s, dir)
	t := &spikeset.Set{Streams: s}
	defer t.Close()
	if t.Names, err = spikeset.NewNames(s, f.show.Names(), f.show.Debug, true); err != nil {
		return err
	}
	if err := t.Open([]string{dir}); err != nil {
		return err
	}
	running, err := f.keepRunning(t, dir)
	if err != nil {
		return err
	}
	t.Writer = &spikes.Writer{Set: t.Spikes, Name: t.Names.Name, Style: style}
	if err := t.Fill(); err != nil {
		return err
	}
	return f.write(t, running)
}

// ask lets the programs that listen look at their threads.
func (f *openFlags) ask(ctx context.Context, s *verb.Streams, dir string) {
	sockets, _ := spikecontrol.Find(dir) // that there is no such directory is said of its logs
	for _, socket := range sockets {
		if _, err := spikecontrol.Look(ctx, socket); err != nil && !errors.Is(err, spikecontrol.ErrGone) && !errors.Is(err, fs.ErrNotExist) {
			verb.Note(s, "%v", err)
		}
	}
}

// keepRunning removes the open calls of processes that have ended or are not selected, and returns how many run.
func (f *openFlags) keepRunning(t *spikeset.Set, dir string) (running int, err error) {
	missing := slices.Clone(f.pids)
	for _, log := range t.Logs {
		pid := int(log.Header.PID)
		selected := len(f.pids) == 0 || slices.Contains(f.pids, pid)
		ended := log.Trailer != nil && log.Trailer.Final || rawfiles.HasEnded(pid)
		if !selected || ended {
			log.Open = nil
			continue
		}
		missing = slices.DeleteFunc(missing, func(p int) bool { return p == pid })
		running++
	}
	switch {
	case len(missing) > 0:
		return 0, fmt.Errorf("watch open: no running process %d has a log in %s", missing[0], dir)
	case running == 0:
		return 0, fmt.Errorf("watch open: all processes with logs in %s have ended: cairn spikes shows their calls", dir)
	}
	return running, nil
}

func (f *openFlags) write(t *spikeset.Set, running int) error {
	late, lasting := t.Spikes.Open(t.Names.Name)
	b := bufio.NewWriter(t.Streams.Out)
	if f.show.Json {
		enc := f.show.Objects(b)
		for _, sp := range slices.Concat(late, lasting) {
			if err := enc.Encode(t.Writer.Object(spikes.Alone(sp), sp)); err != nil {
				return err
			}
		}
		if err := enc.Close(); err != nil {
			return err
		}
		return b.Flush()
	}
	sure, doubtful := t.Spikes.Alike(late)
	if err := f.show.WriteOpen(b, t, slices.Concat(sure, doubtful)); err != nil {
		return err
	}
	if len(late) == 0 {
		fmt.Fprintf(b, "no call of %d running %s is over its threshold\n\n", running, report.Either(uint64(running), "process", "processes"))
	}
	if text := t.Writer.Going(lasting); text != "" {
		fmt.Fprintf(b, "%s\n", text)
	}
	return b.Flush()
}
