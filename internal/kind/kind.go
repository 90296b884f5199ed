// Package kind determines what a file is by its first bytes: a registry of the inputs of all commands. An input that
// a new package reads gets a constant and a row, and is then known wherever files are told apart, and named in each
// message about a file of the wrong kind.
package kind

import (
	"bytes"
	"fmt"

	"github.com/cairnprof/cairn/format/bundle"
	"github.com/cairnprof/cairn/format/fdata"
	"github.com/cairnprof/cairn/format/gotrace"
	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mippack"
	"github.com/cairnprof/cairn/format/perfdata"
	"github.com/cairnprof/cairn/format/perfscript"
	"github.com/cairnprof/cairn/format/profdata"
	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/format/simpleperf"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/unsymbolized"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/calls/calldb"
	"github.com/cairnprof/cairn/internal/samples/stackfile"
)

// HeadSize is the number of bytes by which every kind is recognised: text can begin with long comments. Those with a
// magic number need 64 bytes.
const HeadSize = 1 << 16

// Kind is what a file is.
type Kind int

// The kinds of inputs.
const (
	Unknown     Kind = iota
	Empty            // without a byte
	Zeros            // whose beginning was never written
	Binary           // a program, a library or an object: ELF or Mach-O
	Raw              // .mipraw
	Map              // .mipmap
	Profile          // .mip
	Pack             // .mippack
	Bundle           // of files for a collector
	TraceLog         // a log of mode trace
	StacksLog        // a log of mode stacks
	WindowLog        // a log of spikes with the calls around them
	SpikeLog         // a log of spikes without these
	GoTrace          // of runtime/trace
	Database         // SQLite
	Parquet          //
	PerfData         // of perf record, or of simpleperf
	XRayProfile      // of XRay's mode of profiles
	XRayLog          // of XRay's other modes, or in YAML
	LLVMProfile      // .profdata or .profraw, or its text
	Compressed       // by gzip, zstd or xz
	BOLTProfile      // for llvm-bolt
	BOLTCounts       // for perf2bolt --pa
	PerfReport       // a table of perf report or simpleperf report
	Counts           // an unsymbolized profile of llvm-profgen
	SampleFile       // a sample profile for compilers
	PerfText         // of perf script, with addresses
	Stacks           // stacks of names, of any tool
)

// row is what is known of a kind.
type row struct {
	kind    Kind
	name    string // with its article, for messages
	readers string // who reads it, "" if the messages that mention it need not say so
	detect  func(head []byte) bool
}

// rows are in the order in which they are tried: magic numbers first, then what is recognised by its structure, last
// what nearly any text can look like.
var rows = []row{
	{Empty, "empty", "", func(head []byte) bool { return len(head) == 0 }},
	{Binary, "a binary", "", objfile.IsBinary},
	{Raw, "a raw file", "", isMIP(mip.KindRaw)},
	{Map, "a map of functions", "", isMIP(mip.KindMap)},
	{Profile, "a profile", "", isMIP(mip.KindProfile)},
	{Pack, "a pack of raw files", "", mippack.Detect},
	{Bundle, "a bundle of files for a collector", "", bundle.Detect},
	{GoTrace, "an execution trace of Go", "cairn report, cairn stacks and go tool trace read it", gotrace.Detect},
	{TraceLog, "a log of calls", "cairn stacks and cairn report read it", tracelog.DetectTrace},
	{StacksLog, "a log of the calls of each stack", "cairn stacks and cairn report read it", tracelog.DetectStacks},
	{WindowLog, "a log of spikes", "cairn spikes shows it", tracelog.DetectWindows},
	{SpikeLog, "a log of spikes", "cairn spikes shows it", tracelog.Detect},
	{Database, "an SQLite database", "cairn query reads those of its own", calldb.Detect},
	{Parquet, "a Parquet file", "query it with an engine such as DuckDB", begins("PAR1")},
	{PerfData, samples, samplesReaders, func(head []byte) bool { return perfdata.Detect(head) || simpleperf.Detect(head) }},
	{XRayProfile, "a profile of XRay", "cairn stacks reads it", xray.DetectProfile},
	{XRayLog, "a log of XRay", "cairn stacks and cairn report read it", xray.Detect},
	{Zeros, "zeros: what wrote it was killed before it recorded anything", "", func(head []byte) bool { return len(bytes.Trim(head, "\x00")) == 0 }},
	{LLVMProfile, "a profile of LLVM", "cairn import reads its order", func(head []byte) bool { return profdata.Detect(head) != profdata.KindUnknown }},
	{Compressed, "compressed", "decompress it", begins("\x1f\x8b", "\x28\xb5\x2f\xfd", "\xfd7zXZ\x00")},
	{BOLTProfile, "a profile of BOLT", "llvm-bolt reads it: give the samples that it was made of", isBOLT(fdata.Profile)},
	{BOLTCounts, "a file of counts for perf2bolt --pa", "it has no stacks: give the samples that were counted", isBOLT(fdata.Aggregated)},
	{PerfReport, "a table of perf report", "it has no single samples: give the perf.data, or the text of perf script", isPerfReport},
	{Counts, "an unsymbolized profile", "cairn profgen reads it with --unsymbolized-profile", unsymbolized.Detect},
	{SampleFile, "a sample profile", "cairn info sums it up", sampleprof.Detect},
	{PerfText, samples, samplesReaders, isPerfText},
	{Stacks, "stacks of another profiler", "cairn flame draws them", stackfile.Detect},
}

