//go:build linux

package samplefile

import (
	"os"
	"path/filepath"
	"testing"

	pdt "github.com/cairnprof/cairn/format/perfdata/perfdatatest"
	"github.com/cairnprof/cairn/sample"
)

// TestTruncated has a file that another program truncates while it is read: it is damaged there.
func TestTruncated(t *testing.T) {
	t.Parallel()
	w := pdt.Writer{Events: []pdt.Event{{SampleType: pdt.IP | pdt.TID | pdt.Time | pdt.RegsUser | pdt.StackUser, Regs: 1 << 7, Name: "cycles"}}}
	const samples, room, blocked = 1000, 8192, 64 // those that were read ahead
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
	for b, err := range in.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	stats := in.Stats()
	if len(stats.Damage) != 1 || stats.Samples < samples/2-samples/50 || stats.Samples > samples/2+blocked {
		t.Errorf("%d of %d samples, %v", stats.Samples, samples, stats.Damage)
	}
}
