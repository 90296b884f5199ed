package speedscope

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// file is what the schema has, as far as it is of use here.
type file struct {
	Schema   string `json:"$schema"`
	Exporter string
	Name     string
	Shared   struct {
		Frames []struct {
			Name string
			File string
			Line int
		}
	}
	Profiles []struct {
		Type, Name, Unit     string
		StartValue, EndValue uint64
		Events               []struct {
			Type  string
			Frame int
			At    uint64
		}
		Samples [][]int
		Weights []uint64
	}
}

// read reads a file and holds it against the rules of the schema and of
// speedscope's importer. It returns the durations of the calls as they end.
func read(data []byte) (f file, durations [][]uint64, err error) {
	if err := json.Unmarshal(data, &f); err != nil {
		return f, nil, err
	}
	if f.Schema != "https://www.speedscope.app/file-format-schema.json" || len(f.Profiles) == 0 {
		return f, nil, errors.New("no speedscope file")
	}
	for _, p := range f.Profiles {
		var list []uint64
		at, sum := p.StartValue, uint64(0)
		type call struct {
			frame int
			at    uint64
		}
		var open []call
		for _, e := range p.Events {
			switch {
			case e.At < at || e.At > p.EndValue:
				return f, nil, fmt.Errorf("time goes from %d to %d, the end is at %d", at, e.At, p.EndValue)
			case e.Frame < 0 || e.Frame >= len(f.Shared.Frames):
				return f, nil, fmt.Errorf("there is no frame %d", e.Frame)
			case e.Type == "O":
				open = append(open, call{e.Frame, e.At})
			case e.Type != "C" || len(open) == 0 || open[len(open)-1].frame != e.Frame:
				return f, nil, fmt.Errorf("event %v does not end what is open: %v", e, open)
			default:
				list = append(list, e.At-open[len(open)-1].at)
				open = open[:len(open)-1]
			}
			at = e.At
		}
		for _, w := range p.Weights {
			sum += w
		}
		if len(open) > 0 || len(p.Samples) != len(p.Weights) || p.Type == "sampled" && p.EndValue != sum {
			return f, nil, fmt.Errorf("%d calls are open, %d samples, %d weights, sum %d, end %d", len(open), len(p.Samples), len(p.Weights), sum, p.EndValue)
		}
		durations = append(durations, list)
	}
	return f, durations, nil
}

func TestWriter(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := NewWriter(&b, `a"b.log`, "cairn")
	main, work := w.Function(Frame{Name: "main", File: "main.c", Line: 3}), w.Function(Frame{Name: "work<int>(char&&)"})
	w.Evented("thread 7", Nanoseconds)
	w.Begin(0, main)
	w.Begin(10, work)
	w.End(10)
	w.End(1234)
	w.EndEvented()
	w.Evented("thread 8", Nanoseconds)
	w.EndEvented()
	w.Sampled("all", None, func(yield func([]int, uint64) error) error {
		return errors.Join(yield([]int{main}, 1234), yield([]int{main, work}, 0))
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := `{"$schema":"https://www.speedscope.app/file-format-schema.json",
"exporter":"cairn","name":"a\"b.log","activeProfileIndex":0,"profiles":[
{"type":"evented","name":"thread 7","unit":"nanoseconds","startValue":0,"events":[
{"type":"O","frame":0,"at":0},
{"type":"O","frame":1,"at":10},
{"type":"C","frame":1,"at":10},
{"type":"C","frame":0,"at":1234}
],"endValue":1234},
{"type":"evented","name":"thread 8","unit":"nanoseconds","startValue":0,"events":[
],"endValue":0},
{"type":"sampled","name":"all","unit":"none","startValue":0,"samples":[
[0],
[0,1]
],"weights":[
1234,
0
],"endValue":1234}
],"shared":{"frames":[
{"name":"main","file":"main.c","line":3},
{"name":"work<int>(char&&)"}
]}}
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if _, _, err := read(b.Bytes()); err != nil {
		t.Error(err)
	}
}

// TestExact checks that the durations of arbitrary calls are read back exactly.
func TestExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		w := NewWriter(&b, "", "cairn")
		f := w.Function(Frame{Name: "f"})
		w.Evented("t", Nanoseconds)
		var open, want []uint64
		at := uint64(0)
		end := func() {
			want = append(want, at-open[len(open)-1])
			open = open[:len(open)-1]
			w.End(at)
		}
		for range rapid.IntRange(0, 50).Draw(t, "steps") {
			at += rapid.Uint64Max(1e15).Draw(t, "delta")
			if len(open) > 0 && rapid.Bool().Draw(t, "end") {
				end()
			} else {
				open = append(open, at)
				w.Begin(at, f)
			}
		}
		for len(open) > 0 {
			end()
		}
		w.EndEvented()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		_, got, err := read(b.Bytes())
		if err != nil || !slices.Equal(got[0], want) {
			t.Fatalf("durations are %v, want %v; %v", got, want, err)
		}
	})
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "main", `operator"" _x`, "a\nb\x00\u2028</script>", "\xff\xfe"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, name, path string) {
		var b bytes.Buffer
		w := NewWriter(&b, name, "cairn")
		w.Function(Frame{Name: name, File: path})
		w.Evented(name, Nanoseconds)
		w.EndEvented()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got, _, err := read(b.Bytes())
		want := string([]rune(name)) // what is no UTF-8 becomes U+FFFD
		if err != nil || got.Name != want || got.Profiles[0].Name != want || got.Shared.Frames[0].Name != want || got.Shared.Frames[0].File != string([]rune(path)) {
			t.Fatalf("%q, %q came back as %+v, %v", name, path, got, err)
		}
	})
}

type fullDisk struct{}

var errFull = errors.New("disk full")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestError(t *testing.T) {
	t.Parallel()
	w := NewWriter(fullDisk{}, "", "cairn")
	w.Evented("t", Nanoseconds)
	f := w.Function(Frame{Name: "f"})
	for range 100_000 {
		if err := w.Begin(0, f); err != nil {
			if !errors.Is(err, errFull) || !errors.Is(w.Close(), errFull) {
				t.Errorf("the error is %v", err)
			}
			return
		}
	}
	t.Error("no error")
}
