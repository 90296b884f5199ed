package perfetto

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/calllog"
)

// field is a field of a message in wire format.
type field struct {
	number int
	value  uint64
	bytes  []byte
}

type failer interface {
	Fatalf(format string, args ...any)
}

// fields decodes a message.
func fields(t failer, m []byte) (list []field) {
	for len(m) > 0 {
		key, n := binary.Uvarint(m)
		if n <= 0 {
			t.Fatalf("bad key in % x", m)
		}
		m = m[n:]
		v, n := binary.Uvarint(m)
		if n <= 0 {
			t.Fatalf("bad value in % x", m)
		}
		m = m[n:]
		f := field{number: int(key >> 3), value: v}
		switch key & 7 {
		case wireVarint:
		case wireBytes:
			if v > uint64(len(m)) {
				t.Fatalf("%d bytes in a message of %d", v, len(m))
			}
			f.bytes, m = m[:v], m[v:]
		default:
			t.Fatalf("wire type %d", key&7)
		}
		list = append(list, f)
	}
	return list
}

// get returns the first field of a number.
func get(t failer, m []byte, number int) field {
	for _, f := range fields(t, m) {
		if f.number == number {
			return f
		}
	}
	return field{}
}

// reader follows the sequences of a trace as trace_processor does.
type reader struct {
	t      failer
	tracks map[uint64]string    // by uuid
	seqs   map[uint64]*sequence // by id
	text   []string
}

type sequence struct {
	now, track uint64
	names      map[uint64]string
	open       []uint64
	durations  []uint64 // of calls, as they end
}

func read(t failer, data []byte) *reader {
	r := &reader{t: t, tracks: map[uint64]string{}, seqs: map[uint64]*sequence{}}
	for _, p := range fields(t, data) {
		if p.number != tracePacket {
			t.Fatalf("field %d in the trace", p.number)
		}
		r.packet(p.bytes)
	}
	return r
}

func (r *reader) packet(p []byte) {
	if d := get(r.t, p, packetTrack).bytes; d != nil {
		process, thread := get(r.t, d, trackProcess).bytes, get(r.t, d, trackThread).bytes
		name := fmt.Sprintf("process %d %s", get(r.t, process, processPID).value, get(r.t, process, processName).bytes)
		if thread != nil {
			name = fmt.Sprintf("thread %d %d %s", get(r.t, thread, threadPID).value, get(r.t, thread, threadTID).value, get(r.t, thread, threadName).bytes)
		}
		r.tracks[get(r.t, d, trackUUID).value] = name
		return
	}
	id := get(r.t, p, packetSequence).value
	if get(r.t, p, packetFlags).value == flagCleared {
		s := &sequence{names: map[uint64]string{}}
		snapshot := get(r.t, p, packetClockSnapshot).bytes
		var clocks []string
		for _, c := range fields(r.t, snapshot) {
			if c.number == snapshotClock {
				s.now = get(r.t, c.bytes, clockTimestamp).value
				clocks = append(clocks, fmt.Sprintf("%d:%d:%d", get(r.t, c.bytes, clockID).value, s.now, get(r.t, c.bytes, clockDelta).value))
			}
		}
		defaults := get(r.t, p, packetDefaults).bytes
		s.track = get(r.t, get(r.t, defaults, defaultsTrackEvent).bytes, eventTrack).value
		r.seqs[id] = s
		r.text = append(r.text, fmt.Sprintf("sequence %d on %s, clocks %v primary %d default %d", id, r.tracks[s.track], clocks,
			get(r.t, snapshot, snapshotPrimary).value, get(r.t, defaults, defaultsClock).value))
		return
	}
	s := r.seqs[id]
	s.now += get(r.t, p, packetTimestamp).value
	if in := get(r.t, p, packetInterned).bytes; in != nil {
		entry := get(r.t, in, internedName).bytes
		s.names[get(r.t, entry, internedNameID).value] = string(get(r.t, entry, internedText).bytes)
	}
	e := get(r.t, p, packetTrackEvent).bytes
	line := fmt.Sprintf("%d %d", id, s.now)
	switch get(r.t, e, eventType).value {
	case sliceBegin:
		name, ok := s.names[get(r.t, e, eventNameID).value]
		if !ok {
			r.t.Fatalf("a name that was not interned")
		}
		line += " begin " + name
		s.open = append(s.open, s.now)
	case sliceEnd:
		line += " end"
		s.durations = append(s.durations, s.now-s.open[len(s.open)-1])
		s.open = s.open[:len(s.open)-1]
	case instant:
		line += " instant " + string(get(r.t, e, eventName).bytes)
	}
	for _, f := range fields(r.t, e) {
		if f.number == eventAnnotation {
			line += fmt.Sprintf(" %s=%d%q", get(r.t, f.bytes, annotationName).bytes, get(r.t, f.bytes, annotationUint).value, get(r.t, f.bytes, annotationString).bytes)
		}
	}
	r.text = append(r.text, line)
}

