package chrometrace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/calllog"
)

func TestWriter(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := NewWriter(&b, []Meta{{"start", "1795176873250907427"}, {"log", `a"b`}})
	main, op := w.Function("main"), w.Function(`operator"" _km(long double)`)
	w.Thread(7, 7, "app", "thread 7")
	w.Begin(0, main, nil)
	w.Begin(1001, op, []uint64{1000, 1 << 63})
	w.End(1001)
	w.Instant(1999, calllog.Custom, &calllog.Payload{Data: []byte("hello\x00")})
	w.Instant(1999, calllog.Typed, &calllog.Payload{Data: []byte{0xff, 0}, Type: 3})
	w.End(1795176873250907427)
	w.Thread(7, 8, "app", "thread 8")
	w.Begin(2000, main, nil)
	w.End(3000)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := `{"displayTimeUnit":"ns","otherData":{"start":"1795176873250907427","log":"a\"b"},
"traceEvents":[
{"ph":"M","pid":7,"name":"process_name","args":{"name":"app"}},
{"ph":"M","pid":7,"tid":7,"name":"thread_name","args":{"name":"thread 7"}},
{"ph":"B","pid":7,"tid":7,"ts":0.000,"name":"main"},
{"ph":"B","pid":7,"tid":7,"ts":1.001,"name":"operator\"\" _km(long double)","args":{"arg1":1000,"arg2":"9223372036854775808"}},
{"ph":"E","pid":7,"tid":7,"ts":1.001,"name":"operator\"\" _km(long double)","args":{"arg1":1000,"arg2":"9223372036854775808"}},
{"ph":"i","s":"t","pid":7,"tid":7,"ts":1.999,"name":"custom event","args":{"text":"hello\u0000"}},
{"ph":"i","s":"t","pid":7,"tid":7,"ts":1.999,"name":"typed event","args":{"type":3,"hex":"ff00"}},
{"ph":"E","pid":7,"tid":7,"ts":1795176873250907.427,"name":"main"},
{"ph":"M","pid":7,"tid":8,"name":"thread_name","args":{"name":"thread 8"}},
{"ph":"B","pid":7,"tid":8,"ts":2.000,"name":"main"},
{"ph":"E","pid":7,"tid":8,"ts":3.000,"name":"main"}
]}
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if !json.Valid(b.Bytes()) {
		t.Error("this is no JSON")
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := NewWriter(&b, nil).Close(); err != nil || !json.Valid(b.Bytes()) {
		t.Errorf("error %v, text %q", err, b.String())
	}
}

// event is what a viewer reads.
type event struct {
	Ph       string
	PID, TID uint32
	TS       json.Number
	Name     string
	Args     map[string]any
}

func read(t interface{ Fatal(args ...any) }, data []byte) []event {
	var doc struct{ TraceEvents []event }
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err, string(data))
	}
	return doc.TraceEvents
}

// nanoseconds reads a time as decimal digits.
func nanoseconds(t interface{ Fatal(args ...any) }, ts json.Number) uint64 {
	whole, frac, ok := strings.Cut(ts.String(), ".")
	ns, err := strconv.ParseUint(whole+frac, 10, 64)
	if !ok || err != nil || len(frac) != len("123") {
		t.Fatal("bad time", ts)
	}
	return ns
}

// TestExact checks that the durations of arbitrary calls are read back exactly.
func TestExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		w := NewWriter(&b, nil)
		f := w.Function("f")
		w.Thread(1, 1, "p", "t")
		var open, want, got []uint64
		at := uint64(0)
		for range rapid.IntRange(0, 50).Draw(t, "steps") {
			at += rapid.Uint64Max(1e15).Draw(t, "delta")
			if len(open) > 0 && rapid.Bool().Draw(t, "end") {
				want = append(want, at-open[len(open)-1])
				open = open[:len(open)-1]
				w.End(at)
			} else {
				open = append(open, at)
				w.Begin(at, f, nil)
			}
		}
		w.Close()
		open = open[:0]
		for _, e := range read(t, b.Bytes()) {
			switch e.Ph {
			case "B":
				open = append(open, nanoseconds(t, e.TS))
			case "E":
				got = append(got, nanoseconds(t, e.TS)-open[len(open)-1])
				open = open[:len(open)-1]
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("durations are %v, want %v", got, want)
		}
	})
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "main", `operator"" _x`, "a\nb\x00\u2028</script>", "\xff\xfe", "ns::f<int>(char&&)"} {
		f.Add(s, []byte(s))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		var b bytes.Buffer
		w := NewWriter(&b, []Meta{{name, name}})
		fn := w.Function(name)
		w.Thread(1, 2, name, name)
		w.Begin(0, fn, nil)
		w.Instant(1, calllog.Custom, &calllog.Payload{Data: data})
		w.End(1)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		events := read(t, b.Bytes())
		want := string([]rune(name)) // what is no UTF-8 becomes U+FFFD
		if len(events) != 5 || events[2].Name != want || events[0].Args["name"] != want || events[1].Args["name"] != want {
			t.Fatalf("%q came back in %v", name, events)
		}
	})
}

type fullDisk struct{}

var errFull = errors.New("disk full")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestError(t *testing.T) {
	t.Parallel()
	w := NewWriter(fullDisk{}, nil)
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
	w := NewWriter(io.Discard, nil)
	f := w.Function("sqlite3VdbeExec")
	w.Thread(7350, 7350, "p", "t")
	for i := range b.N {
		w.Begin(uint64(i)*100, f, nil)
		w.End(uint64(i)*100 + 50)
	}
}
