//go:build linux && amd64

package oracle

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestWindowsDenied runs programs in which Windows gives the runtime no more memory, slots, threads or files from a call on, or not for
// that call, or has no 4 GiB of addresses left: they answer as without probes, and what is not logged is said.
func TestWindowsDenied(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	w := newWindows(t)
	dir, source := t.TempDir(), filepath.Join("testdata", "windowsspikes", "denied.c")
	build := func(program string, compiler ...string) string {
		path := filepath.Join(dir, program)
		output(t, command(t, compiler[0], slices.Concat(compiler[1:], []string{"-O2", "-o", path, source, filepath.Join(dir, "denies.dll")})...))
		return path
	}
	output(t, command(t, mingw+"gcc", "-O2", "-DDENIES", "-shared", "-o", filepath.Join(dir, "denies.dll"), source))
	plain := build("plain.exe", mingw+"gcc")
	want, wantCode := w.run(t, "", plain)
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	for i, mode := range []string{"spike --small 0", flightMode, "stacks", "trace", "stacks --depth 2", "trace --depth 3"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			program := build(fmt.Sprintf("app%d.exe", i), slices.Concat([]string{cairn, "cc", "--strict"}, modeFlags(mode), []string{mingw + "gcc"})...)
			for _, deny := range denials(mode) {
				cmd := w.command(t, t.TempDir(), program)
				if deny.setting == narrow {
					cmd.Path, cmd.Args = shell, []string{"sh", "-c", "ulimit -v 4000000 && exec wine " + program}
				}
				cmd.Env = append(append(cmd.Env, "CAIRN_SPIKE=threshold=10ms,rate=1000"), strings.Fields(deny.setting)...)
				var said strings.Builder
				cmd.Stderr = &said
				out, err := cmd.Output()
				if _, exited := err.(*exec.ExitError); err != nil && !exited {
					t.Fatal(err)
				}
				answer, code, lines := strings.ReplaceAll(string(out), "\r\n", "\n"), cmd.ProcessState.ExitCode(), strings.Count(said.String(), "\n")
				if answer != want || code != wantCode || lines > 1 || lines == 0 && deny.told {
					t.Errorf("%s: it answers %q and %d, without probes %q and %d; it says %q", deny.setting, answer, code, want, wantCode, said.String())
				}
			}
		})
	}
}

// A denial is what is not given to the runtime.
type denial struct {
	setting string
	told    bool // it says what is not logged
}

// narrow is the setting of a program that has less than 4 GiB of addresses.
const narrow = "NARROW=1"

// denials returns what is tried in a mode. The first calls of VirtualAlloc are for what inserted code uses: the state, the window, and its
// first block.
func denials(mode string) []denial {
	windowed := !strings.HasPrefix(mode, "trace")
	out := []denial{
		{"SLOTS=60", mode == "trace --depth 3" || mode == flightMode},
		{"SLOTS=64", mode != "spike --small 0"},
		{"DENY=VirtualAlloc:1", true},
		{"DENY=VirtualAlloc:1.", true},
		{"DENY=VirtualAlloc:2", true},
		{"DENY=VirtualAlloc:3", windowed},
		{"DENY=VirtualAlloc:4", false},
		{"DENY=VirtualAlloc:5.", false},
	}
	if mode == "spike --small 0" || !testing.Short() { // what all modes have in common
		out = append(out, denial{narrow, windowed}, denial{"SLOTS=2000", true}, denial{"DENY=CreateThread:1", true}, denial{"DENY=CreateFileW:1", false},
			denial{"DENY=CreateFileMappingW:1", true}, denial{"DENY=MapViewOfFile:1", true}, denial{"DENY=OpenThread:1", false})
	}
	if strings.HasPrefix(mode, "stacks") { // exits whose entries found no memory, below the depth and without logging
		out = append(out, denial{"DENY=VirtualAlloc:7", true}, denial{"DENY=VirtualAlloc:9. CAIRN_SPIKE=off", false}, denial{"DENY=VirtualAlloc:10. CAIRN_SPIKE=off", false})
	}
	for n := 2; n < 18 && !testing.Short(); n++ {
		out = append(out, denial{fmt.Sprintf("DENY=VirtualAlloc:%d", n), false}, denial{fmt.Sprintf("DENY=VirtualAlloc:%d.", n), false})
	}
	return out
}
