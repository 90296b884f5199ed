package verb

import (
	"context"
	"time"
)

// wait waits a moment before a lock is tried again, or returns why ctx ended.
func wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(20 * time.Millisecond):
		return nil
	}
}
