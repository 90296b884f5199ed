package gobuild_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBesideTrace shows the trace that a program writes with runtime/trace beside its log of
// spikes. Each planted call is all that its goroutine does, so that in the trace the goroutine
// lives from before the call to after it, if both clocks agree.
func TestBesideTrace(t *testing.T) {
	cairn, _ := needsGo(t)
	src, err := os.ReadFile("testdata/beside.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), src, 0o666); err != nil {
		t.Fatal(err)
	}
	do(t, dir, "", []string{"CGO_ENABLED=0"}, cairn, "go", "--mode", "spike", "--threshold", "20ms", "build", "-o", "app", "main.go")
	do(t, dir, "", []string{"CAIRN_DIR=raws"}, "./app")
	var page struct {
		Timeline struct {
			Notes []string
			Lanes []struct {
				Name        string
				Log         int
				TID         uint32
				First, Last uint64
			}
			Spikes []struct {
				Start, End uint64
				TID        uint32
				Interval   [2]uint64 `json:"interval_ns"`
				Peak       struct{ Function string }
			}
		}
	}
	if err := json.Unmarshal([]byte(do(t, dir, "", nil, cairn, "report", "--json", "raws", "trace.out", "app")), &page); err != nil {
		t.Fatal(err)
	}
	line := page.Timeline
	if len(line.Notes) > 0 {
		t.Error(line.Notes)
	}
	const slack = 100_000 // ns
	found := 0
	for _, s := range line.Spikes {
		if s.Peak.Function != "main.planted" {
			continue
		}
		found++
		at := -1
		for i, l := range line.Lanes {
			if l.TID == s.TID && strings.HasSuffix(l.Name, "(main.planted)") {
				at = i
			}
		}
		if at < 1 {
			t.Errorf("goroutine %d is not in the trace", s.TID)
			continue
		}
		l := line.Lanes[at]
		if begin := s.End - s.Interval[0]; begin+slack < l.First || s.End > l.Last+slack || l.Last > s.End+5_000_000_000 {
			t.Errorf("goroutine %d: in a call from %d to %d, alive from %d to %d", s.TID, begin, s.End, l.First, l.Last)
		}
		if before := line.Lanes[at-1]; before.TID != s.TID || before.Log == l.Log {
			t.Errorf("lane %q stands below %q", l.Name, before.Name)
		}
	}
	if found < 3 {
		t.Errorf("%d spikes of planted calls", found)
	}
}
