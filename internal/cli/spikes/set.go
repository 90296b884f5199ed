package spikes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/output/spikelist"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/spikes/spikecontrol"
	"github.com/cairnprof/cairn/internal/verb"
)

// spikeTargets select running programs.
type spikeTargets struct {
	dir     string
	pids    []int
	sockets []string
	json    bool
	color   verb.DisplayFlags
}

func (f *spikeTargets) register(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.dir, "dir", "", "programs with logs in this `directory` (default CAIRN_DIR, or the current directory)")
	fl.IntSliceVar(&f.pids, "pid", nil, "only processes with these `ids`")
	fl.StringArrayVar(&f.sockets, "socket", nil, "the program with the control socket at this `path`; repeatable")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	f.color.RegisterColor(c)
	verb.Rules(c, verb.Excludes("socket", "dir", "pid"))
}

func newSpikeShowCmd(s *verb.Streams) *cobra.Command {
	var f spikeTargets
	c := &cobra.Command{
		Use:   "show",
		Short: "Show the spike settings of running programs",
		Long: `show asks running programs for their spike settings and how many spikes they found.
Programs answer if they were started with CAIRN_SPIKE=control, or built with cairn cc
--control; each has a socket beside its log, or on Windows a pipe. Programs answer only
their own user.`,
		Example: `  CAIRN_DIR=raws CAIRN_SPIKE=control ./app &
  cairn watch show --dir raws`,
		Args: verb.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), s, func(ctx context.Context, socket string) (*spikecontrol.Status, error) {
				return spikecontrol.Show(ctx, socket)
			})
		},
	}
	f.register(c)
	return c
}

func newSpikeSetCmd(s *verb.Streams) *cobra.Command {
	var f spikeTargets
	c := &cobra.Command{
		Use:   "set [flags] WORD...",
		Short: "Change the spike settings of running programs",
		Long: `set changes settings of the running programs that cairn watch show lists, and prints
the new settings. The words are those of CAIRN_SPIKE:
  threshold=5ms     minimum duration of a spike
  on, off           start or stop looking for spikes
  rate=10           write at most 10 spikes a second, and count the others
  budget=8ms        maximum duration of a frame, see cairn spikes --frames
  +ai, -net         enable and disable channels of marks
  channels=ai+net   enable these channels and disable all others
A program that does not know a word, or has no such channel, is not changed.
Flags come before the words; if the first word begins with -, write -- before it.`,
		Example: `  cairn watch set --dir raws threshold=5ms
  cairn watch set --pid 4711 off
  cairn watch set -- -net +ai`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return verb.Usagef("set: no word given; use: cairn watch set threshold=5ms")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			for _, word := range args {
				if strings.ContainsAny(word, "\n#") || word == "" {
					return verb.Usagef("set: unknown word %q", word)
				}
			}
			return f.run(c.Context(), s, func(ctx context.Context, socket string) (*spikecontrol.Status, error) {
				return spikecontrol.Set(ctx, socket, args)
			})
		},
	}
	c.Flags().SetInterspersed(false)
	f.register(c)
	return c
}

// run calls ask for every selected program, and shows the answers.
func (f *spikeTargets) run(ctx context.Context, s *verb.Streams, ask func(context.Context, string) (*spikecontrol.Status, error)) error {
	style, err := f.color.Style(s)
	if err != nil {
		return err
	}
	sockets, err := f.find(ctx, s)
	if err != nil {
		return err
	}
	var list []*spikecontrol.Status
	failed := 0
	for _, socket := range sockets {
		st, err := ask(ctx, socket)
		if err != nil {
			failed++
			verb.Note(s, "%v", err)
			continue
		}
		list = append(list, st)
	}
	switch {
	case f.json:
		err = report.WriteJSON(s.Out, struct {
			Programs []spikelist.Status `json:"programs"`
		}{spikelist.StatusJSON(list)})
	case len(list) > 0:
		err = spikelist.WriteStatus(s, style, list)
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d of %s failed", failed, report.Plural(len(sockets), "program"))
	}
	return err
}

// find returns the sockets that are meant and that somebody listens at.
func (f *spikeTargets) find(ctx context.Context, s *verb.Streams) ([]string, error) {
	if len(f.sockets) > 0 {
		return f.sockets, nil
	}
	dir := cmp.Or(f.dir, os.Getenv("CAIRN_DIR"), ".")
	all, err := spikecontrol.Find(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var live []string
	missing := slices.Clone(f.pids)
	for _, socket := range all {
		st, err := spikecontrol.Show(ctx, socket)
		switch {
		case errors.Is(err, spikecontrol.ErrGone), errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			if len(f.pids) == 0 {
				verb.Note(s, "%v", err)
			}
			continue
		case len(f.pids) > 0 && !slices.Contains(f.pids, st.PID):
			continue
		}
		missing = slices.DeleteFunc(missing, func(pid int) bool { return pid == st.PID })
		live = append(live, socket)
	}
	switch {
	case len(missing) > 0:
		return nil, fmt.Errorf("process %d has no socket in %s: start it with CAIRN_SPIKE=control", missing[0], dir)
	case len(live) == 0:
		return nil, fmt.Errorf("no control socket in %s: start a program with CAIRN_SPIKE=control, or give its directory with --dir", dir)
	}
	return live, nil
}
