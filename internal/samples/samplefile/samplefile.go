// Package samplefile opens files of samples of any tool, compressed or not.
package samplefile

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/cairnprof/cairn/format/fdata"
	"github.com/cairnprof/cairn/format/perfdata"
	"github.com/cairnprof/cairn/format/perfscript"
	"github.com/cairnprof/cairn/format/simpleperf"
	"github.com/cairnprof/cairn/format/unsymbolized"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/stackfile"
	"github.com/cairnprof/cairn/sample"
)

// File is an open input of samples.
type File struct {
	sample.Source

	Text bool // of perf script

	in   io.Closer
	note func() string // returns what could not be decompressed, after everything was read
}

// HeadSize is the number of bytes by which an input is recognised: the comments of perf script
// can be long.
const HeadSize = 1 << 16

// Detect reports whether a file that begins with head has samples.
func Detect(head []byte) bool {
	return perfdata.Detect(head) || simpleperf.Detect(head) || isText(head)
}

// isText reports whether a text is that of perf script. The lines of BOLT's inputs could be those before its samples.
func isText(head []byte) bool {
	return perfscript.Detect(head) && fdata.Detect(head) == fdata.Other && !unsymbolized.Detect(head) && (perfscript.HasAddresses(head) || !stackfile.Detect(head))
}

// Expand replaces patterns by the files that they match, and directories by the files of samples
// below them.
func Expand(args []string) ([]string, error) {
	return logfile.ExpandDirs(args, "file of samples", Detect)
}

// UnknownError reports that a file has no samples.
type UnknownError struct {
	Name string
	Head []byte // for readers of other formats
}

func (e *UnknownError) Error() string {
	if d := e.Unreadable(); d != nil {
		return fmt.Sprintf("%s: output of perf script of which hardly a line can be read: line %d: %s", e.Name, d.Line, d.What)
	}
	text := e.Name + ": not output of perf record or perf script"
	if unsymbolized.Detect(e.Head) {
		text += ": it is an unsymbolized profile, which has no single samples"
	}
	return text
}

// Unreadable returns the first line that cannot be read of a file that is output of perf script
// all the same, as its records of mappings show; nil if it is none.
func (e *UnknownError) Unreadable() *sample.Damage {
	if !bytes.Contains(e.Head, []byte("PERF_RECORD_")) {
		return nil
	}
	src, err := perfscript.Open(bytes.NewReader(e.Head), e.Name, 0)
	if err != nil {
		return nil
	}
	for b, err := range src.Batches(context.Background()) {
		if err != nil {
			return nil
		}
		b.Release()
	}
	if damage := src.Stats().Damage; len(damage) > 0 {
		return damage[0]
	}
	return nil
}

// Open opens the file at path: the output of perf record or perf script, possibly compressed.
// The caller closes it.
func Open(path string, stdin io.Reader) (*File, error) {
	stream, err := logfile.OpenStream(path, stdin)
	if err != nil {
		return nil, err
	}
	return Of(stream)
}

// Of is Open for an open stream. It closes a stream without samples.
func Of(stream *logfile.Stream) (*File, error) {
	head := stream.Peek(HeadSize)
	switch {
	case perfdata.Detect(head), simpleperf.Detect(head):
		file, err := stream.File()
		if err != nil {
			return nil, err
		}
		src, err := openWhole(file, simpleperf.Detect(head))
		if err != nil {
			file.Close()
			return nil, err
		}
		return &File{Source: src, in: file, note: func() string { return file.Note }}, nil
	case isText(head):
		src, err := perfscript.Open(stream, stream.Name, stream.Size)
		if err != nil {
			stream.Close()
			return nil, err
		}
		return &File{Source: src, in: stream, Text: true, note: stream.Note}, nil
	}
	defer stream.Close()
	if len(head) == 0 { // it is empty, or cannot be decompressed
		if _, err := stream.Read(make([]byte, 1)); err != nil && err != io.EOF {
			return nil, err
		}
	}
	return nil, &UnknownError{stream.Name, head}
}

// openWhole opens a file that is not read from its beginning to its end.
func openWhole(file *logfile.File, ofSimpleperf bool) (sample.Source, error) {
	if ofSimpleperf {
		return simpleperf.Open(file, file.Size, file.Name)
	}
	return perfdata.Open(file, file.Size, file.Name)
}

// Close closes the file.
func (f *File) Close() error { return f.in.Close() }

// Recorder returns the command that recorded an input.
func Recorder(info *sample.Info) string {
	if info.Simpleperf {
		return "simpleperf record"
	}
	return "perf record"
}

// Empty returns why an input that was read has no samples, nil if it has some.
func Empty(info *sample.Info, stats *sample.Stats) error {
	switch {
	case stats.Samples > 0:
		return nil
	case stats.Trace.Undecoded > 0:
		return fmt.Errorf("%s: no samples: %s", info.File, undecoded(info, stats))
	}
	return fmt.Errorf("%s: it contains no samples: did what was recorded run, and count the event?", info.File)
}

// undecoded says how much of an input is a trace of instructions, of which it has no samples.
func undecoded(info *sample.Info, stats *sample.Stats) string {
	how := fmt.Sprintf("perf inject --itrace=i10usle -i %s -o samples.data makes samples of them", info.File)
	if info.Simpleperf {
		how = "simpleperf inject counts the branches in them, for create_llvm_prof of AutoFDO"
	}
	return report.Count(stats.Trace.Undecoded) + " bytes of a trace of instructions (Intel PT, CoreSight) are not decoded: " + how
}

// Notes describe what is missing from an input that was read.
func (f *File) Notes() (notes []string) {
	info, stats := f.Info(), f.Stats()
	recorder := Recorder(info)
	say := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	for _, text := range info.Notes {
		say("%s: %s", info.File, text)
	}
	if text := f.note(); text != "" {
		say("%s", text)
	}
	if stats.Lost > 0 {
		say("%s: the kernel dropped %s records: %s was too slow (see its -m)", info.File, report.Count(stats.Lost), recorder)
	}
	if stats.WrongPath > 0 {
		say("%s: %s that the processor only speculated on and did not execute left out (SPEC_WRONG_PATH)", info.File,
			report.Count(stats.WrongPath)+" "+report.Either(stats.WrongPath, "branch is", "branches are"))
	}
	if stats.Trace.Undecoded > 0 {
		say("%s: %s", info.File, undecoded(info, stats))
	}
	if l := stats.Trace; l.Lossy > 0 {
		say("%s: records are missing in %s of %s of the trace, it is not known how many (buffer full: %s, stopped: %s, collisions: %s): counts are too low",
			info.File, report.Count(l.Lossy), report.Plural(int(l.Pieces), "piece"), report.Count(l.Truncated), report.Count(l.Partial), report.Count(l.Collisions))
	}
	// With frame pointers, a stack has at least a frame and its caller.
	if info.Kind.HasStacks() && stats.Samples >= 100 && stats.Copies < stats.Samples/2 && stats.Frames < stats.Samples+stats.Samples/4 {
		say("%s: most stacks have only one frame, without callers: record with %s --call-graph fp, and compile the program with -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer", info.File, recorder)
	}
	for _, d := range stats.Damage {
		say("%v", d)
	}
	return notes
}
