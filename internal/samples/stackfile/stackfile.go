// Package stackfile opens files of stacks that have names in place of addresses, as any tool wrote them: text of
// perf script with symbols, bpftrace, DTrace, sample and Instruments of macOS, folded stacks, profiles in the
// format of pprof, and samples of Android's simpleperf. The content determines the format.
package stackfile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/cairnprof/cairn/format/fdata"
	"github.com/cairnprof/cairn/format/folded"
	"github.com/cairnprof/cairn/format/pprofstacks"
	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/format/simpleperf"
	"github.com/cairnprof/cairn/format/stacktext"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/sample"
)

// HeadSize is the number of bytes by which an input is recognised: text of perf script can begin with thousands of
// mappings.
const HeadSize = 1 << 20

// Stacks are stacks, each valid until the next, and errors. After a *sample.Damage reading continues; any other error
// is the last.
type Stacks = iter.Seq2[*sample.NamedStack, error]

// File is an input of named stacks.
type File struct {
	Format string // for messages
	Stacks Stacks
}

// Detect reports whether a file that begins with head, HeadSize bytes of it or all, has stacks with names.
func Detect(head []byte) bool { return find(head) != nil }

// format is a format of files.
type format struct {
	name string
	read func(r io.Reader, name string) Stacks
	// binary: the input is no text.
	binary bool
}

// find returns the format of a file, nil if it is none of these.
func find(head []byte) *format {
	head = afterMappings(head)
	if pprofstacks.Detect(head) {
		return &format{"profile of pprof", pprofstacks.Read, true}
	}
	if simpleperf.Detect(head) {
		return &format{"samples of simpleperf", simpleperf.Read, true}
	}
	text := decoded(head)
	kind := stacktext.Detect(text)
	// Folded stacks have fewer marks than all but the texts of DTrace.
	if (kind == stacktext.Unknown || kind == stacktext.DTrace) && fdata.Detect(text) == fdata.Other && !sampleprof.Detect(text) && isFolded(text) {
		form := foldedForm(text)
		return &format{"folded stacks", func(r io.Reader, name string) Stacks { return readFolded(r, name, form) }, false}
	}
	if kind == stacktext.Unknown {
		return nil
	}
	return &format{kind.String(), func(r io.Reader, name string) Stacks { return stacktext.Read(kind, r, name) }, false}
}

// afterMappings returns a part of head that shows the format: of text of perf script what follows the events at its
// beginning.
func afterMappings(head []byte) []byte {
	const enough = 1 << 16
	for len(head) > enough {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		if !bytes.HasPrefix(line, []byte("#")) && !bytes.Contains(line, []byte("PERF_RECORD_")) {
			break
		}
		head = rest
	}
	return head[:min(len(head), enough)]
}

// decoded returns a head of text in UTF-8.
func decoded(head []byte) []byte {
	text, _ := io.ReadAll(stacktext.UTF8(strings.NewReader(string(head))))
	return text
}

// isFolded reports whether a text is folded stacks: all lines are but one, or three of four, and none is one of callgrind.
func isFolded(text []byte) bool {
	good, bad, columns, semicolons := 0, 0, 0, 0
	for len(text) > 0 {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		text = rest
		trimmed := bytes.TrimSpace(line)
		if bytes.Contains(trimmed, []byte("   ")) || bytes.HasPrefix(line, []byte("   ")) {
			columns++
		}
		semicolons += bytes.Count(trimmed, []byte(";"))
		switch {
		case !whole && good+bad > 0: // it may be cut off
		case len(trimmed) == 0 || isComment(string(trimmed)):
		case bytes.HasPrefix(trimmed, []byte("events: ")):
			return false
		case isStack(trimmed, whole):
			good++
		default:
			bad++
		}
	}
	const share = 3
	if semicolons == 0 && columns > good/share { // it is a table
		return false
	}
	return good > 0 && (bad == 0 || good > 1 && bad <= max(good/share, 1))
}

// isStack reports whether a line is a stack. Of one that is longer than the head, only the beginning is known.
func isStack(line []byte, whole bool) bool {
	if line[0] == '{' || line[0] == '<' {
		return false
	}
	if whole {
		line = append(bytes.Clone(line), '\n')
	}
	return folded.Detect(line)
}

