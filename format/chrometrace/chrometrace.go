// Package chrometrace writes the trace format of Chrome, JSON that chrome://tracing, ui.perfetto.dev and
// speedscope load (the "Trace Event Format" document of Chromium's catapult project). It is pure.
//
// The file is an object:
//
//	{"displayTimeUnit":"ns","otherData":{"start":"1795176873250907427"},
//	"traceEvents":[
//	{"ph":"M","pid":7,"name":"process_name","args":{"name":"app"}},
//	{"ph":"M","pid":7,"tid":8,"name":"thread_name","args":{"name":"worker"}},
//	{"ph":"B","pid":7,"tid":8,"ts":0.000,"name":"main","args":{"arg1":1000}},
//	{"ph":"i","s":"t","pid":7,"tid":8,"ts":0.250,"name":"custom event","args":{"text":"hello"}},
//	{"ph":"E","pid":7,"tid":8,"ts":1.234,"name":"main","args":{"arg1":1000}}
//	]}
//
// Times are microseconds. They are numbers with exactly three decimals, made without floating point, and count
// from the start of the trace: viewers keep them in doubles, which cannot hold nanoseconds since 1970. Up to
// 104 days a double distinguishes two nanoseconds (Perfetto before 2025 truncates where it should round, and
// can be off by one).
//
// A call is a pair of events, B and E, and not one X with a duration. Viewers sort events by time and keep the
// order of the file among equals. Of two X that begin at the same time the inner one ended first, so a writer
// that does not hold all calls writes it first, and viewers nest the outer one in it. Pairs are in the order of
// execution, so equal times and calls of no duration nest correctly. The cost is that each needs its own E: the
// caller supplies those that a log lacks. An E has the name and the arguments of its B, for speedscope matches
// the two by both; but it takes a minute for 300,000 events in this format, and a second for its own.
package chrometrace

import (
	"bufio"
	"encoding/hex"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/jsontext"
)

// A Writer writes a trace as it comes. It keeps the first error of the underlying writer, which all methods
// return from then on.
type Writer struct {
	w      *bufio.Writer
	names  [][]byte // of functions, as JSON
	prefix []byte   // `,"pid":7,"tid":8,"ts":`
	comma  bool
	line   []byte
	named  map[uint32]bool
	open   []call
	args   []byte // of the open calls
}

// call is a call that has begun.
type call struct {
	fn   int
	args int // where its arguments begin in Writer.args
}

// Meta is an entry of the viewers' page about the trace.
type Meta struct{ Key, Value string }

// NewWriter returns a writer of a trace that begins with meta.
func NewWriter(w io.Writer, meta []Meta) *Writer {
	const size = 64 << 10
	x := &Writer{w: bufio.NewWriterSize(w, size), named: make(map[uint32]bool)}
	b := []byte(`{"displayTimeUnit":"ns","otherData":{`)
	for i, m := range meta {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, jsontext.Quote(m.Key)...), ':'), jsontext.Quote(m.Value)...)
	}
	x.w.Write(append(b, "},\n\"traceEvents\":["...))
	return x
}

// Function registers a name and returns its number, counted from 0.
func (x *Writer) Function(name string) int {
	x.names = append(x.names, jsontext.Quote(name))
	return len(x.names) - 1
}

// Thread begins the events of a thread. Processes are distinguished by pid alone, and keep the first name
// given.
func (x *Writer) Thread(pid, tid uint32, process, thread string) error {
	b := append(x.line[:0], `,"pid":`...)
	b = strconv.AppendUint(b, uint64(pid), 10)
	pidEnd := len(b)
	b = append(b, `,"tid":`...)
	b = strconv.AppendUint(b, uint64(tid), 10)
	tidEnd := len(b)
	x.prefix = append(slices.Clone(b), `,"ts":`...)
	head := slices.Clone(b)
	x.open, x.args = x.open[:0], x.args[:0]
	if !x.named[pid] {
		x.named[pid] = true
		x.metadata(head[:pidEnd], "process_name", process)
	}
	return x.metadata(head[:tidEnd], "thread_name", thread)
}

func (x *Writer) metadata(who []byte, what, name string) error {
	b := append(x.begin(), `{"ph":"M"`...)
	b = append(b, who...)
	b = append(append(append(b, `,"name":"`...), what...), `","args":{"name":`...)
	b = append(append(b, jsontext.Quote(name)...), "}}"...)
	return x.end(b)
}

// Begin begins a call of function fn in the thread. Times are nanoseconds since
// the start of the trace and must not decrease within a thread.
func (x *Writer) Begin(at uint64, fn int, args []uint64) error {
	x.open = append(x.open, call{fn, len(x.args)})
	for i, a := range args {
		before := `,"arg`
		if i == 0 {
			before = `,"args":{"arg`
		}
		x.args = strconv.AppendInt(append(x.args, before...), int64(i+1), 10)
		x.args = appendNumber(append(x.args, `":`...), a)
	}
	if len(args) > 0 {
		x.args = append(x.args, '}')
	}
	return x.call(`{"ph":"B"`, at)
}

// End ends the innermost call of the thread, which must exist.
func (x *Writer) End(at uint64) error {
	err := x.call(`{"ph":"E"`, at)
	n := len(x.open) - 1
	x.args = x.args[:x.open[n].args]
	x.open = x.open[:n]
	return err
}

// call writes an event of the innermost call.
func (x *Writer) call(kind string, at uint64) error {
	c := &x.open[len(x.open)-1]
	b := x.time(append(x.begin(), kind...), at)
	b = append(append(b, `,"name":`...), x.names[c.fn]...)
	b = append(b, x.args[c.args:]...)
	return x.end(append(b, '}'))
}

// Instant writes a custom or typed event. Data that is not text is written in hexadecimal.
func (x *Writer) Instant(at uint64, kind calllog.Kind, p *calllog.Payload) error {
	b := append(x.begin(), `{"ph":"i","s":"t"`...)
	b = x.time(b, at)
	b = append(append(b, `,"name":`...), jsontext.Quote(kind.String())...)
	b = append(b, `,"args":{`...)
	if kind == calllog.Typed {
		b = append(b, `"type":`...)
		b = append(strconv.AppendUint(b, uint64(p.Type), 10), ',')
	}
	if utf8.Valid(p.Data) {
		b = append(append(b, `"text":`...), jsontext.Quote(string(p.Data))...)
	} else {
		b = append(hex.AppendEncode(append(b, `"hex":"`...), p.Data), '"')
	}
	return x.end(append(b, "}}"...))
}

// Close ends the file. It does not close the underlying writer.
func (x *Writer) Close() error {
	x.w.WriteString("\n]}\n")
	return x.w.Flush()
}

// begin returns an empty line, to be filled and written.
func (x *Writer) begin() []byte {
	b := x.line[:0]
	if x.comma {
		b = append(b, ',')
	}
	x.comma = true
	return append(b, '\n')
}

func (x *Writer) end(b []byte) error {
	x.line = b
	_, err := x.w.Write(b)
	return err
}

func (x *Writer) time(b []byte, ns uint64) []byte {
	const micro = 1000
	b = append(b, x.prefix...)
	b = strconv.AppendUint(b, ns/micro, 10)
	rest := ns % micro
	return append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

// appendNumber appends n as a number, or as a string where JavaScript would
// round it.
func appendNumber(b []byte, n uint64) []byte {
	const exact = 1 << 53
	if n <= exact {
		return strconv.AppendUint(b, n, 10)
	}
	return append(strconv.AppendUint(append(b, '"'), n, 10), '"')
}
