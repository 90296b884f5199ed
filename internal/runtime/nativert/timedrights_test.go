//go:build linux

package nativert

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/format/mip/wire"
)

// TestTimedRights runs a program that has capabilities of its file for a user who has
// none: it obeys nothing of its environment, and writes no log.
func TestTimedRights(t *testing.T) {
	t.Parallel()
	program := timedProgram(t, "gcc", timedRuntime(t, "gcc"), []string{"storms.c"}, withUnwinder...)
	testRights(t, program, "spikes", "5")
}

// TestRights does so for the runtime that writes raw files.
func TestRights(t *testing.T) {
	t.Parallel()
	dir := build(t, X86_64)
	source, program := filepath.Join(dir, "main.c"), filepath.Join(dir, "program")
	text := `__attribute__((section("` + wire.RawSection + `"))) char ran;
int main(void) { return ran++; }
`
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	runTool(t, dir, "gcc", "-Wl,--build-id", "-o", program, source, "rt.o", "page_end.o")
	testRights(t, program)
}

// testRights runs a program for a user without rights, as it is and with a capability
// of its file: the first leaves one file in CAIRN_DIR, and the second none.
func testRights(t *testing.T, program string, args ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root gives a file capabilities")
	}
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
	files := filepath.Join(dir, "files")
	for path, mode := range map[string]os.FileMode{dir: 0o755, own: 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	run := func() int {
		t.Helper()
		if err := os.RemoveAll(files); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(files, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(files, 0o777); err != nil { // whatever the umask is
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), own, args...)
		cmd.Dir = files // where raw files go without CAIRN_DIR
		cmd.Env = []string{"CAIRN_SPIKE=" + stormSet, "CAIRN_DIR=" + files}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("%v: %s", err, out)
		}
		made, err := os.ReadDir(files)
		if err != nil {
			t.Fatal(err)
		}
		return len(made)
	}
	if n := run(); n != 1 {
		t.Errorf("without capabilities: %d files", n)
	}
	// Revision 2 of struct vfs_cap_data, effective: CAP_NET_BIND_SERVICE.
	caps := make([]byte, 20)
	binary.LittleEndian.PutUint32(caps, 0x02000001)
	binary.LittleEndian.PutUint32(caps[4:], 1<<10)
	if err := syscall.Setxattr(own, "security.capability", caps, 0); err != nil {
		t.Skip(err)
	}
	if n := run(); n != 0 {
		t.Errorf("with capabilities: %d files", n)
	}
}
