//go:build cairn && linux

package mark

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// ask sends text to the socket and returns the answer.
func ask(t *testing.T, path, text string) string {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Minute))
	_, _ = io.WriteString(c, text)
	answer, _ := io.ReadAll(c)
	return string(answer)
}

// TestControl checks that the socket changes settings, and that it keeps working after clients
// that misbehave.
func TestControl(t *testing.T) {
	dir, err := os.MkdirTemp("", "control")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	before := time.Duration(thresholds.global.Load())
	defer func() {
		SetThreshold(before)
		off.Store(false)
	}()
	physics := Channel("physics")
	begin()
	control.path = filepath.Join(dir, "s")
	serve()
	path := control.path
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
	if text := ask(t, path, "set threshold=7ms off -physics\n"); !strings.Contains(text, "\nstate off\nthreshold 7000000\nperiod 875000\n") ||
		!strings.Contains(text, "\nchannel physics off\n") || !strings.HasSuffix(text, "\nend\n") {
		t.Errorf("set: %q", text)
	}
	if !off.Load() || physics.On() || thresholds.global.Load() != int64(7*ms) {
		t.Error("nothing was set")
	}
	for _, request := range []string{"\n", "\xff\x00\n", "set on threshold=never\n", "set on +nobody\n", strings.Repeat("x", 1<<20), "set on"} {
		if text := ask(t, path, request); text != "" && !strings.HasPrefix(text, "error ") {
			t.Errorf("%.20q: %q", request, text)
		}
	}
	if !off.Load() {
		t.Error("a request that makes no sense was obeyed in part")
	}
	hanging, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer hanging.Close()
	for range maxClients {
		full, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer full.Close()
	}
	if text := ask(t, path, "set on +physics\n"); !strings.Contains(text, "\nstate on\n") || !physics.On() {
		t.Errorf("after clients that hang: %q", text)
	}
	if !answeredMeanwhile(t, path) {
		t.Error("a client that says nothing is waited for")
	}

	// That of a live process stays; the next one has another name.
	serve()
	if text := ask(t, path+"."+strconv.Itoa(os.Getpid()), "show\n"); !strings.HasPrefix(text, "cairn 1\n") {
		t.Errorf("the second: %q", text)
	}
	log, _ := readLog(t)
	if n := len(log.Settings); n < 2 || log.Settings[n-1].Off || log.Settings[n-1].Threshold != uint64(7*ms) {
		t.Errorf("settings %+v", log.Settings)
	}
}

// answeredMeanwhile reports whether a client gets an answer while another, silent one is
// connected. The silent one is disconnected after a timeout, so a slow machine may need several
// tries.
func answeredMeanwhile(t *testing.T, path string) bool {
	t.Helper()
	for range 5 {
		silent, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		ask(t, path, "show\n")
		_ = silent.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := silent.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			return true
		}
	}
	return false
}

// TestChannelWords checks that words about a channel that were given before it was created
// apply to it.
func TestChannelWords(t *testing.T) {
	c := channelSet{}
	for _, w := range []string{"+d", "channels=a+b", "+b", "-c", "-b", "+c"} {
		if !c.word(w, true) {
			t.Errorf("%s is refused", w)
		}
	}
	if got := strings.Join(c.words, " "); got != "channels=a+b -b +c" {
		t.Error(got)
	}
	if c.word("a", true) || c.word("+", true) {
		t.Error("no words are taken")
	}
}
