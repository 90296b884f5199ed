// Package samplesummary describes inputs of samples as tables and JSON: what kind of profile can be made of them.
package samplesummary

import (
	"context"
	"io"
	"strings"
	"sync/atomic"

	"github.com/cairnprof/cairn/format/simpleperf"
	"github.com/cairnprof/cairn/format/unsymbolized"
	"github.com/cairnprof/cairn/internal/inputs/sampleset"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/samples/samplefile"
	"github.com/cairnprof/cairn/internal/samples/samplestats"
	"github.com/cairnprof/cairn/internal/verb"
)

// Document is the description of one input.
type Document interface {
	// Write writes it as tables with at most this many rows, 0 for all.
	Write(w io.Writer, style report.Style, top int) error
}

// Read counts the content of one input. If binaries are given, only samples in these are usable.
func Read(ctx context.Context, s *verb.Streams, path string, binaries []string) (Document, error) {
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
	opt := samplestats.Options{}
	if len(binaries) > 0 {
		opt.Modules = pipeline.Modules(binaries)
	}
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
	explain(s, in, r, binaries)
	return newSamplesJSON(in, r), nil
}

// explain prints advice about samples that cannot be used.
func explain(s *verb.Streams, in *samplefile.File, r *samplestats.Result, binaries []string) {
	file, total := in.Info().File, in.Stats().Samples
	switch {
	case total == 0:
		verb.Note(s, "%s: contains no samples", file)
	case r.Mappings == 0 && in.Info().Format == simpleperf.Format:
		verb.Note(s, "%s: no sample is in a file that it names: use simpleperf's perf.data", file)
	case r.Mappings == 0:
		verb.Note(s, "%s: the addresses of binaries are unknown: run perf script with --show-mmap-events", file)
	case in.Text && r.Unmapped+r.ByReason[samplestats.NoMapping] > total/2:
		verb.Note(s, "%s: most stacks are in no mapping: some versions of perf script (6.1) print file offsets instead of addresses; use perf.data itself", file)
	}
	if len(binaries) > 0 && total > 0 && r.Mappings > 0 && r.ByReason[samplestats.Usable] == 0 {
		verb.Note(s, "%s: no sample is in %s: neither build id nor name nor content are those of a file that ran", file, strings.Join(binaries, " or "))
	}
	if !in.Info().HasPIDs && r.Conflicts > 0 {
		verb.Note(s, "%s: different files were mapped at one address (%s) and samples have no process id: run perf script with pid in -F",
			file, report.Plural(r.Conflicts, "time"))
	}
	if r.CutStacks > 0 {
		limit := "the kernel (sysctl kernel.perf_event_max_stack)"
		if in.Info().Simpleperf {
			limit = "simpleperf"
		}
		verb.Note(s, "%s: stacks of %s have the maximum depth of %s: callers may be missing", file, report.Plural(int(r.CutStacks), "sample"), limit)
	}
}
