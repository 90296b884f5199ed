// Package profdata reads and writes the temporal traces in the text form of LLVM's
// instrumentation profiles: the order in which runs first called functions. Programs
// built with -fprofile-generate and -ftemporal-profile (or -mllvm
// -pgo-temporal-instrumentation) record one in each run. The indexed form is not read
// here; llvm-profdata merge --text turns it into this one.
//
// Lines that start with # and empty lines are ignored. A file starts
// with its header, lines that start with a colon, in any order and case:
//
//	:ir                      what was instrumented; also :fe, :csir
//	:entry_first             and others that say how; ignored
//	:temporal_prof_traces    which these follow:
//	2                        number of traces
//	7                        runs that they were sampled from
//	1                        weight of the first trace
//	main,foo,a.c;bar,        its functions, in the order of their first calls
//	1                        and so on
//	main,foo,
//
// A record for each function follows: its name, the hash of its control flow,
// the number of its counters, the counters, and perhaps bitmaps and values. Read
// ignores these records, as the order is known before them. Write writes them,
// because LLVM's tools drop the functions of a trace that have no record.
//
// A local function is named with its source file in front, FILE;NAME, or
// FILE:NAME by LLVM 16 and before.
//
// Source: llvm/lib/ProfileData/InstrProfReader.cpp and InstrProfWriter.cpp of
// LLVM 22.
package profdata

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/prof"
)

// Maxima of what Read accepts.
const (
	MaxTraces = 1 << 20 // traces
	MaxNames  = 1 << 26 // functions of all traces together
)

// ErrNoTraces is in the error of a profile without temporal traces.
var ErrNoTraces = errors.New("no temporal traces: compile with -fprofile-generate -ftemporal-profile (clang 20 and later) or -fprofile-generate -mllvm -pgo-temporal-instrumentation")

// Trace is the order in which one run first called functions.
type Trace struct {
	Weight uint64
	Names  []string // a function may occur twice, say in a run that forked
}

// Profile is a profile's temporal traces.
type Profile struct {
	Traces []Trace
	// StreamSize is the number of runs that Traces were sampled from.
	StreamSize uint64
	// Funcs are the functions of which Write makes records. Read leaves it
	// empty.
	Funcs []Func
}

// Func is the content of a function's record, for Write.
type Func struct {
	Name  string
	Hash  uint64
	Count uint64 // calls, or runs that called it
}

// Kind is the kind of a file, by its first bytes.
type Kind int

// The kinds of LLVM's profiles.
const (
	KindUnknown Kind = iota
	KindText         // what Read reads
	KindIndexed      // .profdata
	KindRaw          // .profraw
)

// Detect returns the kind of a file that starts with head. A text profile is recognized by its first line that
// is not a comment.
func Detect(head []byte) Kind {
	switch {
	case bytes.HasPrefix(head, []byte("\xfflprofi\x81")):
		return KindIndexed
	case bytes.HasPrefix(head, []byte("\x81rforpl\xff")):
		return KindRaw
	}
	for line := range bytes.Lines(head) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		for _, word := range headers {
			if len(line) > 1 && strings.HasPrefix(word, strings.ToLower(string(line[1:]))) && line[0] == ':' {
				return KindText
			}
		}
		break
	}
	return KindUnknown
}

const tracesHeader = "temporal_prof_traces"

// headers are the words that a header has after its colons.
var headers = []string{
	"ir", "fe", "csir", "entry_first", "not_entry_first", "instrument_loop_entries", "single_byte_coverage", tracesHeader,
}

// SplitName splits the name of a local function from its source file.
func SplitName(s string) (file, name string) {
	if file, name, ok := strings.Cut(s, ";"); ok && name != "" {
		return file, name
	}
	// A method of Objective-C has colons of its own: a.m:-[List add:].
	end := len(s)
	for _, start := range []string{"-[", "+["} {
		if i := strings.Index(s, start); i >= 0 {
			end = min(end, i)
		}
	}
	if i := strings.LastIndexByte(s[:end], ':'); i >= 0 && i+1 < len(s) {
		return s[:i], s[i+1:]
	}
	return "", s
}

// FromModule returns the traces of m, the heaviest first, under the names by which LLVM's tools know its functions. Functions that
// share a name get their source files as a prefix. A function whose name the format cannot hold is left out.
func FromModule(m *prof.Module) *Profile {
	shared := make(map[string]int, len(m.Funcs))
	for i := range m.Funcs {
		shared[m.Funcs[i].Name]++
	}
	names := make([]string, len(m.Funcs))
	p := &Profile{StreamSize: max(m.TracesSeen, uint64(len(m.Traces)))}
	known := make(map[string]bool, len(m.Funcs))
	for i := range m.Funcs {
		f := &m.Funcs[i]
		names[i] = f.Name
		if shared[f.Name] > 1 && f.File != "" {
			names[i] = f.File + ";" + f.Name
		}
		if checkName(names[i]) != nil {
			names[i] = ""
		}
		if names[i] == "" || known[names[i]] {
			continue
		}
		known[names[i]] = true
		count := max(m.Counts[i].Calls, m.Counts[i].Runs)
		p.Funcs = append(p.Funcs, Func{Name: names[i], Hash: uint64(f.Signature), Count: count})
	}
	for i := range m.Traces {
		t := Trace{Weight: m.Traces[i].Weight}
		for _, fn := range m.Traces[i].Funcs {
			if names[fn] != "" {
				t.Names = append(t.Names, names[fn])
			}
		}
		if len(t.Names) > 0 {
			p.Traces = append(p.Traces, t)
		}
	}
	// A profile has its traces by random keys. By weight, what is written does not depend on them more than it must.
	slices.SortStableFunc(p.Traces, func(a, b Trace) int { return cmp.Compare(b.Weight, a.Weight) })
	return p
}

// Write writes p. The form has no way to write a name with a comma, a blank at
// an end or a line break, nor one that starts like a comment or a header.
func Write(w io.Writer, p *Profile) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, ":ir\n:%s\n%d\n%d\n", tracesHeader, len(p.Traces), p.StreamSize)
	for i := range p.Traces {
		fmt.Fprintf(b, "%d\n", p.Traces[i].Weight)
		if len(p.Traces[i].Names) == 0 {
			return fmt.Errorf("trace %d has no functions, which the format cannot represent", i)
		}
		for _, name := range p.Traces[i].Names {
			if err := checkName(name); err != nil {
				return err
			}
			b.WriteString(name)
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	for i := range p.Funcs {
		f := &p.Funcs[i]
		if err := checkName(f.Name); err != nil {
			return err
		}
		fmt.Fprintf(b, "\n%s\n%s\n1\n%d\n", f.Name, strconv.FormatUint(f.Hash, 10), f.Count)
	}
	return b.Flush()
}

func checkName(name string) error {
	if name == "" || strings.ContainsAny(name, ",\r\n") || strings.ContainsAny(name[:1], ":#") || strings.TrimSpace(name) != name {
		return fmt.Errorf("function %q: LLVM's text format cannot represent this name", name)
	}
	return nil
}
