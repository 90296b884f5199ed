package runtime

import "internal/runtime/atomic"

var cairnClockM muintptr // the thread that calls cairnRest

// cairnMayRest is called once by the thread that calls cairnRest.
func cairnMayRest() {
	mp := getg().m
	semacreate(mp)
	cairnClockM.set(mp)
}

// cairnRest waits for cairnWake, unless a goroutine runs. cairnIdle is 0 then. There is one call
// of cairnWake for each time that another thread sets it to 0.
func cairnRest(idle bool) {
	if idle || !atomic.Cas(&cairnIdle, 1, 0) {
		const nap = 100_000_000
		for cairnMode == cairnLogModeSpike && semasleep(nap) != 0 {
			cairnLook(cairnNow(), false)
		}
		if cairnMode != cairnLogModeSpike {
			semasleep(-1)
		}
	}
}

// cairnWake is called by the thread that changed cairnIdle from 1 to 0.
//
//go:nosplit
func cairnWake() {
	systemstack(func() { semawakeup(cairnClockM.ptr()) })
}
