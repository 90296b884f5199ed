package verb

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

const (
	seldom = 400       // percent of the live heap that is allocated before garbage is collected, at most
	first  = 900       // percent of 4 MB that are allocated before it is first
	more   = 72 << 20  // bytes that are allocated before it is, beyond those that would be by default
	early  = 144 << 20 // bytes of memory with which it is collected before percentOf is known: that goes by the first collection
)

// CollectSeldom collects garbage less often than by default: a command that reads some files and ends takes a sixth of its
// time for it otherwise, and one that takes less than 36 MB collects none. It costs at most about 70 MB, so that a large heap is
// collected nearly as often as by default. What the user sets by GOGC or GOMEMLIMIT stays.
var CollectSeldom = sync.OnceFunc(collectSeldom)

func collectSeldom() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	before := debug.SetGCPercent(first)
	debug.SetMemoryLimit(early)
	atEachCollection(func() (again bool) {
		debug.SetMemoryLimit(math.MaxInt64)
		percent := percentOf(liveHeap(), before)
		debug.SetGCPercent(percent)
		return percent != before
	})
}

// liveHeap returns the bytes of objects that the last collection left, roughly: stacks and global variables count half. Package
// runtime/metrics knows it, but its initialisation takes a fiftieth of the start of cairn.
func liveHeap() uint64 {
	var m runtime.MemStats
	now := debug.SetGCPercent(100)
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(now)
	return m.NextGC / 2
}

// percentOf returns the percent of a live heap that is allocated before garbage is collected, in place of another one.
func percentOf(live uint64, before int) int {
	return min(seldom, before+int(100*more/max(live, 1)))
}

// atEachCollection calls do, on a goroutine of the runtime, after each garbage collection until it returns false.
func atEachCollection(do func() (again bool)) {
	type collected struct{ _ [16]byte } // of its own, not in a block of small objects
	runtime.AddCleanup(&collected{}, func(int) {
		if do() {
			atEachCollection(do)
		}
	}, 0)
}
