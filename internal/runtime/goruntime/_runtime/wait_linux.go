package runtime

import "internal/runtime/atomic"

// cairnMayRest is called once by the thread that calls cairnRest.
func cairnMayRest() {}

// cairnRest waits for cairnWake, unless a goroutine runs. cairnIdle is 0 then.
func cairnRest(idle bool) {
	const nap = 25_000_000 // so that it is noticed if the process stands still
	for idle && atomic.Load(&cairnIdle) == 1 {
		before := cairnNow()
		if cairnMode != cairnLogModeSpike {
			futexsleep(&cairnIdle, 1, -1)
			break
		}
		futexsleep(&cairnIdle, 1, nap)
		now := cairnNow()
		cairnStill(before, nap, now)
		cairnLook(now, false)
	}
	atomic.Store(&cairnIdle, 0)
}

// cairnWake is called by the thread that changed cairnIdle from 1 to 0.
//
//go:nosplit
func cairnWake() { futexwakeup(&cairnIdle, 1) }
