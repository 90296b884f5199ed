// Package simpleperf reads what simpleperf report-sample --protobuf writes, the profiler of Android: samples with stacks of named
// functions. Android's tools give it the suffix .trace.
//
// The format is described by simpleperf/cmd_report_sample.proto in platform/system/extras of Android. A file begins with
// SIMPLEPERF and a version of two bytes; then each record has its size in four bytes, little-endian, and is a
// message (protocol buffers). A size of zero ends the file. Samples refer to files and threads by number, whose records
// come after them.
package simpleperf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/sample"
)

const (
	magic = "SIMPLEPERF"
	// version is the only one there is.
	version = 1
	// maxRecord bounds a record, in bytes: that of a file has the names of all its functions.
	maxRecord = 256 << 20
	// maxChain bounds a stack. simpleperf's has 512 frames at most.
	maxChain = 1 << 12
	// maxMemory bounds the bytes of distinct samples, files and names that are kept until the files and threads are known.
	maxMemory = 1 << 30
)

// Detect reports whether a file begins as those of simpleperf do.
func Detect(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// Read yields the stacks of a file, equal ones of a thread once.
func Read(r io.Reader, name string) iter.Seq2[*sample.NamedStack, error] {
	return func(yield func(*sample.NamedStack, error) bool) {
		x := newReader(name)
		x.take, x.distinct = x.add, map[string]*values{}
		if err := x.read(r); err != nil {
			yield(nil, x.failed(err))
			return
		}
		x.yield(yield)
	}
}

// reader has what a file says, until its end is known.
type reader struct {
	name     string
	take     func(m *moment) error // is called for each sample
	bare     bool                  // symbols are not needed
	files    map[uint32]*file
	threads  map[int32]thread
	events   []string
	distinct map[string]*values // by what encode makes
	order    []string           // of these, as they were first seen
	memory   int
	damage   []*sample.Damage
}

func newReader(name string) *reader {
	return &reader{name: name, files: map[uint32]*file{}, threads: map[int32]thread{}}
}

func (x *reader) failed(err error) error {
	return fmt.Errorf("%s: reading samples of simpleperf: %w", x.name, err)
}

// file is an ELF file, or another one with code.
type file struct {
	path    string
	symbols []string
}

type thread struct {
	process int32
	name    string
}

// values are the sums of equal samples.
type values struct{ count, moments uint64 }

// The numbers of fields.
const (
	recordSample, recordLost, recordFile, recordThread, recordMeta, recordSwitch = 1, 2, 3, 4, 5, 6

	sampleThread, sampleChain, sampleCount, sampleEvent, sampleUnwinding = 2, 3, 4, 5, 6
	entryAddr, entryFile, entrySymbol, entryKind                         = 1, 2, 3, 4
	fileID, filePath, fileSymbol                                         = 1, 2, 3
	threadID, threadProcess, threadName                                  = 1, 2, 3
	lostCount                                                            = 2
	metaEvent                                                            = 1
	unwindingError                                                       = 3
)

// jitMethod is the ExecutionType of code that was generated at run time.
const jitMethod = 2

var errTooLarge = errors.New("its distinct samples and names have more than 1 GB")

// read reads all records.
func (x *reader) read(r io.Reader) error {
	head := make([]byte, len(magic)+2)
	if _, err := io.ReadFull(r, head); err != nil || !Detect(head) {
		return errors.New("it does not begin with SIMPLEPERF and a version")
	}
	if v := binary.LittleEndian.Uint16(head[len(magic):]); v != version {
		return fmt.Errorf("version %d is unknown: %d is the only one known", v, version)
	}
	var body bytes.Buffer
	for at := int64(len(head)); ; {
		var size [4]byte
		if n, err := io.ReadFull(r, size[:]); err != nil {
			if n > 0 || errors.Is(err, io.EOF) {
				x.damaged("the file is cut off: what follows is missing", at)
				return nil
			}
			return err
		}
		n := int64(binary.LittleEndian.Uint32(size[:]))
		switch {
		case n == 0:
			return nil
		case n > maxRecord:
			return fmt.Errorf("offset %d: a record has %d bytes, more than %d", at, n, maxRecord)
		}
		body.Reset()
		if got, err := io.CopyN(&body, r, n); errors.Is(err, io.EOF) {
			x.damaged("the file is cut off: what follows is missing", at+4+got)
			return nil
		} else if err != nil {
			return err
		}
		if whole, err := x.record(body.Bytes(), at); err != nil {
			return err
		} else if !whole {
			x.damaged("a record is damaged, and was skipped", at)
		}
		if x.memory > maxMemory {
			return errTooLarge
		}
		at += 4 + n
	}
}

// damaged counts a kind of damage.
func (x *reader) damaged(what string, offset int64) { x.damagedTimes(what, offset, 1) }

func (x *reader) damagedTimes(what string, offset int64, times uint64) {
	for _, d := range x.damage {
		if d.What == what {
			d.Count = saturate.Add(d.Count, times)
			return
		}
	}
	x.damage = append(x.damage, &sample.Damage{What: what, Count: times, File: x.name, Offset: offset})
}

// fields calls visit with the fields of a message, numbers in n and texts in text. It reports whether all of it could be
// read.
func fields(b []byte, visit func(num protowire.Number, n uint64, text []byte) bool) bool {
	for len(b) > 0 {
		num, typ, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return false
		}
		b = b[tag:]
		var n uint64
		var text []byte
		var size int
		switch typ {
		case protowire.VarintType:
			n, size = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			text, size = protowire.ConsumeBytes(b)
		default:
			size = protowire.ConsumeFieldValue(num, typ, b)
		}
		if size < 0 || (typ == protowire.VarintType || typ == protowire.BytesType) && !visit(num, n, text) {
			return false
		}
		b = b[size:]
	}
	return true
}

