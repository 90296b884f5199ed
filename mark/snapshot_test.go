//go:build cairn

package mark

import (
	"testing"
	"time"

	"github.com/cairnprof/cairn/format/tracelog"
)

//go:noinline
func look() { Snapshot() }

// TestSnapshot checks that a snapshot has the caller's stack with the times of the open spans,
// and does not count as a spike.
func TestSnapshot(t *testing.T) {
	before := report.episodes - report.snapshots
	SetThreshold(time.Minute)
	func() {
		s := Section("outside")
		defer s.End()
		time.Sleep(3 * time.Millisecond)
		look()
	}()
	look() // without a span
	log, episodes := readLog(t)
	var list []*tracelog.Episode
	for _, e := range episodes {
		if e.Flags&tracelog.Snapshot != 0 {
			list = append(list, e)
		}
	}
	if len(list) != 2 || report.episodes-report.snapshots != before || log.Trailer.Episodes != before {
		t.Fatalf("%d snapshots; %d spikes, before %d", len(list), log.Trailer.Episodes, before)
	}
	e := list[0]
	if got := functionAt(t, &log.Modules[0], e.Stack[0].PC); got != "look" || e.Stack[0].Timed() {
		t.Errorf("the innermost call is %s, %+v", got, e.Stack[0])
	}
	timed := 0
	for i := range e.Stack {
		if e.Stack[i].Timed() {
			timed++
			if e.Stack[i].Time.Hi < 3e6 {
				t.Errorf("%+v", e.Stack[i])
			}
		}
	}
	if timed != 1 {
		t.Errorf("%d calls have a time", timed)
	}
	for i := range list[1].Stack {
		if list[1].Stack[i].Timed() {
			t.Error("a time without a span")
		}
	}
}
