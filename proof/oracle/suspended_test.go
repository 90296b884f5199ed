//go:build linux && amd64

package oracle

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// checkSuspended runs a program built of suspended.c, and compares how long its calls lasted, and for how long their stacks rested,
// with what it measured itself. Its calls take longer until all agrees, as the clock may be late on a loaded machine.
func checkSuspended(t *testing.T, program string, run func(args ...string) *exec.Cmd) {
	t.Helper()
	for ms := 15; ; ms *= 3 {
		logs := t.TempDir()
		cmd := run(strconv.Itoa(ms))
		cmd.Env = append(cmd.Environ(), "CAIRN_DIR="+logs)
		said := output(t, cmd)
		text := output(t, command(t, cairn, "spikes", "--jsonl", "--top", "0", logs, program))
		wrong := wrongSuspended(t, said, text)
		if wrong == "" {
			return
		}
		if ms > 400 {
			t.Fatalf("%s\nsaid\n%s", wrong, said)
		}
	}
}

// wrongSuspended returns what the spikes have differently from the program, "" if nothing.
func wrongSuspended(t *testing.T, said, text string) string {
	t.Helper()
	type call struct {
		Peak      *struct{ Function string }
		Interval  [2]int64 `json:"interval_ns"`
		Suspended [2]int64 `json:"suspended_ns"`
	}
	found := map[string]call{}
	for line := range strings.Lines(text) {
		var c call
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		if c.Peak != nil {
			name, _, _ := strings.Cut(c.Peak.Function, "(")
			found[name] = c
		}
	}
	within := func(v, slack int64, bounds [2]int64) bool { return bounds[0]-slack <= v && v <= bounds[1]+slack }
	n := 0
	for line := range strings.Lines(said) {
		var name string
		var lasted, rested int64
		if _, err := fmt.Sscan(line, &name, &lasted, &rested); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		n++
		c, ok := found[name]
		slack := 3_000_000 + lasted/100
		switch {
		case !ok:
			return fmt.Sprintf("no call of %s in %v", name, found)
		case !within(lasted, slack, c.Interval) || !within(rested, slack, c.Suspended) || c.Suspended[1]-c.Suspended[0] > lasted/4+2*slack:
			return fmt.Sprintf("%s: %+v, said %d and %d", name, c, lasted, rested)
		}
	}
	if n != 3 {
		t.Fatalf("%d calls", n)
	}
	return ""
}

// TestMachOSuspended checks for how long coroutines of macOS and iOS were suspended.
func TestMachOSuspended(t *testing.T) {
	t.Parallel()
	for _, system := range []apple{macOS, iOS} {
		for _, flags := range shorttest.Rows(1, "-O2", "-O0", "-Os -fno-asynchronous-unwind-tables") {
			t.Run(system.target+flags, func(t *testing.T) {
				t.Parallel()
				program := build(t, "spike --threshold 20ms --small 0", "clang-22", system.linuxArgs(t, "-w "+flags, filepath.Join("testdata", "suspended.c"))...)
				checkSuspended(t, program, func(args ...string) *exec.Cmd { return system.load(t, system.emulator, program, args...) })
			})
		}
	}
}

// TestArmSuspended does so for Armv7, TestSuspended for Linux on x86-64.
func TestArmSuspended(t *testing.T) {
	t.Parallel()
	for _, line := range shorttest.Rows(
		2,
		"arm-linux-gnueabihf-gcc -O2 -static", "clang-22 --target=armv7-linux-gnueabihf -O1",
		"arm-linux-gnueabihf-gcc -O2 -marm", "arm-linux-gnueabihf-gcc -O0", "clang-22 --target=armv7-linux-gnueabihf -Os -mthumb",
	) {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			f := strings.Fields(line)
			program := build(t, "spike --threshold 20ms --small 0", f[0], append(f[1:], "-w", filepath.Join("testdata", "suspended.c"))...)
			checkSuspended(t, program, func(args ...string) *exec.Cmd {
				return command(t, armv7.command, append([]string{"-L", armv7.sysroot, program}, args...)...)
			})
		})
	}
}

func TestSuspended(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"gcc -O2", "clang-22 -O1"} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			f := strings.Fields(line)
			program := build(t, "spike --threshold 20ms --small 0", f[0], append(f[1:], "-w", filepath.Join("testdata", "suspended.c"))...)
			checkSuspended(t, program, func(args ...string) *exec.Cmd { return command(t, program, args...) })
		})
	}
}
