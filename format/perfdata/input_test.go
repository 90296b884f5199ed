package perfdata_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/cairnprof/cairn/format/perfdata"
	pdt "github.com/cairnprof/cairn/format/perfdata/perfdatatest"
	"github.com/cairnprof/cairn/sample"
)

// TestBlocks reads a file of many blocks, to the borders of which records do not keep, in rounds that have several of
// them. Copies of stacks are those that were written as long as their batch is held, whatever is read meanwhile.
func TestBlocks(t *testing.T) {
	t.Parallel()
	w := pdt.Writer{Events: []pdt.Event{{SampleType: pdt.IP | pdt.TID | pdt.Time | pdt.RegsUser | pdt.StackUser, Regs: 1 << 7, Name: "cycles"}}}
	const samples, room, round = 1500, 5000, 300
	for i := range uint64(samples) {
		stack := bytes.Repeat(binary.LittleEndian.AppendUint64(nil, i), room/8)
		w.Sample(pdt.Sample{IP: 0x1000, PID: 7, TID: 7, Time: i ^ 1 + 1, ABI: 2, Room: room, User: sample.UserState{Regs: []uint64{i}, Stack: stack}})
		if i%round == round-1 {
			w.Record(68, 0, nil) // PERF_RECORD_FINISHED_ROUND
		}
	}
	var file bytes.Buffer
	if _, err := w.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	for _, held := range []int{0, 3, samples} { // batches
		t.Run(fmt.Sprint(held), func(t *testing.T) {
			t.Parallel()
			in, err := perfdata.Open(bytes.NewReader(file.Bytes()), int64(file.Len()), "perf.data")
			if err != nil {
				t.Fatal(err)
			}
			seen := 0
			check := func(b *sample.Batch) {
				for i := range b.Samples {
					u := b.Samples[i].User
					want := bytes.Repeat(binary.LittleEndian.AppendUint64(nil, u.Regs[0]), room/8)
					if !bytes.Equal(u.Stack, want) {
						t.Fatalf("the stack of sample %d has changed", u.Regs[0])
					}
					seen++
				}
				b.Release()
			}
			var waiting []*sample.Batch
			for b, err := range in.Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				waiting = append(waiting, b)
				if len(waiting) > held {
					check(waiting[0])
					waiting = waiting[1:]
				}
			}
			for _, b := range waiting {
				check(b)
			}
			if seen != samples {
				t.Errorf("%d of %d samples", seen, samples)
			}
		})
	}
}
