package runtime

import "internal/runtime/atomic"

// cairnArena is memory of cairn's own, which grows up to a limit and is never given back.
type cairnArena struct {
	base, size uintptr
	used       uintptr
}

// reserve reserves n bytes of addresses, or less.
func (a *cairnArena) reserve(n uintptr) {
	for ; n >= 1<<20; n /= 2 {
		if at, err := cairnMemoryOf(n); err == 0 {
			a.base, a.size = at, n
			return
		}
	}
}

// alloc returns room for n bytes, zeros; 0 if there is none.
func (a *cairnArena) alloc(n uintptr) uintptr {
	if atomic.Loaduintptr(&a.used)+n > a.size {
		return 0
	}
	at := atomic.Xadduintptr(&a.used, n)
	if at > a.size {
		return 0
	}
	return a.base + at - n
}

// cairnSpin is a lock of code that never waits while it has it. The goroutine cannot lose its
// processor meanwhile, which would record something and need the lock again.
type cairnSpin struct{ busy uint32 }

func (l *cairnSpin) lock() {
	acquirem()
	for !atomic.Cas(&l.busy, 0, 1) {
		osyield()
	}
}

// try gives up after a while: what ends the process may have interrupted who has it.
func (l *cairnSpin) try() bool {
	acquirem()
	for range 1000 {
		if atomic.Cas(&l.busy, 0, 1) {
			return true
		}
		cairnSleep(100)
	}
	releasem(getg().m)
	return false
}

func (l *cairnSpin) unlock() {
	atomic.Store(&l.busy, 0)
	releasem(getg().m)
}
