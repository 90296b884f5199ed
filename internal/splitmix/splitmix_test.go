package splitmix

import "testing"

// TestMix compares with the numbers that java.util.SplittableRandom(1234567) makes.
func TestMix(t *testing.T) {
	t.Parallel()
	state := uint64(1234567)
	for _, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		state += Gamma
		if got := Mix(state); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
}
