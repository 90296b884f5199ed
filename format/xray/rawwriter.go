package xray

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/cairnprof/cairn/calllog"
)

// RawWriter writes a basic log, as llvm-xray convert -f raw does: calls without their
// arguments, and no events.
type RawWriter struct {
	w       *bufio.Writer
	version int
	record  [basicRecord]byte
	// Left is the number of arguments and events that were left out.
	Left int
}

// basicRecord is the size of a record of a basic log, and of its header.
const basicRecord = 32

// Flags of the header: the clock's rate is constant, and it does not stop in idle states.
const clockFlags = 3

// NewRawWriter begins a log of a version, 1 to 3, whose clock has a rate.
func NewRawWriter(w io.Writer, version int, hz uint64) *RawWriter {
	out := &RawWriter{w: bufio.NewWriterSize(w, 1<<16), version: version}
	var head [basicRecord]byte
	binary.LittleEndian.PutUint16(head[0:], uint16(version))
	head[4] = clockFlags
	binary.LittleEndian.PutUint64(head[8:], hz)
	out.w.Write(head[:]) // Close returns the error
	return out
}

// Write writes an event of a thread.
func (w *RawWriter) Write(pid, tid uint32, e *calllog.Event, _ *calllog.Payload) error {
	r := &w.record
	*r = [basicRecord]byte{2: byte(e.CPU)}
	switch e.Kind {
	case calllog.Enter:
	case calllog.EnterArgs:
		w.Left++
	case calllog.Exit:
		r[3] = 1
	case calllog.TailExit:
		r[3] = 2
	default:
		w.Left++
		return nil
	}
	binary.LittleEndian.PutUint32(r[4:], uint32(e.Func))
	binary.LittleEndian.PutUint64(r[8:], e.Time)
	binary.LittleEndian.PutUint32(r[16:], tid)
	if w.version >= 3 {
		binary.LittleEndian.PutUint32(r[20:], pid)
	}
	_, err := w.w.Write(r[:])
	return err
}

// Close writes the remaining data.
func (w *RawWriter) Close() error { return w.w.Flush() }
