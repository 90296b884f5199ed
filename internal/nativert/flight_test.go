package nativert

import (
	"strings"
	"testing"
)

// TestFlightRegisters checks that the flight recorder changes no register when the
// clock has moved.
func TestFlightRegisters(t *testing.T) {
	t.Parallel()
	for _, compiler := range []string{"gcc", "clang-22"} {
		archive := timedRuntimeFor(t, TimedOptions{Flight: true}, compiler)
		program := timedProgram(t, "gcc", archive, []string{"registers.c", "registers.S"}, append([]string{"-DFLIGHT"}, withUnwinder...)...)
		out, logs := runTimed(t, stormSet, program)
		if strings.TrimSpace(out) != "0" {
			t.Errorf("%s: %s registers were changed", compiler, out)
		}
		one(t, logs)
	}
}

// TestFlightSanitized runs the recorder in programs of the sanitizers, and itself
// with traps for undefined behaviour.
func TestFlightSanitized(t *testing.T) {
	t.Parallel()
	archive := timedRuntimeFor(t, TimedOptions{Flight: true}, "gcc", "-fsanitize=undefined", "-fno-sanitize=alignment", "-fsanitize-undefined-trap-on-error")
	for _, flags := range [][]string{nil, {"-fsanitize=address"}, {"-fsanitize=thread"}} {
		program := timedProgram(t, "gcc", archive, []string{"registers.c", "registers.S"}, append(append([]string{"-DFLIGHT"}, flags...), withUnwinder...)...)
		if out, _ := runTimed(t, stormSet, program); strings.TrimSpace(out) != "0" {
			t.Errorf("%s: %s", flags, out)
		}
	}
}
