// Package samples has the commands that record samples, show them, and convert them to
// profiles for compilers.
package samples

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/output/samplesummary"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/samplefile"
	"github.com/cairnprof/cairn/internal/verb"
)

type samplesFlags struct {
	verb.DisplayFlags
	binaries []string
	top      int
}

// Samples returns the command cairn samples.
func Samples(s *verb.Streams) *cobra.Command {
	var f samplesFlags
	c := &cobra.Command{
		Use:   "samples FILE... [BINARY...]",
		Short: "Summarise samples of perf or cairn record",
		Long: `samples reads the output of perf record, perf script or simpleperf and reports what
kind of profile can be made of it: whether samples have stacks, branches or both, which
processes and binaries they belong to, how many are usable, and why the others are
not. An input may be compressed with gzip or zstd, or be - for standard input; memory
use does not depend on its length. Of unsymbolized profiles, which llvm-profgen writes,
samples prints the sums.

A sample is usable if at least one of its addresses is in a mapped file, or in a BINARY
among the arguments, and its branches are consistent. samples does not read the
binaries, so it does not detect, for example, stacks that end too early.

Text should be printed by
  perf script -F pid,tid,ip,brstack --show-mmap-events
Without pid in -F the samples of several processes cannot be told apart; without
--show-mmap-events the addresses of binaries are unknown.`,
		Example: `  cairn samples perf.data
  perf script -F ip,brstack --show-mmap-events | cairn samples app -`,
		Args: verb.ExactFiles("samples", "an output of perf record or perf script", 1, -1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, args) },
	}
	c.Flags().StringSliceVar(&f.binaries, "binary", nil, "only samples in this `file` are usable; repeatable")
	verb.Hide(c, "binary")
	c.Flags().IntVar(&f.top, "top", 10, "show `n` binaries and processes; 0 for all. --json has all")
	c.Flags().BoolVar(&f.Json, "json", false, "print JSON")
	f.RegisterColor(c)
	return c
}

func (f *samplesFlags) run(ctx context.Context, s *verb.Streams, args []string) error {
	if f.top < 0 {
		return verb.Usagef("--top %d: must not be negative", f.top)
	}
	style, err := f.Style(s)
	if err != nil {
		return err
	}
	args, binaries := verb.SplitBinaries(args)
	if len(args) == 0 && len(binaries) > 0 {
		return verb.Usagef("samples: no samples given: %s is a program", binaries[0])
	}
	f.binaries = append(f.binaries, binaries...)
	paths, err := samplefile.Expand(args)
	if err != nil {
		return err
	}
	var all []samplesummary.Document
	for i, path := range paths {
		doc, err := samplesummary.Read(ctx, s, path, f.binaries)
		if err != nil {
			return err
		}
		if f.Json {
			all = append(all, doc)
			continue
		}
		if i > 0 {
			fmt.Fprintln(s.Out)
		}
		if err := doc.Write(s.Out, style, f.top); err != nil {
			return err
		}
	}
	if f.Json {
		return report.WriteJSON(s.Out, struct {
			Inputs []samplesummary.Document `json:"inputs"`
		}{all})
	}
	return nil
}
