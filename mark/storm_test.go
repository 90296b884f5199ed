//go:build cairn

package mark

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// planted is a call that measures itself: its true duration is between the one measured inside
// the mark and the one measured around it.
type planted struct{ inside, around time.Duration }

//go:noinline
func plant(d time.Duration, busy bool) (p planted) {
	from := time.Now()
	func() {
		s := Section("planted")
		in := time.Now()
		if busy {
			for time.Since(in) < d {
			}
		} else {
			time.Sleep(d)
		}
		p.inside = time.Since(in)
		s.End()
	}()
	p.around = time.Since(from)
	return p
}

// check compares reports of planted calls with what they measured themselves.
func check(t *testing.T, threshold time.Duration, calls []planted, list []*Spike) {
	t.Helper()
	i, found, sure := 0, 0, 0
	for _, c := range calls {
		if i < len(list) && list[i].Min <= c.around && list[i].Max >= c.inside && c.around >= threshold {
			i++
			found++
		}
		if c.inside >= threshold+threshold/2 {
			sure++
		}
	}
	if i != len(list) {
		t.Errorf("report %d of %d is of no call: %v..%v", i, len(list), list[i].Min, list[i].Max)
	}
	t.Logf("%d calls, %d of at least 1.5 T, %d reported, %v blind", len(calls), sure, found, time.Duration(blind()))
	if blind() == 0 && found < sure {
		t.Errorf("%d calls took 1.5 T, %d were reported, and the clock was never late", sure, found)
	}
}

func blind() int64 {
	clock.mu.Lock()
	defer clock.mu.Unlock()
	return clock.blind
}

func TestPlanted(t *testing.T) {
	const threshold = 2 * ms
	for _, busy := range []bool{true, false} {
		var calls []planted
		list := caughtQuietly(threshold, func() {
			for i := range 120 {
				part := []time.Duration{50, 90, 105, 125, 150, 200}[i%6]
				calls = append(calls, plant(threshold*part/100, busy))
			}
		})
		check(t, threshold, calls, list)
	}
}

// TestPlantedSaturated checks that with all processors busy, when the clock is late, calls may
// be missed but nothing false is reported.
func TestPlantedSaturated(t *testing.T) {
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for !stop.Load() {
			}
		})
	}
	var calls []planted
	list := caughtQuietly(5*ms, func() {
		for i := range 20 {
			calls = append(calls, plant([]time.Duration{3 * ms, 12 * ms}[i%2], true))
		}
	})
	stop.Store(true)
	wg.Wait()
	check(t, 5*ms, calls, list)
}

func caughtQuietly(threshold time.Duration, f func()) []*Spike {
	var mu sync.Mutex
	var list []*Spike
	OnSpike(func(s *Spike) {
		if s.Name == "planted" {
			mu.Lock()
			list = append(list, s)
			mu.Unlock()
		}
	})
	defer OnSpike(nil)
	SetThreshold(threshold)
	f()
	return list
}

// TestStorm starts goroutines without end, which reuse descriptors.
func TestStorm(t *testing.T) {
	var reports atomic.Int64
	OnSpike(func(s *Spike) { reports.Add(1) })
	defer OnSpike(nil)
	SetThreshold(time.Hour)
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 100 {
				var inner sync.WaitGroup
				inner.Go(func() {
					s := Func()
					defer s.End()
					t := Section("part")
					t.Threshold(time.Hour)
					runtime.Gosched()
					Pause().Resume()
					t.End()
				})
				inner.Wait()
			}
		})
	}
	wg.Wait()
	if n := reports.Load(); n != 0 {
		t.Errorf("%d reports", n)
	}
}

// TestSleep checks that the clock sleeps while nothing happens, and that the next call wakes
// it.
func TestSleep(t *testing.T) {
	var list []*Spike
	for range tries { // a machine that is busy may be late with a call, or with the clock
		SetThreshold(ms)
		for range 6000 {
			if clock.word.Load()&asleep != 0 {
				break
			}
			time.Sleep(10 * ms)
		}
		if clock.word.Load()&asleep == 0 {
			t.Fatal("the clock does not sleep")
		}
		time.Sleep(20 * ms)
		list = caughtQuietly(5*ms, func() { plant(10*ms, false) })
		if len(list) == 1 && list[0].Max <= 12*ms+list[0].Min {
			return
		}
	}
	t.Errorf("%d reports", len(list))
}

func BenchmarkFunc(b *testing.B) {
	SetThreshold(time.Hour)
	b.Run("End", func(b *testing.B) {
		for range b.N {
			s := Func()
			s.End()
		}
	})
	b.Run("deferred", func(b *testing.B) {
		for range b.N {
			func() {
				s := Func()
				defer s.End()
			}()
		}
	})
	b.Run("condition false", func(b *testing.B) {
		for range b.N {
			s := If(false).Func()
			s.End()
		}
	})
	b.Run("slow", func(b *testing.B) {
		low := clock.low.Swap(-1 << 62)
		defer clock.low.Store(low)
		for range b.N {
			s := Func()
			s.End()
		}
	})
}

// BenchmarkIdentity compares ways in which a goroutine can find its spans.
func BenchmarkIdentity(b *testing.B) {
	b.Run("descriptor", func(b *testing.B) {
		for range b.N {
			self()
		}
	})
	b.Run("number from runtime.Stack", func(b *testing.B) {
		for range b.N {
			goid()
		}
	})
	b.Run("caller by runtime.Callers", func(b *testing.B) {
		for range b.N {
			var pcs [1]uintptr
			runtime.Callers(2, pcs[:])
		}
	})
	b.Run("time", func(b *testing.B) {
		for range b.N {
			now()
		}
	})
}
