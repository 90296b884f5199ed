package verb

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestCollectSeldom keeps garbage for longer while the heap is small, and less of it in proportion when it is not.
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
	if now := percent(); now != first {
		t.Errorf("%d%% at first", now)
	}
	for n := 0; percent() != seldom; n++ {
		if n == 1000 {
			t.Fatalf("%d%% with a small heap", percent())
		}
		runtime.GC() // its cleanups run some time after it
		runtime.Gosched()
	}
	large := make([]byte, 2*more)
	for n := 0; percent() == seldom; n++ {
		if n == 1000 {
			t.Fatalf("%d%% with a large heap", seldom)
		}
		runtime.GC()
		runtime.Gosched()
	}
	runtime.KeepAlive(large)
}

func TestPercentOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		live uint64
		want int
	}{{0, seldom}, {24 << 20, seldom}, {36 << 20, 300}, {72 << 20, 200}, {720 << 20, 110}, {1 << 40, 100}} {
		if got := percentOf(c.live, 100); got != c.want {
			t.Errorf("of %d bytes: %d, want %d", c.live, got, c.want)
		}
	}
}
