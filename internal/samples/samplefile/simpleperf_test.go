package samplefile

import (
	"strings"
	"testing"

	pdt "github.com/cairnprof/cairn/format/perfdata/perfdatatest"
)

// TestRecorder names the tool that recorded, and what makes samples of its traces of instructions.
func TestRecorder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		features map[int][]byte
		how      string
		notes    []string
	}{
		{nil, "perf inject --itrace=i10usle -i ", []string{"perf record was too slow", "record with perf record --call-graph fp"}},
		{map[int][]byte{129: []byte("simpleperf_version\x001\x00")}, "simpleperf inject counts the branches", []string{"simpleperf record was too slow", "record with simpleperf record --call-graph fp"}},
	} {
		for _, samples := range []int{0, 200} {
			w := pdt.Writer{Events: []pdt.Event{{SampleType: pdt.IP | pdt.TID | pdt.Time | pdt.Callchain, Name: "cycles"}}, Features: c.features}
			w.Record(2, 0, make([]byte, 15)) // of the id and the number; and 256 records are lost
			w.Record(2, 0, append(make([]byte, 9), 1, 0, 0, 0, 0, 0, 0))
			for i := range samples {
				w.Sample(pdt.Sample{IP: 0x10, PID: 1, TID: 1, Time: uint64(i + 1)})
			}
			if samples == 0 {
				w.Trace(0, 0, -1, 0, make([]byte, 64))
			}
			in, name := readThrough(t, &w)
			empty, notes := Empty(in.Info(), in.Stats()), strings.Join(in.Notes(), "\n")
			if samples == 0 && (empty == nil || !strings.HasPrefix(empty.Error(), name+": no samples: 64 bytes of a trace of instructions") || !strings.Contains(empty.Error(), c.how)) {
				t.Errorf("%v, want %s", empty, c.how)
			}
			for _, note := range c.notes {
				if samples > 0 && (empty != nil || !strings.Contains(notes, note)) {
					t.Errorf("%v, %s, want %s", empty, notes, note)
				}
			}
		}
	}
}
