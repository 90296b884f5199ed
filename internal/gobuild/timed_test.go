package gobuild_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// spike is what is looked at of an object that cairn spikes prints.
type spike struct {
	TID      int
	WallNS   int64    `json:"wall_ns"`
	Interval [2]int64 `json:"interval_ns"`
	BlindNS  int64    `json:"blind_ns"`
	Parent   bool     `json:"parent"`
	Peak     struct{ Function string }
	Why      struct {
		CPU     [2]int64 `json:"cpu_ns"`
		Reasons []struct {
			Time int64 `json:"time_ns"`
		}
	}
}

// TestPlantedSpikes compares the spikes of a program with what it measures of its own calls:
// each is one of the calls, and its interval contains what the call took. No call that took
// long is missing, unless the clock was late.
func TestPlantedSpikes(t *testing.T) {
	raws := t.TempDir()
	env := []string{"CAIRN_DIR=" + raws, "CGO_ENABLED=0"}
	cairn, dir := planted(t, "spike", "--threshold", "20ms")
	out := do(t, dir, "", env, "./app")
	var spikes []spike
	dec := json.NewDecoder(strings.NewReader(do(t, dir, "", env, cairn, "spikes", "--jsonl", raws)))
	for dec.More() {
		var s spike
		if err := dec.Decode(&s); err != nil {
			t.Fatal(err)
		}
		if s.Peak.Function == "main.planted" {
			spikes = append(spikes, s)
		}
	}
	const threshold = 20_000_000
	calls, found := 0, 0
	for line := range strings.Lines(out) {
		var tid int
		var end, inside, around int64
		if _, err := fmt.Sscan(line, &tid, &end, &inside, &around); err != nil {
			t.Fatal(err)
		}
		calls++
		matched := false
		for i, s := range spikes {
			// The call ended after its last look at the clock, and before the one around it.
			if s.TID != tid || s.WallNS < end-1_000_000 || s.WallNS > end+around-inside+1_000_000 {
				continue
			}
			matched = true
			found++
			if s.Interval[0] > around || s.Interval[1] < inside {
				t.Errorf("spike of %v ns: the call took %d to %d ns", s.Interval, inside, around)
			}
			if s.Why.CPU[0] > s.Why.CPU[1] || s.Why.CPU[1] > s.Interval[1] {
				t.Errorf("on a processor for %v of %v ns", s.Why.CPU, s.Interval)
			}
			waited := int64(0)
			for _, r := range s.Why.Reasons {
				waited += r.Time
			}
			if waited > s.Interval[1] {
				t.Errorf("waited for %d of %v ns", waited, s.Interval)
			}
			spikes = append(spikes[:i], spikes[i+1:]...)
			break
		}
		// The clock moves every 2 ms; where the machine is busy it is late.
		if !matched && inside > threshold+threshold/4 {
			t.Logf("not reported: a call of %d ns", inside)
			if inside > 4*threshold {
				t.Errorf("a call of %d ns is missing", inside)
			}
		}
		if matched && around < threshold {
			t.Errorf("a call of %d ns was reported", around)
		}
	}
	if len(spikes) > 0 {
		t.Errorf("%d spikes are of no call: %+v", len(spikes), spikes[0])
	}
	if calls != 96 || found == 0 {
		t.Errorf("%d calls, %d reported", calls, found)
	}
	t.Logf("%d calls, %d reported", calls, found)
	killed(t, cairn, dir, "spikes", "cairnlog")
}

// TestKilled kills programs at arbitrary moments, and checks that what they had recorded is
// read.
func TestKilled(t *testing.T) {
	for mode, suffix := range map[string]string{"count": "mipraw", "stacks": "cairnlog"} {
		cairn, dir := planted(t, mode)
		killed(t, cairn, dir, map[string]string{"count": "merge", "stacks": "stacks"}[mode], suffix)
	}
}

// planted builds testdata/planted.go.txt in a mode, with more flags of cairn go. It returns the
// path of cairn and the directory of the program, which is called app.
func planted(t *testing.T, mode string, flags ...string) (cairn, dir string) {
	t.Helper()
	return plantedBy(t, mode, []string{"CGO_ENABLED=0"}, nil, flags...)
}

// killed kills the program app in dir at random moments and reads the file of each run.
func killed(t *testing.T, cairn, dir, verb, suffix string) {
	t.Helper()
	read := 0
	for range 12 {
		raws := t.TempDir()
		c := exec.Command(filepath.Join(dir, "app"))
		c.Env = append(os.Environ(), "CAIRN_DIR="+raws)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
		_ = c.Process.Kill()
		_ = c.Wait()
		files, err := filepath.Glob(filepath.Join(raws, "*."+suffix))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files { // none if it was killed before it began
			args := []string{verb, f}
			if verb == "merge" {
				args = []string{verb, "-o", filepath.Join(raws, "app.mip"), filepath.Join(dir, "app"), f}
			}
			do(t, dir, "", nil, cairn, args...)
			read++
		}
	}
	if read == 0 {
		t.Errorf("%s: no file of a killed program", verb)
	}
}
