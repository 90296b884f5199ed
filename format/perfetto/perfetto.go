// Package perfetto writes Perfetto's own trace format, protocol buffers that
// ui.perfetto.dev and trace_processor load: a sixth of the size of the same
// trace in JSON, and in whole nanoseconds. It is pure.
//
// A file is a list of packets, field 1 of the message Trace. Each thread is a
// sequence of packets of its own, so that threads can be written one after the
// other:
//
//	TrackDescriptor of the process          once for each process
//	TrackDescriptor of the thread
//	ClockSnapshot, defaults, state cleared  begins the sequence
//	TrackEvent SLICE_BEGIN name_iid         a call begins; InternedData gives the
//	                                        name where it is used first
//	TrackEvent SLICE_END                    the innermost call ends
//	TrackEvent INSTANT                      a custom or typed event
//
// The time of a packet is the number of nanoseconds since the packet before it
// of its sequence: the sequence has an incremental clock, which its snapshot
// ties to the clock of the trace. Field numbers are those of
// protos/perfetto/trace in Perfetto's sources. With so few messages, writing them
// by hand takes less than a library for protocol buffers would.
package perfetto

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cairnprof/cairn/calllog"
)

// Clock is what times count.
type Clock uint64

// The clocks of Perfetto that a log's can be.
const (
	Realtime Clock = 1 // nanoseconds since 1970
	Boottime Clock = 6 // any other: Perfetto's default
)

// Field numbers, by message.
const (
	tracePacket = 1

	packetClockSnapshot = 6
	packetTimestamp     = 8
	packetSequence      = 10
	packetTrackEvent    = 11
	packetInterned      = 12
	packetFlags         = 13
	packetDefaults      = 59
	packetTrack         = 60

	snapshotClock   = 1
	snapshotPrimary = 2
	clockID         = 1
	clockTimestamp  = 2
	clockDelta      = 3

	defaultsTrackEvent = 11
	defaultsClock      = 58

	trackUUID    = 1
	trackProcess = 3
	trackThread  = 4
	processPID   = 1
	processName  = 6
	threadPID    = 1
	threadTID    = 2
	threadName   = 5

	eventAnnotation = 4
	eventType       = 9
	eventNameID     = 10
	eventTrack      = 11
	eventName       = 23

	annotationUint   = 3
	annotationString = 6
	annotationName   = 10

	internedName   = 2
	internedNameID = 1
	internedText   = 2
)

// Values of enumerations.
const (
	sliceBegin = 1
	sliceEnd   = 2
	instant    = 3

	flagCleared = 1 // forget what was interned on this sequence
	flagNeeds   = 2 // of no use without it

	incremental = 64 // the first clock that is a sequence's own
)

// A Writer writes a trace as it comes. Errors of the underlying writer are kept:
// once one came, all methods return it.
type Writer struct {
	w       *bufio.Writer
	start   uint64
	clock   Clock
	names   []string
	interns []uint32 // the last sequence that interned each name
	seq     uint32
	last    uint64
	tracks  uint64
	named   map[uint32]bool

	packet, event, inner, inner2 message
}

// NewWriter returns a writer of a trace whose times count from start, in
// nanoseconds of clock.
func NewWriter(w io.Writer, start uint64, clock Clock) *Writer {
	const size = 64 << 10
	return &Writer{w: bufio.NewWriterSize(w, size), start: start, clock: clock, named: make(map[uint32]bool)}
}

// Function makes a name known and returns its number, counted from 0.
func (x *Writer) Function(name string) int {
	x.names = append(x.names, text(name))
	x.interns = append(x.interns, 0)
	return len(x.names) - 1
}

// Thread begins the events of a thread. Processes are told apart by pid alone,
// and keep the first name given.
func (x *Writer) Thread(pid, tid uint32, process, thread string) error {
	x.seq++
	x.last = 0
	if !x.named[pid] {
		x.named[pid] = true
		x.track(trackProcess, func(m *message) {
			m.uint(processPID, uint64(pid))
			m.text(processName, process)
		})
	}
	track := x.track(trackThread, func(m *message) {
		m.uint(threadPID, uint64(pid))
		m.uint(threadTID, uint64(tid))
		m.text(threadName, thread)
	})
	x.packet = x.packet[:0]
	x.packet.uint(packetSequence, uint64(x.seq))
	x.packet.uint(packetFlags, flagCleared)
	x.packet.bytes(packetClockSnapshot, x.snapshot())
	x.event, x.inner = x.event[:0], x.inner[:0]
	x.inner.uint(eventTrack, track)
	x.event.bytes(defaultsTrackEvent, x.inner)
	x.event.uint(defaultsClock, incremental)
	x.packet.bytes(packetDefaults, x.event)
	return x.write()
}

