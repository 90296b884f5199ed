package samplefile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	pdt "github.com/cairnprof/cairn/format/perfdata/perfdatatest"
)

// TestNotesTrace checks that losses of a trace are reported, and that their number is unknown.
func TestNotesTrace(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		flags []uint64
		want  []string
	}{
		{[]uint64{0, 2, 0x100}, nil},
		{
			[]uint64{0, 1, 9, 4},
			[]string{"FILE: records are missing in 3 of 4 pieces of the trace, it is not known how many (buffer full: 2, stopped: 1, collisions: 1): counts are too low"},
		},
	} {
		w := pdt.Writer{Events: []pdt.Event{{Kind: 11, SampleType: pdt.Identifier | pdt.IP | pdt.TID | pdt.Time | pdt.CPU, ID: 7, Name: "arm_spe_0//u"}}}
		w.Tracing(11, 10, 40<<10, 1000)
		for i, flags := range tc.flags {
			w.Aux(0, uint64(i)*64, 64, flags, uint64(i+1))
		}
		w.Trace(0, 0, -1, 0, pdt.Operation{Class: 2, Address: 0x1000, Target: 0x2000}.Append(nil))
		in, name := readThrough(t, &w)
		for i, want := range tc.want {
			tc.want[i] = name + want[len("FILE"):]
		}
		if got := in.Notes(); !slices.Equal(got, tc.want) {
			t.Errorf("%v: got %q, want %q", tc.flags, got, tc.want)
		}
	}
}

// readThrough writes a recording to a file, name, and reads all samples of it. It is closed at the end of the test.
func readThrough(t *testing.T, w *pdt.Writer) (in *File, name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "perf.data")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteTo(out); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if in, err = Open(name, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	for b, err := range in.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	return in, name
}
