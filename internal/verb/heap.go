package verb

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	seldom  = 400      // percent of the live heap that is allocated before garbage is collected
	smallGC = 24 << 20 // bytes of live heap up to which it is
)

// CollectSeldom collects garbage less often than by default while the heap is small: a command that reads some files and
// ends takes a sixth of its time for it otherwise. It costs at most about 70 MB: with a larger heap, garbage is collected as
// by default. What the user sets by GOGC or GOMEMLIMIT stays.
var CollectSeldom = sync.OnceFunc(collectSeldom)

func collectSeldom() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	before := debug.SetGCPercent(seldom)
	atEachCollection(func() (again bool) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		if metrics.Read(live); live[0].Value.Uint64() <= smallGC {
			return true
		}
		debug.SetGCPercent(before)
		return false
	})
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
