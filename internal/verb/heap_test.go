package verb

import (
	"math"
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
	defer debug.SetMemoryLimit(math.MaxInt64)
	collectSeldom()
	if now, limit := percent(), debug.SetMemoryLimit(-1); now != first || limit != early {
		t.Errorf("%d%% at first, of %d bytes at most", now, limit)
	}
	for n := 0; percent() != seldom; n++ {
		if n == 1000 {
			t.Fatalf("%d%% with a small heap", percent())
		}
		runtime.GC() // its cleanups run some time after it
		runtime.Gosched()
	}
	for n := 0; debug.SetMemoryLimit(-1) != math.MaxInt64; n++ {
		if n == 1000 {
			t.Fatal("the limit stays")
		}
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
