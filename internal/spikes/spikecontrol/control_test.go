package spikecontrol

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const answer = `cairn 1
pid 42
program /opt/a game
log raws/game.cairnlog
state off
threshold 5000000
period 625000
rate 100
episodes 7
frame 3
channel ai on
channel net off
omitted 2
invented later
end
`

var status = &Status{
	PID: 42, Program: "/opt/a game", Log: "raws/game.cairnlog", Threshold: 5 * time.Millisecond,
	Period: 625 * time.Microsecond, Rate: 100, Episodes: 7, Frame: 3, Channels: []Channel{{"ai", true}, {"net", false}}, Omitted: 2,
}

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := Parse(answer)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(status, got) {
		t.Errorf("%+v, not %+v", got, status)
	}
	for text, want := range map[string]string{
		"":                             "the program at the socket was not built with cairn",
		"HTTP/1.1 400\r\n":             "the program at the socket was not built with cairn",
		"cairn 1\npid 42\n":            "the answer is truncated",
		"cairn 2\nend\n":               "unsupported version 2 of the answer, expected 1",
		"cairn 1\npid x\nend\n":        `invalid answer: pid "x"`,
		"cairn 1\nthreshold 1s\nend\n": `invalid answer: threshold "1s"`,
		"error bad is bad\nmore\n":     "bad is bad",
	} {
		if _, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, not %q", text, err, want)
		}
	}
}

// FuzzParse checks that any answer is parsed or rejected.
func FuzzParse(f *testing.F) {
	f.Add(answer)
	f.Add("error x")
	f.Fuzz(func(t *testing.T, text string) {
		if st, err := Parse(text); (st == nil) == (err == nil) {
			t.Error(st, err)
		}
	})
}

// listen calls serve for connections to a socket whose path is longer than socket addresses can
// be.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	l, short := socket(t)
	path := filepath.Join(dir, "app"+Suffix)
	if err := os.Rename(short, path); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer conn.Close(); serve(conn) }()
		}
	}()
	return path
}

func TestExchange(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 2)
	path := listen(t, func(c net.Conn) {
		b := make([]byte, 100)
		n, _ := c.Read(b)
		asked <- string(b[:n])
		_, _ = io.WriteString(c, answer)
	})
	found, err := Find(filepath.Dir(path))
	if err != nil || len(found) != 1 || found[0] != path {
		t.Fatalf("found %v %v", found, err)
	}
	st, err := Set(t.Context(), path, []string{"off", "-net"})
	if err != nil || st.PID != 42 || st.Socket != path {
		t.Fatalf("%v %v", st, err)
	}
	if _, err = Show(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if a, b := <-asked, <-asked; a != "set off -net\n" || b != "show\n" {
		t.Errorf("asked %q, %q", a, b)
	}
}

// TestBadServers checks that a request ends whatever the server does.
func TestBadServers(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(net.Conn){
		"endless": func(c net.Conn) {
			for {
				if _, err := io.WriteString(c, strings.Repeat("x", 4096)); err != nil {
					return
				}
			}
		},
		"silent": func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if st, err := Show(ctx, listen(t, serve)); err == nil {
				t.Errorf("%+v", st)
			}
		})
	}
}

// socket listens at a path that is short enough for a socket.
func socket(t *testing.T) (l *net.UnixListener, path string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "control")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path = filepath.Join(dir, "s"+Suffix)
	if l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, path
}

func TestGone(t *testing.T) {
	t.Parallel()
	l, path := socket(t)
	l.SetUnlinkOnClose(false)
	l.Close()
	if _, err := Show(t.Context(), path); !errors.Is(err, ErrGone) {
		t.Error(err)
	}
}
