package nativert

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestFlightRegisters checks that the flight recorder changes no register when the
// clock has moved.
func TestFlightRegisters(t *testing.T) {
	t.Parallel()
	for _, compiler := range shorttest.Rows(1, "gcc", "clang-22") {
		archive := timedRuntimeFor(t, probe.Options{Timing: probe.Timing{Flight: true}}, compiler)
		program := timedProgram(t, "gcc", archive, []string{"registers.c", "registers.S"}, append([]string{"-DFLIGHT"}, withUnwinder...)...)
		out, logs := runTimed(t, stormSet, program)
		if strings.TrimSpace(out) != "0" {
			t.Errorf("%s: %s registers were changed", compiler, out)
		}
		one(t, logs)
	}
}

// TestFlightFileLimit: a limit of the size of files ends the recording, not the program,
// whose own threads make room in the log.
func TestFlightFileLimit(t *testing.T) {
	t.Parallel()
	archive := timedRuntimeFor(t, probe.Options{Timing: probe.Timing{Flight: true}}, "gcc")
	program := timedProgram(t, "gcc", archive, []string{"registers.c", "registers.S"}, append([]string{"-DFLIGHT"}, withUnwinder...)...)
	for _, blocks := range []string{"0", "100", "300"} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "ulimit -f "+blocks+` && exec "$@"`, "sh", program)
		cmd.Env = append(os.Environ(), "CAIRN_SPIKE="+stormSet, "CAIRN_DIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "cairn: no ") || !strings.Contains(string(out), ": errno 27\n") {
			t.Errorf("ulimit -f %s: %v: %s", blocks, err, out)
		}
	}
}

// TestFlightSanitized runs the recorder in programs of the sanitizers, and itself
// with traps for undefined behaviour.
func TestFlightSanitized(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	archive := timedRuntimeFor(t, probe.Options{Timing: probe.Timing{Flight: true}}, "gcc", "-fsanitize=undefined", "-fno-sanitize=alignment", "-fsanitize-undefined-trap-on-error")
	for _, flags := range shorttest.Rows(2, nil, []string{"-fsanitize=thread"}, []string{"-fsanitize=address"}) {
		program := timedProgram(t, "gcc", archive, []string{"registers.c", "registers.S"}, append(append([]string{"-DFLIGHT"}, flags...), withUnwinder...)...)
		if out, _ := runTimed(t, stormSet, program); strings.TrimSpace(out) != "0" {
			t.Errorf("%s: %s", flags, out)
		}
	}
}
