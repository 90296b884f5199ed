package nativert

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// socketPath is where a socket may be: short, since it is an address.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "control")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// controlled runs a program that never ends with a control socket at a path. It returns
// a function that connects to it.
func controlled(t *testing.T, program, path string) (dial func() net.Conn, cmd *exec.Cmd) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), program, "forever")
	cmd.Env = append(os.Environ(), "CAIRN_SPIKE=threshold=20s,control="+path, "CAIRN_DIR="+filepath.Dir(path))
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return func() net.Conn { return dialed(t, path) }, cmd
}

// dialed connects to a socket that a program may not have made yet.
func dialed(t *testing.T, path string) net.Conn {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("unix", path); err == nil {
			_ = c.SetDeadline(time.Now().Add(5 * time.Minute))
			t.Cleanup(func() { c.Close() })
			return c
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// ask sends a request and returns the whole answer.
func ask(t *testing.T, c net.Conn, request string) string {
	t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(c)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// answeredMeanwhile reports whether a client gets an answer while another, silent one is
// connected. The silent one is disconnected after a timeout, so a slow machine may need several
// tries.
func answeredMeanwhile(t *testing.T, dial func() net.Conn) bool {
	t.Helper()
	for range 5 {
		silent := dial()
		ask(t, dial(), "show\n")
		_ = silent.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := silent.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			return true
		}
	}
	return false
}

// TestControlHostile has clients that misbehave, and checks that the program continues and
// serves the next one.
func TestControlHostile(t *testing.T) {
	t.Parallel()
	program := timedProgram(t, "gcc", timedRuntime(t, "gcc"), []string{"storms.c"}, withUnwinder...)
	path := socketPath(t)
	dial, cmd := controlled(t, program, path)
	fine := func(after string) {
		t.Helper()
		for end := time.Now().Add(5 * time.Minute); ; {
			text := ask(t, dial(), "show\n")
			if strings.HasPrefix(text, "cairn 1\npid ") && strings.HasSuffix(text, "\nend\n") {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("after %s: %q", after, text)
			}
		}
	}
	fine("the start")
	for name, request := range map[string]string{
		"garbage": "\x00\xff\x1b[31m\n", "nothing": "\n", "a word": "showing\n", "no words": "set\n",
		"a wrong word": "set threshold=5ms nonsense\n", "large": "set threshold=99999999999999999999ms\n",
		"binary": "set \x01\x02,\x7f\n", "channel": "set +" + strings.Repeat("a", 3000) + "\n",
		"list": "set channels=" + strings.Repeat("a+", 1500) + "\n",
	} {
		if text := ask(t, dial(), request); !strings.HasPrefix(text, "error ") || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: %q", name, text)
		}
	}
	fine("requests that make no sense")
	if text := ask(t, dial(), "show\n"); !strings.Contains(text, "\nthreshold 20000000000\n") {
		t.Errorf("something was changed: %q", text)
	}
	// A line that is too long, half a line, no line, one who never reads, all of that
	// at a time.
	long := dial()
	go func() { _, _ = io.WriteString(long, strings.Repeat("set on ", 1<<20/7)) }()
	_, _ = io.WriteString(dial(), "set thresh")
	for range 5 {
		dial()
	}
	mute := dial()
	_, _ = io.WriteString(mute, "show\n")
	dial().Close()
	fine("clients that hang")
	if !answeredMeanwhile(t, dial) {
		t.Error("a client that says nothing is waited for")
	}
	if cmd.ProcessState != nil || syscall.Kill(cmd.Process.Pid, 0) != nil {
		t.Error("the program ended")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// TestControlWakesClock lowers the threshold of an idle program, and checks that its clock does
// not sleep on for half of the old threshold.
func TestControlWakesClock(t *testing.T) {
	t.Parallel()
	program := timedProgram(t, "gcc", timedRuntime(t, "gcc"), []string{"storms.c"}, withUnwinder...)
	path := socketPath(t)
	cmd := exec.CommandContext(t.Context(), program, "late")
	cmd.Env = append(os.Environ(), "CAIRN_SPIKE=threshold=200s,control="+path, "CAIRN_DIR="+filepath.Dir(path))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	time.Sleep(3 * time.Second)
	ask(t, dialed(t, path), "set threshold=2ms\n")
	_, _ = io.WriteString(stdin, "x")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if l := one(t, readLogs(t, filepath.Dir(path))); l.judged() == 0 && l.trailer.blind < stormSpike/4 {
		t.Errorf("nothing was found: %+v", l.trailer)
	}
}

func pidOf(c *exec.Cmd) string { return strconv.Itoa(c.Process.Pid) }

// TestControlReplaces: the socket of a killed process makes room, that of a live one
// does not, nor does what is no socket.
func TestControlReplaces(t *testing.T) {
	t.Parallel()
	program := timedProgram(t, "gcc", timedRuntime(t, "gcc"), []string{"storms.c"}, withUnwinder...)
	path := socketPath(t)
	dial, cmd := controlled(t, program, path)
	ask(t, dial(), "show\n")
	pid := func(path string) string {
		for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			c, err := net.Dial("unix", path)
			if err != nil {
				continue
			}
			_, line, _ := strings.Cut(ask(t, c, "show\n"), "\npid ")
			line, _, _ = strings.Cut(line, "\n")
			return line
		}
		t.Fatalf("nobody listens at %s", path)
		return ""
	}
	_, second := controlled(t, program, path)
	beside := path + "." + pidOf(second)
	if got := pid(beside); got != pidOf(second) {
		t.Errorf("beside a live socket: process %s", got)
	}
	if got := pid(path); got != pidOf(cmd) {
		t.Errorf("the live socket is that of %s", got)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	_, third := controlled(t, program, path)
	for end := time.Now().Add(5 * time.Minute); pid(path) != pidOf(third); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the socket of a killed process was not replaced")
		}
	}

	// A file that is no socket stays.
	file := socketPath(t)
	if err := os.WriteFile(file, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, fourth := controlled(t, program, file)
	if got := pid(file + "." + pidOf(fourth)); got != pidOf(fourth) {
		t.Errorf("beside a file: process %s", got)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "mine" {
		t.Errorf("the file: %q %v", text, err)
	}
}

// TestControlChannels checks that the last setting of a channel is kept for modules that are
// loaded later, however often it was changed.
func TestControlChannels(t *testing.T) {
	t.Parallel()
	program := timedProgram(t, "gcc", timedRuntime(t, "gcc"), []string{"storms.c"}, withUnwinder...)
	dial, _ := controlled(t, program, socketPath(t))
	for i := range 300 {
		for _, word := range []string{"+ai", "-ai", "+a", "-physics"} {
			if text := ask(t, dial(), "set "+word+"\n"); !strings.HasSuffix(text, "\nend\n") {
				t.Fatalf("%d. %s: %q", i, word, text)
			}
		}
	}
}