// record reads a record. It reports whether all of it could be read. The error is that of take.
func (x *reader) record(b []byte, at int64) (whole bool, err error) {
	whole = fields(b, func(num protowire.Number, _ uint64, text []byte) bool {
		switch num {
		case recordSample:
			m := moment{at: at}
			if !m.read(text) {
				return false
			}
			if m.failed {
				x.damaged("simpleperf could not unwind a stack to its end: it has the frames that are known", at)
			}
			err = x.take(&m)
			return err == nil
		case recordLost:
			return fields(text, func(num protowire.Number, n uint64, _ []byte) bool {
				if num == lostCount && n > 0 {
					x.damagedTimes("samples were lost while simpleperf recorded", at, n)
				}
				return true
			})
		case recordFile:
			return x.file(text)
		case recordThread:
			return x.thread(text)
		case recordMeta:
			return fields(text, func(num protowire.Number, _ uint64, text []byte) bool {
				if num == metaEvent {
					x.memory += len(text) + 32
					x.events = append(x.events, string(text))
				}
				return true
			})
		case recordSwitch: // when a thread began and stopped to run, without a stack
		default:
			x.damaged("records of a kind that is not known were skipped", at)
		}
		return true
	})
	return whole, err
}

func (x *reader) file(b []byte) bool {
	var id uint32
	f := &file{}
	whole := fields(b, func(num protowire.Number, n uint64, text []byte) bool {
		switch num {
		case fileID:
			id = uint32(n)
		case filePath:
			f.path = string(text)
		case fileSymbol:
			if !x.bare {
				f.symbols = append(f.symbols, string(text))
			}
		}
		return true
	})
	x.memory += len(b) + 32*len(f.symbols)
	x.files[id] = f
	return whole
}

func (x *reader) thread(b []byte) bool {
	var id int32
	var t thread
	whole := fields(b, func(num protowire.Number, n uint64, text []byte) bool {
		switch num {
		case threadID:
			id = int32(n)
		case threadProcess:
			t.process = int32(n)
		case threadName:
			t.name = string(text)
		}
		return true
	})
	x.memory += len(b)
	x.threads[id] = t
	return whole
}

// entry is a frame.
type entry struct {
	addr         uint64 // in the file
	file, symbol uint32 // the symbol is that of the file
	kind         uint32
}

// moment is a sample.
type moment struct {
	at         int64 // offset of its record
	tid, event uint32
	count      uint64
	chain      []entry // innermost first
	failed     bool    // it has not all callers
}

func (m *moment) read(b []byte) bool {
	return fields(b, func(num protowire.Number, n uint64, text []byte) bool {
		switch num {
		case sampleThread:
			m.tid = uint32(n)
		case sampleCount:
			m.count = n
		case sampleEvent:
			m.event = uint32(n)
		case sampleChain:
			m.chain = append(m.chain, entry{})
			return len(m.chain) <= maxChain && m.chain[len(m.chain)-1].read(text)
		case sampleUnwinding:
			return fields(text, func(num protowire.Number, n uint64, _ []byte) bool {
				m.failed = m.failed || num == unwindingError && n != 0
				return true
			})
		}
		return true
	})
}

