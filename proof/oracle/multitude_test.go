//go:build linux && amd64

package oracle

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// A timedCall is a call that took long, as its caller saw it from outside and, of
// unit, as the call itself did. Times are those of the log.
type timedCall struct {
	function             string
	tid                  uint32
	start, end           uint64
	innerStart, innerEnd uint64
}

func (c *timedCall) took() uint64 { return c.end - c.start }

// inner is how long the call lasted at least, if it was made to last.
func (c *timedCall) inner() uint64 {
	if c.function != "unit" || c.innerStart < c.start || c.innerEnd > c.end {
		return 0
	}
	return c.innerEnd - c.innerStart
}

// multitude is what testdata/multitude.c prints: where its functions are, and the
// long calls in the order in which those of a thread ended.
type multitude struct {
	starts []uint64
	names  []string
	calls  []timedCall
}

func readMultitude(t *testing.T, out string) *multitude {
	t.Helper()
	type place struct {
		name string
		at   uint64
	}
	var m multitude
	var places []place
	for s := bufio.NewScanner(strings.NewReader(out)); s.Scan(); {
		var p place
		var c timedCall
		if _, err := fmt.Sscanf(s.Text(), "at %s 0x%x", &p.name, &p.at); err == nil {
			places = append(places, p)
		} else if _, err := fmt.Sscanf(s.Text(), "call %s %d %d %d %d %d", &c.function, &c.tid, &c.start, &c.end, &c.innerStart, &c.innerEnd); err == nil {
			m.calls = append(m.calls, c)
		} else {
			t.Fatalf("%q: %v", s.Text(), err)
		}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	for _, p := range places {
		m.starts, m.names = append(m.starts, p.at), append(m.names, p.name)
	}
	return &m
}

// function is the one that an address is in.
func (m *multitude) function(pc uint64) string {
	i, found := slices.BinarySearch(m.starts, pc)
	if !found {
		i--
	}
	if i < 0 {
		return ""
	}
	return m.names[i]
}

// of returns the call that an episode is about: the first one of its function and
// thread to end after it.
func (m *multitude) of(e *tracelog.Episode) *timedCall {
	name := m.function(e.Stack[0].PC)
	for i := range m.calls {
		if c := &m.calls[i]; c.tid == e.TID && c.function == name && c.end >= e.Time {
			return c
		}
	}
	return nil
}

// checkFalse wants each spike to be a call that took that long.
func (m *multitude) checkFalse(t *testing.T, found []*tracelog.Episode) {
	t.Helper()
	for _, e := range found {
		switch c := m.of(e); {
		case e.Peak.Lo < e.Threshold || e.Peak.Hi < e.Peak.Lo:
			t.Errorf("%v is reported, the threshold is %d", e.Peak, e.Threshold)
		case c == nil || e.Time < c.start:
			t.Errorf("%v is reported in %s, and no call of it was long then", e.Peak, m.function(e.Stack[0].PC))
		case c.took() < e.Threshold, e.Peak.Lo > c.took(), e.Peak.Hi < c.inner():
			t.Errorf("%v is reported, the call took %d..%d", e.Peak, c.inner(), c.took())
		}
	}
}

// missed counts the planted calls of at least so long, and those of them that are
// not reported.
func (m *multitude) missed(found []*tracelog.Episode, least func(*timedCall) uint64) (due, missed int) {
	reported := map[*timedCall]bool{}
	for _, e := range found {
		reported[m.of(e)] = true
	}
	for i := range m.calls {
		if c := &m.calls[i]; c.inner() > 0 && c.inner() >= least(c) {
			due++
			if !reported[c] {
				missed++
			}
		}
	}
	return due, missed
}

// reach returns how long a call must have been for the log to be sure to have it:
// the clock may be late, and the log tells of each time that it was by more than
// the threshold.
func reach(l *tracelog.Log) func(*timedCall) uint64 {
	stalls := l.Stalls
	return func(c *timedCall) uint64 {
		late := min(l.Trailer.WorstGap, max(l.Trailer.Threshold, 2*l.Trailer.Period))
		if slices.ContainsFunc(stalls, func(s tracelog.Stall) bool { return s.From < c.end && s.To > c.start }) {
			late = l.Trailer.WorstGap
		}
		return l.Trailer.Threshold + late + 2000 // the clock counts microseconds
	}
}

// TestMultitude makes up to a hundred million calls, each timed by its caller, of which
// some are made to last. Nothing is reported that did not take as long as the
// threshold; the interval has the truth in it; what the log says is sure to be
// found is found. A host that stalls makes real spikes, so nothing is said of their
// number.
func TestMultitude(t *testing.T) {
	t.Parallel()
	const threshold, sure = "2ms", 3_000_000 // and 1.5 of it
	type row struct {
		name, flags, settings string
		calls                 string
		crowd                 []string // in front of the command
		share                 float64  // that may be missed of calls of 1.5 thresholds; 1: any
	}
	for _, c := range shorttest.Rows(
		3,
		row{"coarse", "", "", "100000000", nil, 1},
		row{"exact crowded", "--clock exact", "", "10000000", []string{"taskset", "-c", "0"}, 0},
		// The kernel may be late with signals on a machine that is busy otherwise.
		row{"signal", "", ",tick=signal", "30000000", nil, 0.1},
		row{"signal crowded", "", ",tick=signal", "10000000", []string{"taskset", "-c", "0"}, 0.1},
		row{"exact", "--clock exact", "", "30000000", nil, 0},
		row{"crowded", "", "", "10000000", []string{"taskset", "-c", "0"}, 1},
	) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			program := build(t, "spike --small 0 "+c.flags, "gcc", "-O2", "-g", "-pthread", "testdata/multitude.c")
			argv := []string{program, "1", c.calls, "1000", "1900", "2600", "3100", "5000"}
			if c.crowd != nil {
				mustHave(t, c.crowd[0])
				argv[1] = "3" // on one processor
				argv = append(slices.Clone(c.crowd), argv...)
			}
			out, logs := spikeLogs(t, "threshold="+threshold+",rate=1000000"+c.settings, argv[0], argv[1:]...)
			if len(logs) != 1 {
				t.Fatalf("%d logs", len(logs))
			}
			l, m, found := logs[0], readMultitude(t, out), episodes(t, logs[0])
			if l.Trailer.Dropped != 0 || l.Trailer.Limited != 0 {
				t.Fatalf("records were lost: %+v", l.Trailer)
			}
			m.checkFalse(t, found)
			due, missed := m.missed(found, reach(l))
			if missed > 0 {
				t.Errorf("%d of %d calls that are sure to be found are not: %+v", missed, due, l.Trailer)
			}
			due, missed = m.missed(found, func(*timedCall) uint64 { return sure })
			allowed := c.share * float64(due)
			if c.share > 0 { // and what the clock hid, late by half a threshold at least
				allowed += float64(l.Trailer.Blind) / 1e6
			}
			if float64(missed) > allowed {
				t.Errorf("%d of %d calls of 1.5 thresholds are missed", missed, due)
			}
			t.Logf("%d spikes; of %d planted calls of 1.5 thresholds %d missed; clock late %.1f ms, worst %.1f ms; %d borderline",
				len(found), due, missed, float64(l.Trailer.Blind)/1e6, float64(l.Trailer.WorstGap)/1e6, l.Trailer.Borderline)
		})
	}
}
