package gate

import (
	"sync"
	"time"
)

// limiter bounds the uploads from each address to a rate per second, with bursts of as many
// as are allowed in burst seconds.
type limiter struct {
	rate float64

	mu    sync.Mutex
	peers map[string]*bucket
}

// bucket is the remaining allowance of an address.
type bucket struct {
	left float64
	at   time.Time
}

const (
	burst    = 10      // seconds
	maxPeers = 1 << 16 // addresses that are remembered; at this number all are forgotten
)

func newLimiter(rate float64) *limiter { return &limiter{rate: rate, peers: make(map[string]*bucket)} }

// allows reports whether one more upload from an address is allowed.
func (l *limiter) allows(address string, now time.Time) bool {
	if l.rate <= 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	most := max(1, l.rate*burst)
	b := l.peers[address]
	if b == nil {
		if len(l.peers) >= maxPeers {
			clear(l.peers)
		}
		b = &bucket{left: most, at: now}
		l.peers[address] = b
	}
	b.left = min(most, b.left+now.Sub(b.at).Seconds()*l.rate)
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}
