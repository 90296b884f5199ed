//go:build linux && amd64

package oracle

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestWindowsControl changes the settings of a running program for Windows by cairn.exe, and asks for the calls that have not ended.
func TestWindowsControl(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	w := newWindows(t)
	dir, sources := t.TempDir(), filepath.Join("testdata", "windowsspikes")
	program, asker := filepath.Join(dir, "controlled.exe"), filepath.Join(dir, "asker.exe")
	output(t, command(t, cairn, "cc", "--strict", "--mode", "spike", "--control", "--skip", "^main$", mingw+"gcc", "-O2", "-g", "-static", "-Wall", "-Werror", "-o", program, filepath.Join(sources, "controlled.c")))
	output(t, command(t, mingw+"gcc", "-O1", "-static", "-Wall", "-Werror", "-o", asker, filepath.Join(sources, "asker.c"), "-ladvapi32"))
	c := &controlled{w: w, cairn: w.cairnForWindows(t), program: program, dir: dir}
	c.start(t)
	c.settings(t)
	c.silent(t, asker)
	c.open(t)
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	if c.cmd.Wait(); c.cmd.ProcessState.ExitCode() != 9 {
		t.Errorf("exit code %d, want 9", c.cmd.ProcessState.ExitCode())
	}
	if answer, code := c.ask(t, "show"); code == 0 || !strings.Contains(answer, "no control socket in logs") {
		t.Errorf("when the program has ended: %s, exit code %d", answer, code)
	}
	if text := output(t, command(t, cairn, "spikes", filepath.Join(dir, "logs"), program)); !strings.Contains(text, "The settings were changed") || !strings.Contains(text, "asked") {
		t.Errorf("the log: %s", text)
	}
}

// controlled is a program that makes the calls it is asked for.
type controlled struct {
	w                   *windows
	cairn, program, dir string
	cmd                 *exec.Cmd
	in                  io.WriteCloser
	out                 *bufio.Scanner
	pid                 int
}

func (c *controlled) start(t *testing.T) {
	t.Helper()
	c.cmd = c.w.command(t, filepath.Join(c.dir, "logs"), c.program)
	c.cmd.Env = append(c.cmd.Env, "CAIRN_SPIKE=threshold=1000s,-net")
	c.in, c.out = piped(t, c.cmd)
	c.call(t, 0) // it runs
}

// piped starts a command whose input and output are pipes.
func piped(t *testing.T, cmd *exec.Cmd) (io.WriteCloser, *bufio.Scanner) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return in, bufio.NewScanner(out)
}

// call makes the program make a call of some milliseconds.
func (c *controlled) call(t *testing.T, ms int) {
	t.Helper()
	if _, err := fmt.Fprintln(c.in, ms); err != nil || !c.out.Scan() {
		t.Fatalf("a call: %v, %v", err, c.out.Err())
	}
}

