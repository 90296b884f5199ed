// Package speedscope writes the file format of speedscope (https://www.speedscope.app/file-format-schema.json).
// It is pure.
//
// A file has one list of frames and profiles that refer to them by number. An evented profile has the calls of
// a thread, one by one; a sampled one is a list of stacks and their weights:
//
//	{"$schema":"https://www.speedscope.app/file-format-schema.json",
//	"exporter":"cairn","name":"app.log","activeProfileIndex":0,"profiles":[
//	{"type":"evented","name":"thread 7","unit":"nanoseconds","startValue":0,"events":[
//	{"type":"O","frame":0,"at":0},
//	{"type":"C","frame":0,"at":1234}
//	],"endValue":1234},
//	{"type":"sampled","name":"all","unit":"nanoseconds","startValue":0,"samples":[
//	[0,1]
//	],"weights":[
//	1234
//	],"endValue":1234}
//	],"shared":{"frames":[
//	{"name":"main","file":"main.c","line":3}
//	]}}
//
// The frames are last, as the functions are known only when all calls have been written. Times are whole
// nanoseconds since the start of the trace: JavaScript's numbers hold 104 days exactly.
package speedscope

import (
	"bufio"
	"io"
	"strconv"

	"github.com/cairnprof/cairn/internal/jsontext"
)

// Frame is a function.
type Frame struct {
	Name string
	File string // "" if not known
	Line int    // 0 if not known
}

// Unit is the unit of a profile's values.
type Unit string

// The units of speedscope that this package uses; counts and ticks have none.
const (
	Nanoseconds Unit = "nanoseconds"
	None        Unit = "none"
)

// A Writer writes a file as it comes. Errors of the underlying writer are kept:
// after the first one, all methods return it.
type Writer struct {
	w        *bufio.Writer
	frames   []Frame
	profiles int
	comma    bool
	open     []int // frames of calls that have begun
	last     uint64
	line     []byte
}

// NewWriter returns a writer of a file with a name to show, and that of the program that
// writes it. A file has at least one profile.
func NewWriter(w io.Writer, name, exporter string) *Writer {
	const size = 64 << 10
	x := &Writer{w: bufio.NewWriterSize(w, size)}
	x.w.WriteString(`{"$schema":"https://www.speedscope.app/file-format-schema.json",` + "\n" + `"exporter":`)
	x.w.Write(jsontext.Quote(exporter))
	x.w.WriteString(`,"name":`)
	x.w.Write(jsontext.Quote(name))
	x.w.WriteString(`,"activeProfileIndex":0,"profiles":[`)
	return x
}

// Function makes a frame known and returns its number, counted from 0.
func (x *Writer) Function(f Frame) int {
	x.frames = append(x.frames, f)
	return len(x.frames) - 1
}

func (x *Writer) profile(kind, name string, unit Unit) {
	if x.profiles++; x.profiles > 1 {
		x.w.WriteByte(',')
	}
	x.comma, x.last, x.open = false, 0, x.open[:0]
	x.w.WriteString("\n" + `{"type":"` + kind + `","name":`)
	x.w.Write(jsontext.Quote(name))
	x.w.WriteString(`,"unit":"` + string(unit) + `","startValue":0,`)
}

// Evented begins the profile of a thread: Begin and End follow, then EndEvented.
func (x *Writer) Evented(name string, unit Unit) error {
	x.profile("evented", name, unit)
	_, err := x.w.WriteString(`"events":[`)
	return err
}

// Begin begins a call. Times count from the start of the trace and must not
// decrease within a profile.
func (x *Writer) Begin(at uint64, frame int) error {
	x.open = append(x.open, frame)
	return x.event('O', at, frame)
}

// End ends the innermost call, which must exist.
func (x *Writer) End(at uint64) error {
	frame := x.open[len(x.open)-1]
	x.open = x.open[:len(x.open)-1]
	return x.event('C', at, frame)
}

func (x *Writer) event(kind byte, at uint64, frame int) error {
	b := append(append(x.begin(), `{"type":"`...), kind)
	b = strconv.AppendInt(append(b, `","frame":`...), int64(frame), 10)
	b = strconv.AppendUint(append(b, `,"at":`...), at, 10)
	x.last = at
	x.line = append(b, '}')
	_, err := x.w.Write(x.line)
	return err
}

// EndEvented ends the profile of a thread. All its calls must have ended.
func (x *Writer) EndEvented() error { return x.endProfile() }

// Sampled writes a profile of stacks, innermost frame last, with their weights.
// each calls its argument for every stack, and is called twice.
func (x *Writer) Sampled(name string, unit Unit, each func(func(stack []int, weight uint64) error) error) error {
	x.profile("sampled", name, unit)
	x.w.WriteString(`"samples":[`)
	if err := each(func(stack []int, weight uint64) error {
		b := append(x.begin(), '[')
		for i, f := range stack {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, int64(f), 10)
		}
		x.last += weight
		x.line = append(b, ']')
		_, err := x.w.Write(x.line)
		return err
	}); err != nil {
		return err
	}
	x.w.WriteString("\n" + `],"weights":[`)
	x.comma = false
	if err := each(func(_ []int, weight uint64) error {
		x.line = strconv.AppendUint(x.begin(), weight, 10)
		_, err := x.w.Write(x.line)
		return err
	}); err != nil {
		return err
	}
	return x.endProfile()
}

func (x *Writer) endProfile() error {
	b := strconv.AppendUint(append(x.line[:0], "\n"+`],"endValue":`...), x.last, 10)
	_, err := x.w.Write(append(b, '}'))
	return err
}

// begin returns an empty line after what is written.
func (x *Writer) begin() []byte {
	b := x.line[:0]
	if x.comma {
		b = append(b, ',')
	}
	x.comma = true
	return append(b, '\n')
}

// Close ends the file. It does not close the underlying writer.
func (x *Writer) Close() error {
	x.w.WriteString("\n" + `],"shared":{"frames":[`)
	for i, f := range x.frames {
		if i > 0 {
			x.w.WriteByte(',')
		}
		b := append(append(x.line[:0], "\n"+`{"name":`...), jsontext.Quote(f.Name)...)
		if f.File != "" {
			b = append(append(b, `,"file":`...), jsontext.Quote(f.File)...)
		}
		if f.Line > 0 {
			b = strconv.AppendInt(append(b, `,"line":`...), int64(f.Line), 10)
		}
		x.w.Write(append(b, '}'))
	}
	x.w.WriteString("\n]}}\n")
	return x.w.Flush()
}
