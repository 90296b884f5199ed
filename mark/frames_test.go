//go:build cairn

package mark

import (
	"testing"
	"time"
)

// TestFrames checks the durations of frames in the log.
func TestFrames(t *testing.T) {
	const n = 3000 // more than there are buckets
	for i := range n {
		if i == n-10 {
			time.Sleep(20 * time.Millisecond)
		}
		Frame()
	}
	log, _ := readLog(t)
	f := log.Frames
	if f == nil || f.Count < n-1 || f.Over == 0 || f.Worst < 20e6 || f.Each < 4 || len(f.Buckets) > 1024 || len(f.Longest) == 0 {
		t.Fatalf("%+v", f)
	}
	worst, over := uint64(0), uint64(0)
	for _, b := range f.Buckets {
		worst = max(worst, b.Worst)
		over += uint64(b.Over)
	}
	if worst != f.Worst/1000*1000 || over != f.Over || f.Longest[0].Took != f.Worst {
		t.Errorf("%+v", f)
	}
	found := false
	for _, x := range f.Longest {
		found = found || x.Took >= 20e6 && x.Number+20 > frames.Load()-20
	}
	if !found {
		t.Errorf("the long frame is not among %v", f.Longest)
	}
}
