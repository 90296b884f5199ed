//go:build cairn && race

package mark

import (
	"runtime"
	"unsafe"
)

// Go reuses the descriptor of an ended goroutine for a new one, and with it the stack of spans. The scheduler
// orders the two; the race detector must be told.

func acquire(st *stack) { runtime.RaceAcquire(unsafe.Pointer(st)) }
func release(st *stack) { runtime.RaceRelease(unsafe.Pointer(st)) }
