package samples

import (
	"fmt"
	"io"

	"github.com/cairnprof/cairn/format/perfdata"
	"github.com/cairnprof/cairn/format/perfscript"
	"github.com/cairnprof/cairn/format/unsymbolized"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/sample"
)

// sampleInput is an open input of samples.
type sampleInput struct {
	sample.Source

	in   io.Closer
	text bool          // of perf script
	note func() string // what could not be unpacked, when all was read
}

// openSamples opens the file at path: what perf record wrote or perf script
// printed, perhaps compressed. The caller closes it.
func openSamples(s *verb.Streams, path string) (*sampleInput, error) {
	stream, err := logfile.OpenStream(path, s.In)
	if err != nil {
		return nil, err
	}
	return samplesOf(stream)
}

// SampleHead is how much of an input tells what it is: the comments of perf script
// can be long.
const SampleHead = 1 << 16

// samplesOf is openSamples for what is open already. It closes what is none.
func samplesOf(stream *logfile.Stream) (*sampleInput, error) {
	head := stream.Peek(SampleHead)
	switch {
	case perfdata.Detect(head):
		file, err := stream.File()
		if err != nil {
			return nil, err
		}
		src, err := perfdata.Open(file, file.Size, file.Name)
		if err != nil {
			file.Close()
			return nil, err
		}
		return &sampleInput{Source: src, in: file, note: func() string { return file.Note }}, nil
	case perfscript.Detect(head):
		src, err := perfscript.Open(stream, stream.Name, stream.Size)
		if err != nil {
			stream.Close()
			return nil, err
		}
		return &sampleInput{Source: src, in: stream, text: true, note: stream.Note}, nil
	}
	defer stream.Close()
	if len(head) == 0 { // nothing is in it, or nothing of it can be unpacked
		if _, err := stream.Read(make([]byte, 1)); err != nil && err != io.EOF {
			return nil, err
		}
	}
	what := verb.KindName(head)
	if unsymbolized.Detect(head) {
		what = "an unsymbolized profile, which has no single samples"
	}
	return nil, fmt.Errorf("%s: not output of perf record or perf script: it is %s", stream.Name, what)
}

// Close closes the file.
func (in *sampleInput) Close() error { return in.in.Close() }

// notes tells the user what is missing from an input that was read.
func (in *sampleInput) notes(s *verb.Streams) {
	info, stats := in.Info(), in.Stats()
	for _, text := range info.Notes {
		verb.Note(s, "%s: %s", info.File, text)
	}
	if text := in.note(); text != "" {
		verb.Note(s, "%s", text)
	}
	if stats.Lost > 0 {
		verb.Note(s, "%s: the kernel dropped %s records: perf record was too slow (see its -m)", info.File, report.Count(stats.Lost))
	}
	// A frame and its caller are two at least.
	if hasStacks(info.Kind) && stats.Samples >= 100 && stats.Frames < stats.Samples+stats.Samples/4 {
		verb.Note(s, "%s: most stacks have only one frame, without callers: compile the program with -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer", info.File)
	}
	for _, d := range stats.Damage {
		verb.Note(s, "%v", d)
	}
}
