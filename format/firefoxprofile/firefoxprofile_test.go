package firefoxprofile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

type doc struct {
	Meta    map[string]any
	Threads []map[string]any
	Shared  struct{ StringArray []string }
}

// example has a call without duration, a gap between calls, an event, and an empty thread.
func example(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, Meta{Product: "app <1>", Program: "cairn", Start: 1_700_000_000_123_456_789})
	main, work := w.Function(Function{"main", "main.c", 3}), w.Function(Function{Name: `op"<T>`})
	w.Thread(7, 7, "app", "thread 7")
	w.Begin(100, main)
	w.Begin(1_000_100, work)
	w.Marker(1_000_150, "an event")
	w.End(1_500_100)
	w.Begin(1_500_100, work) // takes no time
	w.End(1_500_100)
	w.End(2_000_100)
	w.Begin(3_000_000, work)
	w.End(4_000_000)
	w.Thread(7, 8, "app", "thread 8")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWrite(t *testing.T) {
	t.Parallel()
	data := example(t)
	var d doc
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	if got := d.Meta["startTime"]; got != 1_700_000_000_123.456789 {
		t.Errorf("startTime %v", got)
	}
	samples := d.Threads[0]["samples"].(map[string]any)
	got := fmt.Sprint(samples["stack"], samples["time"], samples["weight"])
	if want := "[0 1 1 0 <nil> 2] [0.0001 1.0001 1.5001 1.5001 2.0001 3] [1 0.5 0 0.5 0.9999 1]"; got != want {
		t.Errorf("samples %s\nwant    %s", got, want)
	}
	stacks := d.Threads[0]["stackTable"].(map[string]any)
	if got, want := fmt.Sprint(stacks["prefix"], stacks["frame"]), "[<nil> 0 <nil>] [0 1 1]"; got != want {
		t.Errorf("stacks %s, want %s", got, want)
	}
	for i, th := range d.Threads {
		for name, table := range th {
			if table, ok := table.(map[string]any); ok {
				for column, values := range table {
					if values, ok := values.([]any); ok && float64(len(values)) != table["length"] {
						t.Errorf("thread %d: %s.%s has %d values, length is %v", i, name, column, len(values), table["length"])
					}
				}
			}
		}
	}
	if got := strings.Join(d.Shared.StringArray, ","); got != `an event,main,main.c,op"<T>` {
		t.Errorf("strings %s", got)
	}
}

// TestColumns compares the tables with those that the viewer's types demand.
func TestColumns(t *testing.T) {
	t.Parallel()
	var d doc
	if err := json.Unmarshal(example(t), &d); err != nil {
		t.Fatal(err)
	}
	for table, columns := range map[string]string{
		"samples":       "stack time weight weightType length",
		"markers":       "data name startTime endTime phase category length",
		"stackTable":    "frame prefix length",
		"frameTable":    "address inlineDepth category subcategory func nativeSymbol innerWindowID line column length",
		"funcTable":     "name isJS relevantForJS resource fileName lineNumber columnNumber length",
		"resourceTable": "length lib name host type",
		"nativeSymbols": "libIndex address name functionSize length",
	} {
		got := d.Threads[0][table].(map[string]any)
		for _, c := range strings.Fields(columns) {
			if _, ok := got[c]; !ok {
				t.Errorf("%s lacks %s", table, c)
			}
			delete(got, c)
		}
		if len(got) > 0 {
			t.Errorf("%s has other columns: %v", table, got)
		}
	}
	for _, key := range strings.Fields("processType processStartupTime processShutdownTime registerTime unregisterTime pausedRanges name isMainThread pid tid") {
		if _, ok := d.Threads[0][key]; !ok {
			t.Errorf("a thread lacks %s", key)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestFailing(t *testing.T) {
	t.Parallel()
	if NewWriter(failing{}, Meta{}).Close() == nil {
		t.Error("no error")
	}
}
