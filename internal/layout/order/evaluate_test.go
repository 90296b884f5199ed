package order

import (
	"math"
	"reflect"
	"strconv"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

func TestEvaluate(t *testing.T) {
	t.Parallel()
	in := &Input{
		Funcs: []Func{
			0: {Size: 4090},            // page 0
			1: {Size: 1},               // at 4096: page 1
			2: {Size: 8192, Addr: 100}, // at 4112: pages 1 to 3
			3: {Size: 20, Addr: 200},   // at 12304: page 3
		},
		Traces: []prof.Trace{{Scenario: "a", Weight: 3, Funcs: []uint32{3, 0, 2, 3}}, {}},
	}
	// Not in the order are 2 and 3, which follow by address.
	got := Evaluate(in, []uint32{0, 1, 99}, 4096)
	want := []TraceStats{
		{Scenario: "a", Weight: 3, Funcs: 3, Bytes: 12302, Bound: 4, Pages: 4, Area: (1 + 2 + 4) / 3.0},
		{Weight: 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Evaluate(in, []uint32{0, 1}, 1<<16)[0].Pages; got != 1 {
		t.Errorf("%d pages of 64 KiB, want 1", got)
	}
}

func TestLeaveOneOut(t *testing.T) {
	t.Parallel()
	in := &Input{Funcs: make([]Func, 5)}
	for i := range in.Funcs {
		in.Funcs[i] = Func{Size: 4096, Addr: uint64(i)}
	}
	in.Traces = []prof.Trace{
		{Scenario: "a", Funcs: []uint32{1, 3}},
		{Scenario: "b", Funcs: []uint32{1, 3}},
		{Scenario: "a", Funcs: []uint32{1, 3, 4, 0}},
	}
	want := []HeldOut{
		{Scenario: "a", Traces: 2, Pages: 3, Bound: 3, UnseenFuncs: 2 / 6.0, UnseenBytes: 2 / 6.0, Warn: true},
		{Scenario: "b", Traces: 1, Pages: 2, Bound: 2},
	}
	if got := LeaveOneOut(in, First, Options{}, 4096); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	in.Traces = in.Traces[1:2]
	if got := LeaveOneOut(in, First, Options{}, 4096); got != nil {
		t.Errorf("one scenario: %+v", got)
	}
}

// TestLeaveOutMany checks that of many scenarios several are left out together, and that all
// are reported.
func TestLeaveOutMany(t *testing.T) {
	t.Parallel()
	const scenarios = 2*maxFolds + 3
	in := &Input{Funcs: make([]Func, scenarios+1)}
	for i := range scenarios {
		in.Funcs[i].Size = 64
		in.Traces = append(in.Traces, prof.Trace{Scenario: strconv.Itoa(i), Funcs: []uint32{scenarios, uint32(i)}})
	}
	in.Funcs[scenarios].Size = 64
	held := LeaveOneOut(in, Startup, Options{}, 4096)
	if len(held) != scenarios {
		t.Fatalf("%d scenarios, want %d", len(held), scenarios)
	}
	for i, h := range held {
		if h.Scenario != strconv.Itoa(i) || math.Abs(h.UnseenFuncs-0.5) > 1e-9 || h.Pages == 0 {
			t.Errorf("scenario %d: %+v", i, h)
		}
	}
}
