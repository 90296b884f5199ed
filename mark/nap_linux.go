//go:build cairn

package mark

import (
	"syscall"
	"time"
)

// nap sleeps for ns. The timers of Go are right to a millisecond only.
func nap(ns int64) {
	t := syscall.NsecToTimespec(ns)
	if syscall.Nanosleep(&t, nil) != nil {
		time.Sleep(time.Duration(ns))
	}
}
