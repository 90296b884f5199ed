package pages

import (
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// TestCold is computed by hand: steps touch pages 8, 9, 2 and 15 of 16, in this order.
func TestCold(t *testing.T) {
	t.Parallel()
	page := func(i uint64) Step { return step(Span{0x10000 + i<<12, 64}) }
	run := Compute(Span{0x10000, 16 << 12}, []Step{page(8), page(9), page(2), page(15), page(8)}, 4096)
	tests := []struct {
		name        string
		device      Device
		reads, read int
	}{
		{"each page", Device{}, 4, 4},
		{"less than a page", Device{Ahead: 1024, Around: true}, 4, 4},
		{"two pages ahead", Device{Ahead: 8192}, 3, 5},                    // 8-9, 2-3, 15
		{"two pages around", Device{Ahead: 8192, Around: true}, 4, 7},     // 7-8, 8-9, 1-2, 14-15
		{"eight pages ahead", Device{Ahead: 32768}, 2, 14},                // 8-15, 2-9
		{"eight pages around", Device{Ahead: 32768, Around: true}, 3, 16}, // 4-11, 0-7, 11-15
		{"more than there is", Device{Ahead: 1 << 40}, 2, 14},             // 8-15, 2-15
		{"all", Device{Ahead: 1 << 40, Around: true}, 1, 16},
	}
	for _, test := range tests {
		if reads, read := run.cold(test.device); reads != test.reads || read != test.read {
			t.Errorf("%s: %d reads of %d pages, want %d of %d", test.name, reads, read, test.reads, test.read)
		}
	}
	if reads, read := Compute(Span{}, nil, 4096).cold(Device{Ahead: 1 << 20}); reads != 0 || read != 0 {
		t.Errorf("nothing of nothing: %d, %d", reads, read)
	}
}

// TestColdMean checks that runs of a scenario count by their weight.
func TestColdMean(t *testing.T) {
	t.Parallel()
	m := &prof.Map{Funcs: []prof.Func{fn("a", Span{0x10000, 64}), fn("b", Span{0x20000, 64})}}
	p := &Program{Layout: FromMap(Span{0x10000, 0x20000}, m), Match: Same(m)}
	s := Scenario{Traces: []prof.Trace{{Weight: 3, Funcs: []uint32{0}}, {Weight: 1, Funcs: []uint32{0, 1}}}}
	got := p.Cold(&s, 4096, Device{})
	if want := (Cold{Reads: 1.25, Bytes: 1.25 * 4096}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
