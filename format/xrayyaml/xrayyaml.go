// Package xrayyaml writes the records of a trace as the YAML that
// `llvm-xray convert -output-format=yaml -symbolize` writes, byte for byte where
// that tool is right. It is pure.
//
//	---
//	header:
//	  version:         5
//	  type:            1
//	  constant-tsc:    true
//	  nonstop-tsc:     true
//	  cycle-frequency: 1000000000
//	records:
//	  - { type: 0, func-id: 3, function: 'f(long)', args: [ 1000 ], cpu: 0, thread: 11532, process: 11531, kind: function-enter-arg, tsc: 1795176873250910632, data: '' }
//	...
//
// Times are the log's own ticks. The output differs from that of llvm-xray 22 where that is wrong:
//
//   - Custom and typed events have no function: func-id 0 and an empty name, and
//     not those of the record before.
//   - The number of a typed event's type is in the column type of that event, and
//     not of all records that follow.
//   - Data with bytes that are not UTF-8 is not cut at the first one: all its bytes
//     from 0x80 on are written as \xHH.
//   - A shared object's functions from object 128 on have no negative numbers.
//   - A name with a comma and nothing else to quote is quoted: it would end there.
//   - The character DEL, which YAML does not allow, is escaped.
package xrayyaml

import (
	"bufio"
	"io"
	"strconv"

	"github.com/cairnprof/cairn/calllog"
)

// Header is the header of a log.
type Header struct {
	Version     uint16
	Type        uint16 // 0 for basic logs, 1 for FDR
	ConstantTSC bool
	NonstopTSC  bool
	Hz          uint64
}

var kinds = map[calllog.Kind]string{
	calllog.Enter: "function-enter", calllog.Exit: "function-exit", calllog.TailExit: "function-tail-exit",
	calllog.EnterArgs: "function-enter-arg", calllog.Custom: "custom-event", calllog.Typed: "typed-event",
}

// A Writer writes a log as it comes.
type Writer struct {
	w     *bufio.Writer
	name  func(calllog.FuncID) string
	names map[calllog.FuncID][]byte
	line  []byte
	n     uint64
}

// NewWriter returns a writer of a log. name gives the name of a function.
func NewWriter(w io.Writer, h Header, name func(calllog.FuncID) string) *Writer {
	const size = 64 << 10
	x := &Writer{w: bufio.NewWriterSize(w, size), name: name, names: make(map[calllog.FuncID][]byte)}
	b := []byte("---\nheader:\n  version:         ")
	b = strconv.AppendUint(b, uint64(h.Version), 10)
	b = strconv.AppendUint(append(b, "\n  type:            "...), uint64(h.Type), 10)
	b = strconv.AppendBool(append(b, "\n  constant-tsc:    "...), h.ConstantTSC)
	b = strconv.AppendBool(append(b, "\n  nonstop-tsc:     "...), h.NonstopTSC)
	b = strconv.AppendUint(append(b, "\n  cycle-frequency: "...), h.Hz, 10)
	x.w.Write(append(b, "\nrecords:"...))
	return x
}

// Write writes an event of a thread.
func (x *Writer) Write(pid, tid uint32, e *calllog.Event, p *calllog.Payload) error {
	b := append(x.line[:0], "\n  - { type: "...)
	typed := uint64(0)
	if e.Kind == calllog.Typed && p != nil {
		typed = uint64(p.Type)
	}
	b = strconv.AppendUint(b, typed, 10)
	b = strconv.AppendUint(append(b, ", func-id: "...), uint64(e.Func), 10)
	b = append(append(b, ", function: "...), x.function(e)...)
	if p != nil && len(p.Args) > 0 {
		b = append(b, ", args: [ "...)
		for i, a := range p.Args {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = strconv.AppendUint(b, a, 10)
		}
		b = append(b, " ]"...)
	}
	b = strconv.AppendUint(append(b, ", cpu: "...), uint64(e.CPU), 10)
	if tid != 0 {
		b = strconv.AppendUint(append(b, ", thread: "...), uint64(tid), 10)
	}
	if pid != 0 {
		b = strconv.AppendUint(append(b, ", process: "...), uint64(pid), 10)
	}
	b = append(append(b, ", kind: "...), kinds[e.Kind]...)
	b = strconv.AppendUint(append(b, ", tsc: "...), e.Time, 10)
	b = append(b, ", data: "...)
	if p == nil {
		b = append(b, "''"...)
	} else {
		b = appendScalar(b, string(p.Data))
	}
	x.line = append(b, " }"...)
	x.n++
	_, err := x.w.Write(x.line)
	return err
}

func (x *Writer) function(e *calllog.Event) []byte {
	if !e.Kind.IsEnter() && !e.Kind.IsExit() {
		return []byte("''")
	}
	name, ok := x.names[e.Func]
	if !ok {
		name = appendScalar(nil, x.name(e.Func))
		x.names[e.Func] = name
	}
	return name
}

// Close ends the document. It does not close the underlying writer.
func (x *Writer) Close() error {
	if x.n == 0 {
		x.w.WriteString("         []") // records are at the column of the header's values
	}
	x.w.WriteString("\n...\n")
	return x.w.Flush()
}
