package coverage

import "testing"

// TestManySwitches has graphs of jumps to computed addresses, each of which may go to all pieces that nothing else leads to.
func TestManySwitches(t *testing.T) {
	t.Parallel()
	for _, jumps := range []int{100, 100_000} {
		fl := &flow{pieces: make([]piece, 2*jumps)}
		for i := range jumps {
			fl.pieces[i].succs = []int{computed}
		}
		if joined := fl.join(); joined != (jumps == 100) {
			t.Errorf("%d jumps: %t", jumps, joined)
		}
	}
}