func isComment(line string) bool {
	return strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "//")
}

// Open returns the stacks of an input, and false if it has none: then r must not be used. name is the file's name in
// messages.
func Open(r io.Reader, name string) (*File, bool) {
	in := bufio.NewReaderSize(r, HeadSize)
	head, _ := in.Peek(HeadSize) // an error shows again
	f := find(head)
	if f == nil {
		return nil, false
	}
	var source io.Reader = in
	if !f.binary {
		source = stacktext.UTF8(in)
	}
	return &File{Format: f.name, Stacks: f.read(source, name)}, true
}

// marks are the suffixes by which tools mark kinds of frames in folded stacks.
var marks = []struct {
	suffix string
	kind   sample.FrameKind
}{
	{"_[k]", sample.KernelFrame},
	{"_[i]", sample.InlinedFrame},
	{"_[j]", sample.JITFrame},
	{" [inlined]", sample.InlinedFrame},
}

// form is what the first lines of folded stacks show of their values.
type form struct {
	fractions bool
	two       bool // before and after a change
}

// thousandths is the unit of values of which some have fractions.
const thousandths = "thousandths"

// foldedForm returns the form of folded stacks that begin with text. All lines of a comparison have two values.
func foldedForm(text []byte) (f form) {
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	f.two = true
	lines := 0
	for s, err := range folded.Read(bytes.NewReader(text)) {
		if err != nil || len(s.Names) == 0 {
			continue
		}
		lines++
		f.fractions = f.fractions || s.Fraction
		_, two := firstValue(s.Names[len(s.Names)-1])
		f.two = f.two && two
	}
	f.two = f.two && lines > 1
	return f
}

// firstValue returns a name without the number after it, and whether there is one.
func firstValue(name string) (bare string, ok bool) {
	i := strings.LastIndexByte(name, ' ')
	if i <= 0 || i+1 == len(name) || strings.Trim(name[i+1:], "0123456789.") != "" {
		return name, false
	}
	return name[:i], true
}

// The sentences about values that are not drawn as they are.
const (
	leftOut = "of two values the second is drawn, which is that after a change"
	rounded = "a value with a fraction was rounded, as the first lines have none"
)

// readFolded yields folded stacks. Comments are skipped.
func readFolded(r io.Reader, name string, form form) Stacks {
	return func(yield func(*sample.NamedStack, error) bool) {
		s := sample.NamedStack{PID: sample.UnknownPID, TID: sample.UnknownPID, Unit: sample.Samples}
		if form.fractions {
			s.Unit = thousandths
		}
		if form.two && !yield(nil, &sample.Damage{What: leftOut, Count: 1, File: name, Line: 1}) {
			return
		}
		for line, err := range folded.Read(r) {
			var bad *folded.LineError
			switch {
			case errors.As(err, &bad):
				if isComment(bad.Text) {
					continue
				}
				if !yield(nil, &sample.Damage{What: bad.Err.Error() + ": it was skipped", Count: 1, File: name, Line: bad.Line}) {
					return
				}
				continue
			case err != nil:
				yield(nil, err)
				return
			}
			s.Frames = s.Frames[:0]
			if n := len(line.Names) - 1; form.two {
				line.Names[n], _ = firstValue(line.Names[n])
			}
			for _, n := range line.Names {
				f := sample.NamedFrame{Name: n}
				for _, m := range marks {
					if bare, ok := strings.CutSuffix(n, m.suffix); ok && bare != "" {
						f = sample.NamedFrame{Name: bare, Kind: m.kind}
						break
					}
				}
				s.Frames = append(s.Frames, f)
			}
			s.Value, s.Moments = line.Value, line.Value
			switch {
			case form.fractions:
				s.Value, s.Moments = saturate.Add(saturate.Mul(line.Value, 1000), uint64(line.Thousandths)), 0
			case line.Fraction:
				if line.Thousandths >= 500 {
					s.Value++
				}
				if !yield(nil, &sample.Damage{What: rounded, Count: 1, File: name}) {
					return
				}
			}
			if !yield(&s, nil) {
				return
			}
		}
	}
}
