//go:build linux

package samplefile

import (
	"os"
	"path/filepath"
	"testing"

	pdt "github.com/cairnprof/cairn/format/perfdata/perfdatatest"
	"github.com/cairnprof/cairn/sample"
)

// TestTruncated has a file that another program truncates while it is read: what is gone is an
// error, and no fault.
func TestTruncated(t *testing.T) {
	t.Parallel()
	w := pdt.Writer{Events: []pdt.Event{{SampleType: pdt.IP | pdt.TID | pdt.Time | pdt.RegsUser | pdt.StackUser, Regs: 1 << 7, Name: "cycles"}}}
	const samples, room = 1000, 8192
	for i := range uint64(samples) {
		w.Sample(pdt.Sample{IP: 0x1000, PID: 7, TID: 7, Time: i + 1, ABI: 2, Room: room, User: sample.UserState{Regs: []uint64{i}, Stack: make([]byte, room)}})
	}
	name := filepath.Join(t.TempDir(), "perf.data")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := w.WriteTo(out); err != nil {
		t.Fatal(err)
	}
	in, err := Open(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := out.Truncate(samples * room / 2); err != nil {
		t.Fatal(err)
	}
	err = nil
	for b, e := range in.Batches(t.Context()) {
		if err = e; e == nil {
			b.Release()
		}
	}
	if err == nil || err.Error() != name+": the file was truncated while it was read" {
		t.Errorf("got %v", err)
	}
}
