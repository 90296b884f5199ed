package sampleprof

import "testing"

func TestProbeOf(t *testing.T) {
	t.Parallel()
	for d, want := range map[uint32]uint32{
		0:                                      0,
		5<<3 | 7:                               5,
		0xffff<<3 | 7:                          0xffff,
		455082007:                              2, // what clang 22 writes: with a factor, and its mark
		1<<28 | 6<<16 | 0x1fff<<3 | 7:          0x1fff,
		2<<26 | 100<<19 | 300<<3 | 7:           300,
		1<<28 | 2<<26 | 100<<19 | 12<<3&^0 | 7: 12,
	} {
		if got := ProbeOf(d); got != want {
			t.Errorf("%#x: %d, want %d", d, got, want)
		}
	}
}
