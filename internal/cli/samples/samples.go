// Package samples has the commands that record samples, show them, and convert them to
// profiles for compilers.
package samples

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/format/unsymbolized"
	"github.com/cairnprof/cairn/internal/inputs/sampleset"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/samples/samplefile"
	"github.com/cairnprof/cairn/internal/samples/samplestats"
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
		Long: `samples reads the output of perf record or perf script and reports what kind of
profile can be made of it: whether samples have stacks, branches or both, which
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
	opt := samplestats.Options{}
	if len(f.binaries) > 0 {
		opt.Modules = pipeline.Modules(f.binaries)
	}
	var all []samplesDoc
	for i, path := range paths {
		doc, err := f.read(ctx, s, path, opt)
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
		if err := doc.write(s.Out, style, f.top); err != nil {
			return err
		}
	}
	if f.Json {
		return report.WriteJSON(s.Out, struct {
			Inputs []samplesDoc `json:"inputs"`
		}{all})
	}
	return nil
}

// samplesDoc is the description of one input.
type samplesDoc interface {
	// write writes it as tables with at most this many rows, 0 for all.
	write(w io.Writer, style report.Style, top int) error
}

// read counts the content of one input.
func (f *samplesFlags) read(ctx context.Context, s *verb.Streams, path string, opt samplestats.Options) (samplesDoc, error) {
	stream, err := logfile.OpenStream(path, s.In)
	if err != nil {
		return nil, err
	}
	if unsymbolized.Detect(stream.Peek(samplefile.HeadSize)) {
		defer stream.Close()
		return readCounts(s, stream)
	}
	in, err := samplefile.Of(stream)
	if err != nil {
		return nil, sampleset.OtherKind(err)
	}
	defer in.Close()
	const mega = 1 << 20
	var done atomic.Int64
	stop := func() {}
	if size := in.Info().Size; size > 0 {
		stop = verb.StartProgress(s, "MB", &done, int(size/mega))
	}
	r, err := samplestats.Run(ctx, in, opt, func(bytes int64) { done.Store(bytes / mega) })
	stop()
	if err != nil {
		return nil, err
	}
	for _, text := range in.Notes() {
		verb.Note(s, "%s", text)
	}
	f.explain(s, in, r)
	return newSamplesJSON(in, r), nil
}

// explain prints advice about samples that cannot be used.
func (f *samplesFlags) explain(s *verb.Streams, in *samplefile.File, r *samplestats.Result) {
	file, total := in.Info().File, in.Stats().Samples
	switch {
	case total == 0:
		verb.Note(s, "%s: contains no samples", file)
	case r.Mappings == 0:
		verb.Note(s, "%s: the addresses of binaries are unknown: run perf script with --show-mmap-events", file)
	case in.Text && r.Unmapped+r.ByReason[samplestats.NoMapping] > total/2:
		verb.Note(s, "%s: most stacks are in no mapping: some versions of perf script (6.1) print file offsets instead of addresses; use perf.data itself", file)
	}
	if len(f.binaries) > 0 && total > 0 && r.Mappings > 0 && r.ByReason[samplestats.Usable] == 0 {
		verb.Note(s, "%s: no sample is in %s: neither build id nor name nor content are those of a file that ran", file, strings.Join(f.binaries, " or "))
	}
	if !in.Info().HasPIDs && r.Conflicts > 0 {
		verb.Note(s, "%s: different files were mapped at one address (%s) and samples have no process id: run perf script with pid in -F",
			file, report.Plural(r.Conflicts, "time"))
	}
	if r.CutStacks > 0 {
		verb.Note(s, "%s: stacks of %s have the maximum depth of the kernel (sysctl kernel.perf_event_max_stack): callers may be missing",
			file, report.Plural(int(r.CutStacks), "sample"))
	}
}
