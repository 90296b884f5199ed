package tracelog_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// TestWait reads what calls waited for, of a peak and of a caller, and when the process stood still.
func TestWait(t *testing.T) {
	t.Parallel()
	peak := &tracelog.Wait{
		Ended: 900, SP: 7, On: tracelog.WaitOutgoing | tracelog.WaitUnwound, Longest: 55, Addrs: []uint64{1, 2, 3}, Peer: "192.0.2.1:53",
		Reasons: []tracelog.WaitTime{{Reason: tracelog.ReasonLock, Count: 2, Time: 50}, {Reason: tracelog.ReasonProcessor, Time: 5}},
	}
	caller := &tracelog.Wait{Ended: 950, SP: 8, On: tracelog.WaitUnknown, Longest: 12}
	holder := &tracelog.Holder{
		Ended: 900, SP: 7, Reason: tracelog.ReasonRWLock, At: 899, Waited: 50, TID: 6, Object: 0x123456789abc, Addrs: []uint64{4, 5},
	}
	freeze := tracelog.Freeze{From: 100, To: 800, Waited: 3, CPU: 4}
	w := tracelogtest.New(tracelog.Header{PID: 1})
	w.Freeze(freeze)
	w.Episode(&tracelog.Episode{
		TID: 5, Number: 1, Time: 900, Peak: tracelog.Interval{Lo: 60, Hi: 61}, Stack: []tracelog.Entry{{PC: 9, SP: 7}}, Wait: peak, Holder: holder,
		Parents: []tracelog.Parent{{PC: 10, Ended: 950, SP: 8, Time: tracelog.Interval{Lo: 110, Hi: 111}}},
	})
	w.Wait(5, 1, caller)
	data := w.Bytes()
	log, err := tracelog.Open(bytes.NewReader(data), int64(len(data)), "wait.cairnlog")
	if err != nil {
		t.Fatal(err)
	}
	if len(log.Freezes) != 1 || log.Freezes[0] != freeze || log.Unknown != 0 || len(log.Damage) != 0 {
		t.Errorf("freezes %+v, %d unknown, damage %v", log.Freezes, log.Unknown, log.Damage)
	}
	for e, err := range log.Episodes() {
		if err != nil || !reflect.DeepEqual(e.Wait, peak) {
			t.Errorf("%v: %+v, want %+v", err, e.Wait, peak)
		}
		if !reflect.DeepEqual(e.Holder, holder) {
			t.Errorf("%+v, want %+v", e.Holder, holder)
		}
	}
	callers := 0
	for c, err := range log.Callers() {
		if callers++; err != nil || !reflect.DeepEqual(c.Wait, caller) {
			t.Errorf("%v: %+v, want %+v", err, c.Wait, caller)
		}
	}
	if callers != 1 {
		t.Errorf("%d callers", callers)
	}
}

// TestWaitHostile has a wait whose counts are larger than the record.
func TestWaitHostile(t *testing.T) {
	t.Parallel()
	w := tracelogtest.New(tracelog.Header{PID: 1})
	w.Wait(5, 1, &tracelog.Wait{Addrs: make([]uint64, wire.MaxWaitStack+1)})
	w.Freeze(tracelog.Freeze{From: 2, To: 1})
	w.Holder(5, 1, &tracelog.Holder{Addrs: make([]uint64, wire.MaxWaitStack+1)})
	data := w.Bytes()
	log, err := tracelog.Open(bytes.NewReader(data), int64(len(data)), "wait.cairnlog")
	if err != nil || len(log.Damage) != 3 || len(log.Freezes) != 0 {
		t.Errorf("%v: damage %v", err, log.Damage)
	}
}
