package collector

import (
	"context"
	"errors"
	"time"
)

// ErrBusy reports that the state was in use for longer than a request waits, by the writing or reading of a snapshot
// in a slow store: a client should try again.
var ErrBusy = errors.New("a snapshot takes long to be written or read")

// A lock is a mutex for which one need not wait forever.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

// Lock waits until the lock is free.
func (l lock) Lock() { l <- struct{}{} }

// Unlock frees it.
func (l lock) Unlock() { <-l }

// within is Lock unless ctx ends or the time comes before.
func (l lock) within(ctx context.Context, late <-chan time.Time) error {
	select {
	case l <- struct{}{}: // free, whatever the time is
		return nil
	default:
	}
	select {
	case l <- struct{}{}:
		return nil
	case <-late:
		return ErrBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}