// add adds a sample to the equal ones.
func (x *reader) add(m *moment) error {
	key := encode(m.tid, m.event, m.chain)
	old := x.distinct[key]
	if old == nil {
		old = &values{}
		x.distinct[key] = old
		x.order = append(x.order, key)
		x.memory += 2*len(key) + 64
	}
	old.count, old.moments = saturate.Add(old.count, m.count), saturate.Add(old.moments, 1)
	return nil
}

func (e *entry) read(b []byte) bool {
	return fields(b, func(num protowire.Number, n uint64, _ []byte) bool {
		switch num {
		case entryAddr:
			e.addr = n
		case entryFile:
			e.file = uint32(n)
		case entrySymbol:
			e.symbol = uint32(n) // -1 for none
		case entryKind:
			e.kind = uint32(n)
		}
		return true
	})
}

// The size of a frame in a key, and of what is before all frames. Addresses do not distinguish samples.
const (
	keyHead  = 8
	keyEntry = 9
)

// encode makes a key of all that distinguishes samples: the innermost frame is first.
func encode(tid, event uint32, chain []entry) string {
	key := make([]byte, 0, keyHead+keyEntry*len(chain))
	key = binary.LittleEndian.AppendUint32(key, tid)
	key = binary.LittleEndian.AppendUint32(key, event)
	for _, e := range chain {
		key = binary.LittleEndian.AppendUint32(key, e.file)
		key = binary.LittleEndian.AppendUint32(key, e.symbol)
		key = append(key, byte(min(e.kind, 0xff)))
	}
	return string(key)
}

// yield yields the samples with their names, and then what was damaged.
func (x *reader) yield(yield func(*sample.NamedStack, error) bool) {
	var s sample.NamedStack
	for _, key := range x.order {
		x.decode(key, &s)
		if !yield(&s, nil) {
			return
		}
	}
	for _, d := range x.damage {
		if !yield(nil, d) {
			return
		}
	}
}

// decode sets s to the samples of a key.
func (x *reader) decode(key string, s *sample.NamedStack) {
	word := func(at int) uint32 { return binary.LittleEndian.Uint32([]byte(key[at : at+4])) }
	*s = sample.NamedStack{Frames: s.Frames[:0], TID: int32(word(0)), PID: sample.UnknownPID}
	if t, ok := x.threads[s.TID]; ok {
		s.PID, s.Command = t.process, t.name
	}
	if event := word(4); int64(event) < int64(len(x.events)) {
		s.Event = x.events[event]
	}
	v := x.distinct[key]
	s.Value, s.Unit, s.Moments = v.count, unitOf(s.Event), v.moments
	if s.Unit == sample.Samples {
		s.Value = v.moments
	}
	for at := len(key) - keyEntry; at >= keyHead; at -= keyEntry {
		s.Frames = append(s.Frames, x.frame(word(at), word(at+4), key[at+8]))
	}
}

// unitOf returns the unit of the counts of an event. Of tracepoints, such as sched:sched_switch, moments count.
func unitOf(event string) string {
	name, _, tracepoint := strings.Cut(event, ":")
	switch {
	case name == "cpu-clock", name == "task-clock":
		return sample.Nanoseconds
	case name == "", tracepoint && len(event)-len(name) > 4: // more than modifiers, as in cpu-cycles:u
		return sample.Samples
	}
	return strings.TrimPrefix(name, "cpu-") // cycles
}

// frame returns the function with a number in a file.
func (x *reader) frame(fileID, symbol uint32, kind byte) sample.NamedFrame {
	f := x.files[fileID]
	if f == nil {
		return sample.NamedFrame{Name: "[unknown]"}
	}
	frame := sample.NamedFrame{Kind: kindOf(f.path, kind)}
	if int64(symbol) < int64(len(f.symbols)) {
		frame.Name = f.symbols[symbol]
	}
	if frame.Name == "" {
		base := strings.Trim(path.Base(f.path), "[]")
		if f.path == "" || base == "" {
			base = "unknown"
		}
		frame.Name = "[" + base + "]"
	}
	return frame
}

func kindOf(file string, kind byte) sample.FrameKind {
	switch {
	case strings.HasPrefix(file, "[kernel") || strings.HasSuffix(file, ".ko"):
		return sample.KernelFrame
	case kind == jitMethod:
		return sample.JITFrame
	}
	return sample.UserFrame
}
