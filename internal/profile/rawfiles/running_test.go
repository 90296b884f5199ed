package rawfiles

import (
	"os"
	"os/exec"
	"testing"
)

// TestHasEnded: a process has ended also if its parent has not waited for it.
func TestHasEnded(t *testing.T) {
	t.Parallel()
	if HasEnded(os.Getpid()) {
		t.Error("this process has ended")
	}
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	pid := cmd.Process.Pid
	if HasEnded(pid) {
		t.Error("a process that waits for input has ended")
	}
	in.Close()
	for n := 1; n > 0; { // its end closes the pipe, before it is a zombie
		n, _ = out.Read(make([]byte, 1))
	}
	for !HasEnded(pid) { // by the kernel, soon after that
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if !HasEnded(pid) {
		t.Error("a process that was waited for has not ended")
	}
}
