package nativert

import (
	"errors"
	"syscall"
	"testing"
)

// TestClockFiles proves that the thread of the clock has no files in common with the
// program: what it opens takes no descriptor from it.
func TestClockFiles(t *testing.T) {
	t.Parallel()
	const closeRange, none = 436, ^uintptr(0) >> 33
	if _, _, err := syscall.Syscall(closeRange, none, none, 0); errors.Is(err, syscall.ENOSYS) {
		t.Skip("the kernel has no close_range")
	}
	program := timedProgram(t, "gcc", timedRuntime(t, "gcc"), []string{"files.c"}, withUnwinder...)
	for _, set := range []string{"threshold=4ms", "threshold=4ms,tick=signal"} {
		if out, _ := runTimed(t, set, program); out != "0\n" {
			t.Errorf("%s: the clock has %s files open", set, out)
		}
	}
}