const (
	samples        = "samples"
	samplesReaders = "cairn samples describes them, cairn profgen and cairn flame read them"
)

func isMIP(k mip.Kind) func([]byte) bool {
	return func(head []byte) bool { return mip.Detect(head) == k }
}

func isBOLT(k fdata.Kind) func([]byte) bool {
	return func(head []byte) bool { return fdata.Detect(head) == k }
}

// isPerfReport reports whether a text is that of perf report --stdio, or of simpleperf report.
func isPerfReport(head []byte) bool {
	return bytes.Contains(head, []byte("\n# Overhead ")) && bytes.Contains(head, []byte("# Samples: ")) ||
		bytes.Contains(head, []byte("\nOverhead ")) && bytes.Contains(head, []byte("\nSamples: "))
}

func begins(magics ...string) func([]byte) bool {
	return func(head []byte) bool {
		for _, m := range magics {
			if bytes.HasPrefix(head, []byte(m)) {
				return true
			}
		}
		return false
	}
}

// isPerfText reports whether a text has more than comments, which any text may begin with, or the header of perf script.
func isPerfText(head []byte) bool {
	return perfscript.HasAddresses(head) || bytes.HasPrefix(head, []byte("# ========\n"))
}

// Of returns the kind of a file that begins with head, of which it reads HeadSize bytes at most. Text that is of no
// kind takes a third of a millisecond.
func Of(head []byte) Kind { return of(head, len(rows)) }

// Among is Of for those who want some kinds only, as of all files of a directory; Unknown stands for any other. It tries
// no row after the last of these kinds, and so takes a microsecond if they have magic numbers.
func Among(head []byte, wanted func(Kind) bool) Kind {
	n := len(rows)
	for n > 0 && !wanted(rows[n-1].kind) {
		n--
	}
	if k := of(head, n); wanted(k) {
		return k
	}
	return Unknown
}

// of tries the first n rows.
func of(head []byte, n int) Kind {
	head = head[:min(len(head), HeadSize)]
	for i := range rows[:n] {
		if rows[i].detect(head) {
			return rows[i].kind
		}
	}
	return Unknown
}

// String returns the kind with its article, and which commands read such a file.
func (k Kind) String() string {
	for i := range rows {
		switch r := &rows[i]; {
		case r.kind != k:
		case r.readers == "":
			return r.name
		default:
			return fmt.Sprintf("%s (%s)", r.name, r.readers)
		}
	}
	return "not in a format that cairn knows"
}

// IsCalls reports whether a file has calls: cairn stacks and the commands beside it read it.
func (k Kind) IsCalls() bool {
	switch k {
	case TraceLog, StacksLog, WindowLog, GoTrace, XRayLog, XRayProfile:
		return true
	}
	return false
}

// IsSpikes reports whether a file has spikes.
func (k Kind) IsSpikes() bool { return k == SpikeLog || k == WindowLog }

// IsBinary reports whether a file is a program, a library or an object.
func (k Kind) IsBinary() bool { return k == Binary }
