package fleettest

import (
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
	"github.com/cairnprof/cairn/prof"
)

// SpikeLog returns the log of mode spike of a process of a program: one spike in each of some functions, of which
// the first is at an address of the program and the others follow, and each takes years.
func SpikeLog(pid uint32, program string, id prof.BuildID, first uint64, functions int) []byte {
	const base = 1 << 32
	w := tracelogtest.New(tracelog.Header{PID: pid, Realtime: 1e18, Monotonic: 1, TSCHz: 1e9})
	w.Module(&tracelog.Module{Number: 1, Start: base, End: base + 1<<40, Bias: base, BuildID: []byte(id), Path: "/opt/" + program, Main: true})
	for i := range functions {
		long := tracelog.Interval{Lo: 1 << 60, Hi: 1<<60 + 1}
		w.Episode(&tracelog.Episode{
			TID: pid, Number: uint64(i + 1), Time: uint64(i + 1), Peak: long, Threshold: 1e6, Found: 1,
			Stack: []tracelog.Entry{{PC: base + first + uint64(i)*16 + 1, Time: long}},
		})
	}
	w.Close()
	return w.Bytes()
}