// track describes a track and returns its number.
func (x *Writer) track(kind int, describe func(*message)) uint64 {
	x.tracks++
	x.packet, x.event, x.inner = x.packet[:0], x.event[:0], x.inner[:0]
	describe(&x.inner)
	x.event.uint(trackUUID, x.tracks)
	x.event.bytes(kind, x.inner)
	x.packet.uint(packetSequence, uint64(x.seq))
	x.packet.bytes(packetTrack, x.event)
	x.write()
	return x.tracks
}

// snapshot ties the sequence's clock to the trace's.
func (x *Writer) snapshot() message {
	x.event = x.event[:0]
	for _, id := range []uint64{incremental, uint64(x.clock)} {
		x.inner = x.inner[:0]
		x.inner.uint(clockID, id)
		x.inner.uint(clockTimestamp, x.start)
		if id == incremental {
			x.inner.uint(clockDelta, 1)
		}
		x.event.bytes(snapshotClock, x.inner)
	}
	x.event.uint(snapshotPrimary, uint64(x.clock))
	return x.event
}

// Begin begins a call of function fn in the thread. Times are nanoseconds since
// the start of the trace and must not decrease within a thread.
func (x *Writer) Begin(at uint64, fn int, args []uint64) error {
	x.begin(at)
	if x.interns[fn] != x.seq {
		x.interns[fn] = x.seq
		x.inner, x.inner2 = x.inner[:0], x.inner2[:0]
		x.inner2.uint(internedNameID, uint64(fn)+1)
		x.inner2.text(internedText, x.names[fn])
		x.inner.bytes(internedName, x.inner2)
		x.packet.bytes(packetInterned, x.inner)
	}
	x.event.uint(eventType, sliceBegin)
	x.event.uint(eventNameID, uint64(fn)+1)
	for i, a := range args {
		x.number("arg"+strconv.Itoa(i+1), a)
	}
	return x.end()
}

// End ends the innermost call of the thread.
func (x *Writer) End(at uint64) error {
	x.begin(at)
	x.event.uint(eventType, sliceEnd)
	return x.end()
}

// Instant writes a custom or typed event. Data that is not text is written in hexadecimal.
func (x *Writer) Instant(at uint64, kind calllog.Kind, p *calllog.Payload) error {
	x.begin(at)
	x.event.uint(eventType, instant)
	x.event.text(eventName, kind.String())
	if kind == calllog.Typed {
		x.number("type", uint64(p.Type))
	}
	x.inner = x.inner[:0]
	if utf8.Valid(p.Data) {
		x.inner.text(annotationName, "text")
		x.inner.bytes(annotationString, p.Data)
	} else {
		x.inner.text(annotationName, "hex")
		x.inner.text(annotationString, hex.EncodeToString(p.Data))
	}
	x.event.bytes(eventAnnotation, x.inner)
	return x.end()
}

func (x *Writer) number(name string, value uint64) {
	x.inner = x.inner[:0]
	x.inner.text(annotationName, name)
	x.inner.uint(annotationUint, value)
	x.event.bytes(eventAnnotation, x.inner)
}

// Close writes the remaining data. It does not close the underlying writer.
func (x *Writer) Close() error { return x.w.Flush() }

func (x *Writer) begin(at uint64) {
	x.packet, x.event = x.packet[:0], x.event[:0]
	x.packet.uint(packetTimestamp, at-x.last)
	x.packet.uint(packetSequence, uint64(x.seq))
	x.packet.uint(packetFlags, flagNeeds)
	x.last = at
}

func (x *Writer) end() error {
	x.packet.bytes(packetTrackEvent, x.event)
	return x.write()
}

func (x *Writer) write() error {
	head := binary.AppendUvarint(x.w.AvailableBuffer(), tracePacket<<3|wireBytes)
	if _, err := x.w.Write(binary.AppendUvarint(head, uint64(len(x.packet)))); err != nil {
		return err
	}
	_, err := x.w.Write(x.packet)
	return err
}

// A message is the fields of a message in wire format.
type message []byte

const (
	wireVarint = 0
	wireBytes  = 2
)

func (m *message) uint(field int, v uint64) {
	*m = binary.AppendUvarint(binary.AppendUvarint(*m, uint64(field)<<3|wireVarint), v)
}

func (m *message) bytes(field int, v []byte) {
	*m = binary.AppendUvarint(binary.AppendUvarint(*m, uint64(field)<<3|wireBytes), uint64(len(v)))
	*m = append(*m, v...)
}

func (m *message) text(field int, s string) {
	s = text(s)
	*m = binary.AppendUvarint(binary.AppendUvarint(*m, uint64(field)<<3|wireBytes), uint64(len(s)))
	*m = append(*m, s...)
}

// text returns s with U+FFFD in place of invalid UTF-8: strings of protocol buffers must
// be valid UTF-8.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
