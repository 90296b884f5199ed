package verb

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal returns the two ends of a pseudo terminal.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("no pseudo terminals: %v", err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// TestProgress reads a progress line from a terminal, and that it is erased.
func TestProgress(t *testing.T) {
	t.Setenv("TERM", "xterm")
	master, slave := terminal(t)
	stop := Working(&Streams{Err: slave}, "reading %s", "app")
	inner := Working(&Streams{Err: slave}, "something within")
	in := bufio.NewReader(master)
	shown, err := in.ReadString('s') // the unit
	for err == nil && !strings.HasSuffix(shown, " s") {
		var more string
		more, err = in.ReadString('s')
		shown += more
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := clearLine + "reading app, 0 s"; !strings.HasPrefix(shown, want) {
		t.Errorf("shown %q, want %q", shown, want)
	}
	Note(&Streams{Err: slave}, "so far")
	inner()
	stop()
	slave.WriteString("$")
	rest, err := in.ReadString('$')
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(rest, clearLine+"cairn: note: so far\r\n") {
		t.Errorf("after a note %q, want it in place of the line", rest)
	}
	if !strings.HasSuffix(rest, clearLine+"$") {
		t.Errorf("at the end %q, want the line erased", rest)
	}
}

// TestNoProgress checks that no progress is printed if the output is not a terminal.
func TestNoProgress(t *testing.T) {
	t.Setenv("TERM", "xterm")
	_, slave := terminal(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for name, s := range map[string]*Streams{"pipe": {Err: w}, "quiet": {Err: slave, Quiet: true}} {
		stop := Working(s, "something")
		if progressShown.Load() {
			t.Errorf("%s: progress is shown", name)
		}
		stop()
	}
}
