//go:build linux

package gobuild_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
)

// TestKilledAtStart kills programs before and after each of their first system calls. Whatever has its final name by
// then can be read, and what was recorded by a run that was not killed is read beside it. Without /proc, a file cannot
// get its name later, and a temporary name is used.
func TestKilledAtStart(t *testing.T) {
	for mode, verb := range map[string]string{"count": "merge", "spike": "spikes", "stacks": "stacks", "trace": "stacks"} {
		t.Run(mode, func(t *testing.T) {
			cairn, dir := planted(t, mode)
			raws := filepath.Join(dir, "raws")
			named, temporary := killAtEach(t, raws, nil, filepath.Join(dir, "app"))
			if temporary > 0 || named < 20 {
				t.Errorf("%d files and %d temporary ones", named, temporary)
			}
			args := []string{verb, raws}
			if verb == "merge" {
				args = []string{verb, "-o", filepath.Join(dir, "app.mip"), filepath.Join(dir, "app"), raws}
			}
			do(t, dir, "", []string{"CAIRN_DIR=" + raws}, filepath.Join(dir, "app"))
			do(t, dir, "", nil, cairn, args...)
			if os.Geteuid() != 0 {
				t.Skip("only root may change the root directory")
			}
			if named, temporary = killAtEach(t, filepath.Join(dir, "chroot"), &syscall.SysProcAttr{Chroot: dir}, "/app"); temporary == 0 || named < 20 {
				t.Errorf("without /proc: %d files and %d temporary ones", named, temporary)
			}
		})
	}
}

// killAtEach kills a program at each of its first system calls, and counts the files in raws that have their name.
func killAtEach(t *testing.T, raws string, attr *syscall.SysProcAttr, program string) (named, temporary int) {
	t.Helper()
	const stops = 150 // there are some 80 before the file is complete
	for n := range stops {
		c := exec.Command(program)
		c.Dir, c.SysProcAttr = "/", attr
		c.Env = []string{"CAIRN_DIR=" + raws}
		if attr != nil {
			c.Env[0] = "CAIRN_DIR=/" + filepath.Base(raws)
		}
		if reached, err := tracelogtest.KillAt(c, n+1); err != nil || !reached {
			t.Fatalf("the program ended before its stop %d: %v", n+1, err)
		}
	}
	files, err := os.ReadDir(raws)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".tmp") {
			temporary++
			continue
		}
		named++
		data, err := os.ReadFile(filepath.Join(raws, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f.Name(), ".mipraw") {
			_, err = mip.ParseRaw(data)
		} else {
			err = openLog(data)
		}
		if err != nil {
			t.Errorf("%s, %d bytes: %v", f.Name(), len(data), err)
		}
	}
	return named, temporary
}

// openLog opens a log of any mode.
func openLog(data []byte) error {
	var err error
	r, size := bytes.NewReader(data), int64(len(data))
	switch {
	case tracelog.DetectStacks(data):
		_, err = tracelog.OpenStacks(r, size, "log", new(tracelog.Objects))
	case tracelog.DetectTrace(data):
		_, err = tracelog.OpenEvents(r, size, "log", new(tracelog.Objects))
	default:
		_, err = tracelog.Open(r, size, "log")
	}
	return err
}
