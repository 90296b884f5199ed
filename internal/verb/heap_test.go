package verb

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestCollectSeldom keeps garbage for longer while the heap is small, and as by default when it is not.
func TestCollectSeldom(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	before := percent()
	defer debug.SetGCPercent(before)
	collectSeldom()
	runtime.GC()
	if now := percent(); now != seldom {
		t.Errorf("%d%% with a small heap", now)
	}
	large := make([]byte, 2*smallGC)
	for i := 0; percent() != before; i++ {
		runtime.GC() // its cleanups run some time after it
		runtime.Gosched()
	}
	runtime.KeepAlive(large)
}
