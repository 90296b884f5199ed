//go:build linux

package nativert

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// TestTimedCreate reads logs at the moment at which they get their names, and checks that they
// have a header.
func TestTimedCreate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const nameless = 0x410000 // O_TMPFILE
	if fd, err := syscall.Open(dir, nameless|syscall.O_RDWR, 0o600); err != nil {
		t.Skipf("files without names: %v", err)
	} else {
		syscall.Close(fd)
	}
	watch, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		t.Skip(err)
	}
	names := os.NewFile(uintptr(watch), "inotify")
	defer names.Close()
	if _, err := syscall.InotifyAddWatch(watch, dir, syscall.IN_CREATE); err != nil {
		t.Fatal(err)
	}
	program := timedProgram(t, "gcc", timedRuntime(t, "gcc"), []string{"storms.c"}, withUnwinder...)
	const processes = 20
	ended := make(chan error, 1)
	go func() {
		for range processes {
			cmd := exec.CommandContext(t.Context(), program, "spikes", "1")
			cmd.Env = append(os.Environ(), "CAIRN_SPIKE="+stormSet, "CAIRN_DIR="+dir)
			if err := cmd.Run(); err != nil {
				ended <- err
				names.Close() // nobody makes what is waited for
				return
			}
		}
		ended <- nil
	}()
	events := make([]byte, 4096)
	for seen := 0; seen < processes; {
		n, err := names.Read(events)
		if err != nil {
			t.Fatal(err, <-ended)
		}
		for b := events[:n]; len(b) > syscall.SizeofInotifyEvent; seen++ {
			end := syscall.SizeofInotifyEvent + binary.NativeEndian.Uint32(b[12:])
			name := string(bytes.TrimRight(b[syscall.SizeofInotifyEvent:end], "\x00"))
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() < wire.HeaderSize {
				t.Errorf("%s has %d bytes", name, info.Size())
			}
			b = b[end:]
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestTimedCreateNamed runs where no file can be given its name later, as there is no
// /proc.
func TestTimedCreateNamed(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root may change the root directory")
	}
	program := timedProgram(t, "gcc", timedRuntime(t, "gcc"), []string{"storms.c"}, "-static", "-Wl,-u,_Unwind_Backtrace")
	root := filepath.Dir(program)
	for range 2 {
		cmd := exec.CommandContext(t.Context(), "/program", "spikes", "5")
		cmd.Dir = "/"
		cmd.Env = []string{"CAIRN_SPIKE=" + stormSet, "CAIRN_DIR=/logs"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if logs := readLogs(t, filepath.Join(root, "logs")); len(logs) != 2 {
		t.Errorf("%d logs of 2 processes", len(logs))
	}
}
