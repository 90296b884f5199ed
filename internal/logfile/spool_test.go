//go:build linux

package logfile

import (
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// TestSpool opens an input without end where there is room for 64 MB: the error says
// so, and some room is left.
func TestSpool(t *testing.T) {
	t.Parallel()
	const inside = "CAIRN_TEST_SPOOL"
	if os.Getenv(inside) != "" {
		_, err := Open(Stdin, endless{}, nil)
		if err == nil {
			t.Fatal("an input without end was read")
		}
		t.Log(err)
		return
	}
	dir := t.TempDir()
	mount := []string{"-m", "sh", "-c", `mount -t tmpfs -o size=64m tmpfs "$0" && exec "$@"`, dir}
	if os.Geteuid() != 0 {
		mount = append([]string{"-r"}, mount...)
	}
	if out, err := exec.Command("unshare", append(mount, "true")...).CombinedOutput(); err != nil {
		t.Skipf("a disk of its own is not to be had: %v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", append(mount, os.Args[0], "-test.run=^TestSpool$", "-test.v")...)
	cmd.Env = append(os.Environ(), inside+"=1", "TMPDIR="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := regexp.MustCompile(`reading standard input: no space left in ` + regexp.QuoteMeta(dir) + ` after 6[0-3]\d{6} bytes: set TMPDIR`)
	if !want.Match(out) {
		t.Errorf("it says\n%s", out)
	}
}
