//go:build cairn

package mark

import (
	"sync"
	"sync/atomic"
	"time"
)

// The clock. Reading the time takes 20 ns or more, a load nearly nothing: spans read a word that a goroutine
// advances, and only spans that look slow read the time. The moves are recorded, which makes this sound: a span
// that read the word w was opened between the time of w and that of the next move. So its duration has two
// bounds.
//
// The word is nanoseconds of now, made even; its lowest bit says that the clock is asleep. Then a goroutine
// that opens a span wakes it, and one that ends a span reads the time.

const (
	asleep   = 1
	maxMoves = 8192
	// wakeFor is the number of moves after which the clock tries to sleep.
	wakeFor = 64
)

var clock struct {
	word atomic.Int64
	low  atomic.Int64 // shorter durations by the word are not evaluated

	mu     sync.Mutex
	moves  [maxMoves]move // ring, ascending
	head   int            // number of all moves
	period int64
	stop   int64 // stalls are gaps of at least that length: the threshold
	longest,
	blind,
	late,
	worst int64
	stalls []move // not yet in the log
	wake   chan struct{}
}

// move is one move of the word: the time before the store, which is the word's
// value, and the time after it.
type move struct{ from, to int64 }

var start = time.Now()

// now returns nanoseconds since the start of the program.
func now() int64 { return int64(time.Since(start)) }

// tick moves the word to the present, or puts the clock to sleep. The caller holds the lock.
func tick(sleep bool) {
	w := now() &^ asleep
	last := clock.word.Load()
	if w <= last&^asleep {
		w = last&^asleep + 2
	}
	bit := int64(0)
	if sleep {
		bit = asleep
	}
	clock.word.Store(w | bit)
	to := max(now(), w)
	clock.moves[clock.head%maxMoves] = move{w, to}
	clock.head++
	if last&asleep != 0 || clock.head == 1 {
		return
	}
	clock.longest = max(clock.longest, to-last)
	gap := w - last
	clock.worst = max(clock.worst, gap)
	if gap > 2*clock.period {
		clock.blind += gap - 2*clock.period
		clock.late++
	}
	if gap >= clock.stop && len(clock.stalls) < 256 {
		clock.stalls = append(clock.stalls, move{last, w})
	}
}

// opened returns the latest time at which a span that read w can have been opened, if the time is end now.
func opened(w, end int64) int64 {
	clock.mu.Lock()
	defer clock.mu.Unlock()
	lo, hi := max(0, clock.head-maxMoves), clock.head
	if lo < hi && clock.moves[lo%maxMoves].from > w && lo > 0 {
		// The move after w was overwritten. No two were further apart than longest.
		return min(end, w+clock.longest)
	}
	for lo < hi {
		if mid := (lo + hi) / 2; clock.moves[mid%maxMoves].from > w {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if lo == clock.head {
		return end
	}
	return min(end, clock.moves[lo%maxMoves].to)
}

// lateIn returns how long the word was late between two times, as far as that is recorded.
func lateIn(from, to int64) (sum int64) {
	clock.mu.Lock()
	defer clock.mu.Unlock()
	for i := clock.head - 1; i > 0 && i > clock.head-maxMoves; i-- {
		a, b := clock.moves[(i-1)%maxMoves].from, clock.moves[i%maxMoves].from
		if b <= from {
			break
		}
		if gap := min(b, to) - max(a, from); gap > 2*clock.period && b-a < clock.longest {
			sum += gap - 2*clock.period
		}
	}
	return sum
}

// wakeUp starts the clock and returns the word.
func wakeUp() int64 {
	clock.mu.Lock()
	defer clock.mu.Unlock()
	if clock.word.Load()&asleep != 0 {
		tick(false)
		select {
		case clock.wake <- struct{}{}:
		default:
		}
	}
	return clock.word.Load()
}

// refresh moves the word if it is late. Spans call it now and then: if all processors are busy, so that the
// goroutine below waits, spans still run.
func refresh(w int64) {
	if now()-w < 2*clock.low.Load() || !clock.mu.TryLock() {
		return
	}
	if clock.word.Load()&asleep == 0 {
		tick(false)
	}
	clock.mu.Unlock()
}

// run moves the word in a loop.
func run() {
	for {
		for range wakeFor {
			clock.mu.Lock()
			period := clock.period
			clock.mu.Unlock()
			nap(period)
			clock.mu.Lock()
			tick(false)
			clock.mu.Unlock()
		}
		report.update()
		clock.mu.Lock()
		tick(true)
		clock.mu.Unlock()
		<-clock.wake
	}
}

// Thresholds determine the period of the clock.
const (
	minPeriod = int64(100 * time.Microsecond)
	maxPeriod = int64(2 * time.Millisecond)
)

// setPace sets the clock's period for the shortest threshold in use, or to the given period if that is not 0.
func setPace(threshold, period int64) {
	if period == 0 {
		period = min(max(threshold/8, minPeriod), maxPeriod)
	}
	clock.mu.Lock()
	defer clock.mu.Unlock()
	clock.period = period
	clock.stop = threshold
	// Spans that may exceed the threshold must be evaluated: the word is late by up to two periods.
	clock.low.Store(max(min(max(2*period, threshold/8), threshold-2*period), 0))
}
