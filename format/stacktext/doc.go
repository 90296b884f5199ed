// Package stacktext reads the texts in which profilers print stacks of symbols, for people or for flame graph tools:
//
//   - perf script of Linux: a line for the sample, then a line for each frame (perf.go)
//   - bpftrace: maps whose keys have stacks (bpftrace.go)
//   - DTrace, and stackcount of bcc: stacks with their count in the line after (dtrace.go)
//   - sample of macOS: a tree with a count for each node (macsample.go)
//   - Instruments: a tree copied as text ("Deep Copy"), with the weight of each node (instruments.go)
//   - simpleperf report-sample of Android: a block for each sample (simpleperf.go)
//
// The content of a text determines its kind. A line that cannot be used is an error of type *sample.Damage, after
// which reading continues; any other error is the last. Lengths of lines and stacks are bounded.
package stacktext

import (
	"io"
	"iter"

	"github.com/cairnprof/cairn/sample"
)

// Kind is a kind of text.
type Kind uint8

// The kinds.
const (
	Unknown Kind = iota
	Perf
	Bpftrace
	DTrace
	MacSample
	Instruments
	Simpleperf
	kinds
)

var kindNames = [kinds]string{
	"unknown text", "perf script text", "output of bpftrace", "output of DTrace", "output of sample (macOS)", "call tree of Instruments",
	"output of simpleperf report-sample",
}

func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return kindNames[Unknown]
}

// Stacks are what a reader yields: stacks that are valid until the next, and errors.
type Stacks = iter.Seq2[*sample.NamedStack, error]

var readers = [kinds]func(*lines) Stacks{
	Perf: readPerf, Bpftrace: readBpftrace, DTrace: readDTrace, MacSample: readMacSample, Instruments: readInstruments, Simpleperf: readSimpleperf,
}

// Read yields the stacks of a text of a kind. name is the file's name in errors.
func Read(k Kind, r io.Reader, name string) Stacks {
	if k >= kinds || readers[k] == nil {
		return func(func(*sample.NamedStack, error) bool) {}
	}
	return readers[k](newLines(r, name))
}

const (
	// maxFrames bounds a stack, as in format/perfscript.
	maxFrames = 8192
	// maxLine bounds a line, in bytes: names of functions with template arguments can be long.
	maxLine = 1 << 20
)

// What can be wrong with a text.
const (
	badLine   = "a line is not part of a stack and was skipped"
	longLine  = "a line is longer than 1 MB and was skipped"
	deepStack = "a stack has more than 8192 frames: its outermost frames were skipped"
	dropped   = "the kernel dropped a record, as perf record was too slow (see its -m)"
	badValue  = "a value is not a whole number: its stack was skipped"
)
