//go:build linux

package nativert

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestTimedKilledAtStart kills a program before and after system calls of its first milliseconds, and reads what has
// the name of a log by then. Without /proc, and before Linux 6.10, a temporary name is used.
func TestTimedKilledAtStart(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	program := timedProgram(t, "gcc", timedRuntime(t, "gcc", "-DCAIRN_TEST_OLD_KERNEL"), []string{"storms.c"}, "-static", "-Wl,-u,_Unwind_Backtrace")
	root := filepath.Dir(program)
	for _, row := range []struct {
		dir  string
		attr *syscall.SysProcAttr
	}{{"named", nil}, {"temporary", &syscall.SysProcAttr{Chroot: root}}} {
		t.Run(row.dir, func(t *testing.T) {
			if row.attr != nil && os.Geteuid() != 0 {
				t.Skip("only root may change the root directory")
			}
			path, logs := program, filepath.Join(root, row.dir)
			dir := logs
			if row.attr != nil {
				path, dir = "/program", "/"+row.dir
			}
			ended, step := false, 1
			if testing.Short() {
				step = 5
			}
			for n := 1; !ended; n += step {
				cmd := exec.CommandContext(t.Context(), path, "spikes", "1")
				cmd.Dir, cmd.SysProcAttr = "/", row.attr
				cmd.Env = []string{"CAIRN_SPIKE=" + stormSet, "CAIRN_DIR=" + dir}
				reached, err := tracelogtest.KillAt(cmd, n)
				if err != nil {
					t.Fatal(err)
				}
				ended = !reached
			}
			files, err := os.ReadDir(logs)
			if err != nil {
				t.Fatal(err)
			}
			named := 0
			for _, f := range files {
				if strings.HasSuffix(f.Name(), ".tmp") && row.attr != nil {
					continue
				}
				named++
				data, err := os.ReadFile(filepath.Join(logs, f.Name()))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tracelog.Open(strings.NewReader(string(data)), int64(len(data)), f.Name()); err != nil {
					t.Errorf("%d bytes: %v", len(data), err)
				}
			}
			if named < 5 || row.attr != nil && named == len(files) {
				t.Errorf("%d files, %d of them with a name", len(files), named)
			}
			t.Logf("%d files, %d of them with a name", len(files), named)
		})
	}
}