func small(w io.Writer) error {
	x := NewWriter(w, 1795176873250907427, Realtime)
	main, work := x.Function("main"), x.Function("work(int)")
	x.Thread(7, 7, "app", "thread 7")
	x.Begin(0, main, nil)
	x.Begin(10, work, []uint64{1000, 1<<64 - 1})
	x.End(10)
	x.Begin(11, work, nil)
	x.Instant(12, calllog.Custom, &calllog.Payload{Data: []byte("hello")})
	x.Instant(12, calllog.Typed, &calllog.Payload{Data: []byte{0xff}, Type: 3})
	x.End(5_000_000_000)
	x.End(5_000_000_001)
	x.Thread(7, 8, "app", "thread 8")
	x.Begin(20, work, nil)
	x.End(21)
	return x.Close()
}

func TestWriter(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := small(&b); err != nil {
		t.Fatal(err)
	}
	r := read(t, b.Bytes())
	want := []string{
		"sequence 1 on thread 7 7 thread 7, clocks [64:1795176873250907427:1 1:1795176873250907427:0] primary 1 default 64",
		"1 1795176873250907427 begin main",
		`1 1795176873250907437 begin work(int) arg1=1000"" arg2=18446744073709551615""`,
		"1 1795176873250907437 end",
		"1 1795176873250907438 begin work(int)",
		`1 1795176873250907439 instant custom event text=0"hello"`,
		`1 1795176873250907439 instant typed event type=3"" hex=0"ff"`,
		"1 1795176878250907427 end",
		"1 1795176878250907428 end",
		"sequence 2 on thread 7 8 thread 8, clocks [64:1795176873250907427:1 1:1795176873250907427:0] primary 1 default 64",
		"2 1795176873250907447 begin work(int)",
		"2 1795176873250907448 end",
	}
	if !slices.Equal(r.text, want) {
		t.Errorf("read\n%s\nwant\n%s", strings.Join(r.text, "\n"), strings.Join(want, "\n"))
	}
	if len(r.tracks) != 3 || r.tracks[1] != "process 7 app" {
		t.Errorf("tracks are %v", r.tracks)
	}
}

// protoc reads what the writer writes.
func TestProtoc(t *testing.T) {
	t.Parallel()
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Skip("no protoc (apt install protobuf-compiler)")
	}
	var b bytes.Buffer
	if err := small(&b); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(protoc, "--decode_raw")
	cmd.Stdin = &b
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`6: "app"`, `2: "work(int)"`, `58: 64`, `2: 1795176873250907427`, `5: "thread 8"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("protoc does not see %s in\n%s", want, out)
		}
	}
}

// TestExact checks that the durations of arbitrary calls are read back exactly.
func TestExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		w := NewWriter(&b, rapid.Uint64Max(1<<62).Draw(t, "start"), Boottime)
		f := w.Function("f")
		want := map[uint64][]uint64{}
		for thread := range uint64(rapid.IntRange(1, 3).Draw(t, "threads")) {
			w.Thread(1, uint32(thread), "p", "t")
			var open []uint64
			at := uint64(0)
			for range rapid.IntRange(0, 30).Draw(t, "steps") {
				at += rapid.Uint64Max(1<<50).Draw(t, "delta")
				if len(open) > 0 && rapid.Bool().Draw(t, "end") {
					want[thread+1] = append(want[thread+1], at-open[len(open)-1])
					open = open[:len(open)-1]
					w.End(at)
				} else {
					open = append(open, at)
					w.Begin(at, f, nil)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for id, s := range read(t, b.Bytes()).seqs {
			if !slices.Equal(s.durations, want[id]) {
				t.Fatalf("durations are %v, want %v", s.durations, want[id])
			}
		}
	})
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "main", "a\nb\x00\u2028", "\xff\xfe", "ns::f<int>(char&&)"} {
		f.Add(s, []byte(s))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		var b bytes.Buffer
		w := NewWriter(&b, 0, Boottime)
		fn := w.Function(name)
		w.Thread(1, 2, name, name)
		w.Begin(0, fn, nil)
		w.Instant(1, calllog.Custom, &calllog.Payload{Data: data})
		w.End(1)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r := read(t, b.Bytes())
		name = strings.ToValidUTF8(name, "\uFFFD")
		if r.seqs[1].names[1] != name || r.tracks[1] != "process 1 "+name || len(r.text) != 4 {
			t.Fatalf("%q came back in %v, %v", name, r.tracks, r.text)
		}
	})
}

type fullDisk struct{}

var errFull = errors.New("disk full")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestError(t *testing.T) {
	t.Parallel()
	w := NewWriter(fullDisk{}, 0, Boottime)
	f := w.Function("f")
	w.Thread(1, 1, "p", "t")
	for range 100_000 {
		if err := w.Begin(0, f, nil); err != nil {
			if !errors.Is(err, errFull) || !errors.Is(w.Close(), errFull) {
				t.Errorf("the error is %v", err)
			}
			return
		}
	}
	t.Error("no error")
}

func BenchmarkCall(b *testing.B) {
	w := NewWriter(io.Discard, 0, Boottime)
	f := w.Function("sqlite3VdbeExec")
	w.Thread(7350, 7350, "p", "t")
	for i := range b.N {
		w.Begin(uint64(i)*100, f, nil)
		w.End(uint64(i)*100 + 50)
	}
}
