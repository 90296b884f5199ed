//go:build linux && amd64

package oracle

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// timedSources are programs that measure themselves, see their comments.
const timedSources = "../../internal/runtime/nativert/testdata/timed/"

// spikeLogs runs a program of mode spike and opens the logs it leaves.
func spikeLogs(t *testing.T, settings, program string, args ...string) (string, []*tracelog.Log) {
	t.Helper()
	dir := t.TempDir()
	cmd := command(t, program, args...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+dir, "CAIRN_SPIKE="+settings)
	out := output(t, cmd)
	files, err := filepath.Glob(filepath.Join(dir, "*.cairnlog"))
	if err != nil {
		t.Fatal(err)
	}
	var logs []*tracelog.Log
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		l, err := tracelog.Open(bytes.NewReader(data), int64(len(data)), f)
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, l)
	}
	return out, logs
}

func episodes(t *testing.T, l *tracelog.Log) []*tracelog.Episode {
	t.Helper()
	var out []*tracelog.Episode
	for e, err := range l.Episodes() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// TestTimedPlanted compares the spikes of an instrumented program with what it measured itself:
// nothing is reported that was shorter than the threshold, and the interval of what is reported
// holds the truth.
func TestTimedPlanted(t *testing.T) {
	t.Parallel()
	type row struct{ compiler, level string }
	for _, v := range shorttest.Rows(2, row{"gcc", "-O0"}, row{"clang-22", "-O2"}, row{"gcc", "-O2"}, row{"clang-22", "-O0"}) {
		for _, c := range []struct {
			clock, threshold string
			lengths          []string // of the calls, in microseconds
		}{
			{" --clock exact", "50us", []string{"10", "25", "49", "51", "400"}},
			{"", "2ms", []string{"10", "1000", "1900", "2600", "4000"}},
		} {
			t.Run(v.compiler+v.level+c.clock, func(t *testing.T) {
				program := build(t, "spike --small 0"+c.clock, v.compiler, "-DINSTRUMENTED", v.level, "-g", "-pthread", timedSources+"planted.c")
				out, logs := spikeLogs(t, "threshold="+c.threshold+",rate=100000", program, append([]string{"-8", "b"}, c.lengths...)...)
				if len(logs) != 1 {
					t.Fatalf("%d logs", len(logs))
				}
				checkTruth(t, out, episodes(t, logs[0]))
			})
		}
	}
}

func checkTruth(t *testing.T, out string, found []*tracelog.Episode) {
	t.Helper()
	reported := 0
	for s := bufio.NewScanner(strings.NewReader(out)); s.Scan(); {
		var tid uint32
		var outerStart, outerEnd, start, end uint64
		if _, err := fmt.Sscan(s.Text(), &tid, &outerStart, &outerEnd, &start, &end); err != nil {
			t.Fatalf("%q: %v", s.Text(), err)
		}
		for _, e := range found {
			if e.TID != tid || e.Time < end || e.Time > outerEnd {
				continue
			}
			reported++
			if outer := outerEnd - outerStart; outer < e.Threshold || e.Peak.Lo > outer || e.Peak.Hi < end-start {
				t.Errorf("%d..%d is reported as %d..%d, threshold %d", end-start, outer, e.Peak.Lo, e.Peak.Hi, e.Threshold)
			}
		}
	}
	// Between the calls a thread may wait for a processor: such are spikes of its
	// caller, once, at the end.
	if reported == 0 || reported < len(found)-8 {
		t.Errorf("%d of %d episodes are calls that were made", reported, len(found))
	}
}

// TestTimedStorms runs instrumented programs through what is hard on a runtime.
func TestTimedStorms(t *testing.T) {
	t.Parallel()
	for _, compiler := range shorttest.Rows(1, "clang-22", "gcc") {
		program := build(t, "spike --small 0", compiler, "-DINSTRUMENTED", "-O2", "-g", "-pthread", timedSources+"storms.c")
		for _, args := range [][]string{
			{"fork", "10"},
			{"spawn", "20"},
			{"threads", "500"},
			{"small", "64"},
			{"outer", "50000"},
			{"bottom", "5000"},
			{"jump", "10000"},
			{"signals"},
			{"chain", "10"},
		} {
			t.Run(compiler+args[0], func(t *testing.T) {
				_, logs := spikeLogs(t, "threshold=3ms,rate=100000", program, args...)
				if args[0] == "fork" && len(logs) != 11 || len(logs) == 0 {
					t.Errorf("%d logs", len(logs))
				}
				for _, l := range logs {
					found := episodes(t, l)
					if len(found) == 0 && args[0] != "threads" && l.Trailer.Blind < 1_500_000 {
						t.Errorf("no episode; %+v", l.Trailer)
					}
					for _, e := range found {
						if e.Peak.Lo < e.Threshold || len(e.Stack) < 2 || e.Flags&tracelog.NoUnwinder != 0 {
							t.Errorf("%+v", e)
						}
					}
				}
			})
		}
	}
}
