package nativert

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestTimedRights runs a program that has capabilities of its file for a user who has
// none: it obeys nothing of its environment, and writes no log.
func TestTimedRights(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root gives a file capabilities")
	}
	program := timedProgram(t, "gcc", timedRuntime(t, "gcc"), []string{"storms.c"}, withUnwinder...)
	dir, err := os.MkdirTemp("", "rights") // others may enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	code, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "own")
	if err := os.WriteFile(own, code, 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	logs := filepath.Join(dir, "logs")
	for path, mode := range map[string]os.FileMode{dir: 0o755, own: 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	run := func() int {
		t.Helper()
		if err := os.RemoveAll(logs); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(logs, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(logs, 0o777); err != nil { // whatever the umask is
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), own, "spikes", "5")
		cmd.Env = []string{"CAIRN_SPIKE=" + stormSet, "CAIRN_DIR=" + logs}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("%v: %s", err, out)
		}
		files, err := os.ReadDir(logs)
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	if n := run(); n != 1 {
		t.Errorf("without capabilities: %d logs", n)
	}
	// Revision 2 of struct vfs_cap_data, effective: CAP_NET_BIND_SERVICE.
	caps := make([]byte, 20)
	binary.LittleEndian.PutUint32(caps, 0x02000001)
	binary.LittleEndian.PutUint32(caps[4:], 1<<10)
	if err := syscall.Setxattr(own, "security.capability", caps, 0); err != nil {
		t.Skip(err)
	}
	if n := run(); n != 0 {
		t.Errorf("with capabilities: %d logs", n)
	}
}
