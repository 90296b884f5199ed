package gate

import (
	"context"
	"slices"
	"sync"
)

// queue shares an amount of memory among those that wait for a part of it, in the order in which they came.
type queue struct {
	mu      sync.Mutex
	all     int64
	left    int64
	waiting []*waiter
}

type waiter struct {
	need  int64
	ready chan struct{} // closed when it has what it needs
}

func newQueue(all int64) *queue { return &queue{all: all, left: all} }

// clamp returns the part that is taken for a need: at most all, for which one waits until nobody else has anything.
func (q *queue) clamp(need int64) int64 { return min(need, q.all) }

// acquire waits until n are free, and takes them, or returns the error of ctx.
func (q *queue) acquire(ctx context.Context, n int64) error {
	q.mu.Lock()
	if len(q.waiting) == 0 && q.left >= n {
		q.left -= n
		q.mu.Unlock()
		return nil
	}
	w := &waiter{n, make(chan struct{})}
	q.waiting = append(q.waiting, w)
	q.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, w); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	} else { // it was ready at the same moment
		q.left += n
	}
	q.serve()
	return ctx.Err()
}

// giveBack gives n back.
func (q *queue) giveBack(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left += n
	q.serve()
}

func (q *queue) serve() {
	for len(q.waiting) > 0 && q.left >= q.waiting[0].need {
		q.left -= q.waiting[0].need
		close(q.waiting[0].ready)
		q.waiting = q.waiting[1:]
	}
}
