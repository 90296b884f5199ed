//go:build cairn && race

package mark

import (
	"runtime"
	"unsafe"
)

// Go gives the descriptor of a goroutine that ended to a new one, and with it the
// stack of spans. The scheduler orders the two; the race detector is told so.

func acquire(st *stack) { runtime.RaceAcquire(unsafe.Pointer(st)) }
func release(st *stack) { runtime.RaceRelease(unsafe.Pointer(st)) }
