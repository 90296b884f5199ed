// Package unsymbolized reads and writes the text form of counted ranges and
// branches that llvm-profgen writes with --skip-symbolization and reads with
// --unsymbolized-profile.
//
// For each calling context there are its call sites, outermost first, then its
// ranges with the address of their last instruction, then its branches, all
// hexadecimal without 0x but the call sites, counts decimal:
//
//	[0x313 @ 0x1ac]
//	  2
//	  1a0-1ac:3542
//	  1b0-1c4:7
//	  1
//	  1ac->200:3669
//
// Contexts of profiles that are keyed by lines are names: functions with the places of their
// calls, and the function that ran:
//
//	[main:4 @ twice:0.1 @ add]
//
// "[]" is the context of code whose callers are unknown. Without contexts there is
// one list, without the line of the context and without the indentation.
// Contexts are in the order of their text, ranges and branches in that of their
// addresses. A branch from code that is in no known binary comes from an address
// that wraps around zero, such as ffffffffffbff001.
package unsymbolized

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/sample"
)

// Profile is the content of a file.
type Profile struct {
	// HasContexts says that the counts are separated by context. Without it there is at most one element of
	// Counts, and its Context is empty.
	HasContexts bool
	Counts      []sample.Counts
	// Names are the contexts, if those are not addresses: functions and the places of calls
	// in them, as many as there are Counts, whose Context is empty.
	Names [][]sampleprof.Frame
}

// Write writes a profile. It sorts the counts.
func Write(w io.Writer, p *Profile) error {
	out := bufio.NewWriter(w)
	type entry struct {
		key    string
		counts *sample.Counts
	}
	entries := make([]entry, len(p.Counts))
	for i := range p.Counts {
		p.Counts[i].Sort()
		entries[i] = entry{key(p.Counts[i].Context), &p.Counts[i]}
		if p.Names != nil {
			named := sampleprof.Context{Frames: p.Names[i]}
			entries[i].key = named.Name()
		}
	}
	stablesort.Func(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	indent := ""
	if p.HasContexts {
		indent = "  "
	}
	for _, e := range entries {
		if p.HasContexts {
			fmt.Fprintf(out, "[%s]\n", e.key)
		}
		writeCounts(out, e.counts, indent)
	}
	return out.Flush()
}

func key(context []uint64) string {
	var b []byte
	for i, addr := range context {
		if i > 0 {
			b = append(b, " @ "...)
		}
		b = append(b, "0x"...)
		b = strconv.AppendUint(b, addr, 16)
	}
	return string(b)
}

// writeCounts leaves errors to the Flush of out.
func writeCounts(out *bufio.Writer, c *sample.Counts, indent string) {
	fmt.Fprintf(out, "%s%d\n", indent, len(c.Ranges))
	var b []byte
	for _, r := range c.Ranges {
		b = appendPair(append(b[:0], indent...), r.First, "-", r.Last, r.Count)
		_, _ = out.Write(b)
	}
	fmt.Fprintf(out, "%s%d\n", indent, len(c.Branches))
	for _, r := range c.Branches {
		b = appendPair(append(b[:0], indent...), r.From, "->", r.To, r.Count)
		_, _ = out.Write(b)
	}
}

func appendPair(b []byte, from uint64, sep string, to, count uint64) []byte {
	b = strconv.AppendUint(b, from, 16)
	b = append(b, sep...)
	b = strconv.AppendUint(b, to, 16)
	b = append(b, ':')
	b = strconv.AppendUint(b, count, 10)
	return append(b, '\n')
}

// Detect reports whether a file that begins with head is such a profile: a context
// in brackets, or the number of ranges and then a range.
func Detect(head []byte) bool {
	first, rest, ok := bytes.Cut(bytes.TrimLeft(head, " \r\n"), []byte("\n"))
	if !ok {
		return false
	}
	first = bytes.TrimSpace(first)
	if _, err := parseAddresses(first); err == nil {
		return true
	}
	second, _, ok := bytes.Cut(rest, []byte("\n"))
	second = bytes.TrimSpace(second)
	if !ok {
		return false
	}
	if _, err := parseNames(first); err == nil {
		_, err := strconv.ParseUint(string(second), 10, 32)
		return err == nil
	}
	if n, err := strconv.ParseUint(string(first), 10, 32); err != nil || n == 0 {
		return false
	}
	_, err := parsePair(second, "-")
	return err == nil
}