// ask runs cairn watch for the program's logs.
func (c *controlled) ask(t *testing.T, args ...string) (answer string, code int) {
	t.Helper()
	cmd := c.w.command(t, "", c.cairn, append([]string{"watch"}, args...)...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR=logs")
	cmd.Dir = c.dir
	text, _ := cmd.CombinedOutput()
	return strings.ReplaceAll(string(text), "\r\n", "\n"), cmd.ProcessState.ExitCode()
}

type controlState struct {
	PID       int
	On        bool
	Threshold int64 `json:"threshold_ns"`
	Rate      int
	Spikes    int
	Channels  map[string]bool
}

// show returns the program's state, which it gives when the clock's thread has run.
func (c *controlled) show(t *testing.T, args ...string) controlState {
	t.Helper()
	var answer struct{ Programs []controlState }
	for range 20 {
		text, code := c.ask(t, append(args, "--json")...)
		if code != 0 {
			t.Log(text)
			continue
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Programs) != 1 {
			t.Fatalf("%v: %s", err, text)
		}
		return answer.Programs[0]
	}
	t.Fatal("no answer")
	return controlState{}
}

// set changes settings.
func (c *controlled) set(t *testing.T, words ...string) controlState {
	t.Helper()
	if _, code := c.ask(t, append([]string{"set", "--"}, words...)...); code != 0 {
		t.Errorf("set %q: exit code %d", words, code)
	}
	return c.show(t, "show")
}

// found makes calls that take longer and longer until one is found.
func (c *controlled) found(t *testing.T) {
	t.Helper()
	before := c.show(t, "show").Spikes
	for ms := 100; ms < 20000; ms *= 3 {
		if c.call(t, ms); c.show(t, "show").Spikes > before {
			return
		}
	}
	t.Error("no call was found")
}

// settings changes all settings.
func (c *controlled) settings(t *testing.T) {
	c.call(t, 50)
	st := c.show(t, "show")
	c.pid = st.PID
	if st.Threshold != 1e12 || !st.On || st.Spikes != 0 || st.Channels["net"] {
		t.Errorf("at the start: %+v", st)
	}
	if st = c.set(t, "threshold=20ms", "rate=7", "+net"); st.Threshold != 20e6 || st.Rate != 7 || !st.Channels["net"] {
		t.Errorf("with three words: %+v", st)
	}
	c.found(t)
	if text := output(t, command(t, cairn, "spikes", filepath.Join(c.dir, "logs"), c.program)); !strings.Contains(text, "net") {
		t.Errorf("a section of a channel: %s", text)
	}
	before := c.show(t, "show").Spikes
	if st = c.set(t, "off", "-net"); st.On || st.Channels["net"] {
		t.Errorf("off: %+v", st)
	}
	if c.call(t, 100); c.show(t, "show").Spikes != before {
		t.Error("a call was found while the search was off")
	}
	for _, words := range [][]string{{"threshold=30ms", "nosuch=1"}, {"rate=x"}, {"+nosuch"}, {"threshold=1us"}} {
		answer, code := c.ask(t, append([]string{"set", "--"}, words...)...)
		if want := words[len(words)-1] + " is invalid, or names no channel here; nothing is changed"; code == 0 || !strings.Contains(answer, want) {
			t.Errorf("set %q: %s, exit code %d", words, answer, code)
		}
	}
	if st = c.set(t, "on"); !st.On || st.Threshold != 20e6 || st.Rate != 7 {
		t.Errorf("on again: %+v", st)
	}
	c.found(t)
}

// silent looks at who may open the pipe, and at a client that asks for nothing: others get their answers.
func (c *controlled) silent(t *testing.T, asker string) {
	pipe := fmt.Sprintf(`\\.\pipe\cairn-%d`, c.pid)
	cmd := c.w.command(t, "", asker, pipe)
	in, out := piped(t, cmd)
	if out.Scan(); strings.TrimSpace(out.Text()) != "1 0 1f01ff U 1" {
		t.Errorf("rights of the pipe: %q", out.Text())
	}
	c.show(t, "show", "--socket", pipe)
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// open asks for a call that has not ended.
func (c *controlled) open(t *testing.T) {
	if _, err := fmt.Fprintln(c.in, -1); err != nil {
		t.Fatal(err)
	}
	text := ""
	for range 50 {
		if text, _ = c.ask(t, "open"); strings.Contains(text, "asked") && slices.Contains(strings.Fields(text), "NtReadFile") {
			break
		}
	}
	if !strings.Contains(text, "HAS NOT ENDED") {
		t.Errorf("no open call: %s", text)
	}
	if _, err := fmt.Fprintln(c.in, 0); err != nil || !c.out.Scan() {
		t.Error(err, c.out.Err())
	}
	logs, err := os.ReadDir(filepath.Join(c.dir, "logs"))
	if err != nil || len(logs) != 1 {
		t.Errorf("%d logs, %v", len(logs), err)
	}
}
