package debuginfod

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const id = "0123456789abcdef0123456789abcdef01234567"

// serve answers with handle and counts the questions.
func serve(t *testing.T, handle http.HandlerFunc) (url string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func client(t *testing.T, urls ...string) *Client {
	t.Helper()
	return &Client{Cache: t.TempDir(), URLs: urls, Timeout: time.Hour, MaxSize: 100}
}

func TestFind(t *testing.T) {
	t.Parallel()
	empty, _ := serve(t, http.NotFound)
	full, asked := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/buildid/"+id+"/debuginfo" {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte("a debug file"))
	})
	c := client(t, empty, full+"/")
	for range 2 {
		path, err := c.Find(id)
		if err != nil || path != filepath.Join(c.Cache, id, "debuginfo") {
			t.Fatalf("Find = %s, %v", path, err)
		}
		if data, err := os.ReadFile(path); string(data) != "a debug file" {
			t.Fatalf("the file holds %q, %v", data, err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times, want once", n)
	}
	// Files that other clients left are found without a server.
	if path, err := (&Client{Cache: c.Cache}).Find(id); err != nil {
		t.Errorf("Find in the cache = %s, %v", path, err)
	}
}

func TestFindNothing(t *testing.T) {
	t.Parallel()
	missing, asked := serve(t, http.NotFound)
	long, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for range 20 { // more than a buffer, so that the length is not known before
			w.Write([]byte(strings.Repeat("x", 1000)))
			w.(http.Flusher).Flush()
		}
	})
	broken, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	cut, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "50")
		w.Write([]byte("only this"))
	})
	for name, tc := range map[string]struct {
		urls []string
		id   string
		want string
	}{
		"no server":   {nil, id, ErrNone.Error()},
		"not there":   {[]string{missing}, id, ErrNone.Error()},
		"no build id": {[]string{missing}, "../../etc/passwd", ErrNone.Error()},
		"too long":    {[]string{long}, id, "more than 100 bytes (DEBUGINFOD_MAXSIZE)"},
		"an error":    {[]string{broken, missing}, id, "502"},
		"cut off":     {[]string{cut}, id, "unexpected EOF"},
		"no URL":      {[]string{"gopher://x y"}, id, "invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t, tc.urls...)
			for range 2 { // the second time from memory
				if path, err := c.Find(tc.id); path != "" || err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Fatalf("Find = %q, %v, want an error with %q", path, err, tc.want)
				}
			}
			files, err := filepath.Glob(filepath.Join(c.Cache, "*", "debuginfo.*"))
			if len(files) > 0 || err != nil {
				t.Errorf("left behind: %v, %v", files, err)
			}
		})
	}
	// What no server has is not asked for again by the next process.
	c := client(t, missing)
	before := asked.Load()
	for range 2 {
		if _, err := (&Client{Cache: c.Cache, URLs: c.URLs, Timeout: time.Hour, MaxSize: 100}).Find(id); !errors.Is(err, ErrNone) {
			t.Fatal(err)
		}
	}
	if n := asked.Load() - before; n != 1 { // the tests above run after this one
		t.Errorf("asked %d times, want once", n)
	}
}

func TestFindSource(t *testing.T) {
	t.Parallel()
	const path = "/usr/src/a b#1/../main.c"
	empty, refused := serve(t, http.NotFound)
	full, asked := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/buildid/"+id+"/source"+path {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte("int main;"))
	})
	c := client(t, empty, full)
	var told []string
	c.Started = func(url string) { told = append(told, url) }
	for range 2 {
		at, err := c.FindSource(id, path)
		if want := filepath.Join(c.Cache, id, "source##usr##src##a b#_1##..##main.c"); err != nil || at != want {
			t.Fatalf("FindSource = %s, %v, want %s", at, err, want)
		}
		if data, err := os.ReadFile(at); string(data) != "int main;" {
			t.Fatalf("the file holds %q, %v", data, err)
		}
	}
	if _, err := c.FindSource(id, "/other.c"); !errors.Is(err, ErrNone) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := c.FindSource(id, "relative.c"); !errors.Is(err, ErrNone) {
		t.Errorf("a relative path: %v", err)
	}
	if _, err := c.FindSource(id, "/"+strings.Repeat("long/", 100)+"a.c"); !errors.Is(err, ErrNone) {
		t.Errorf("a long path: %v", err)
	}
	if asked.Load() != 3 || refused.Load() != 3 {
		t.Errorf("the servers were asked %d and %d times, want 3", asked.Load(), refused.Load())
	}
	if want := []string{empty + "/buildid/" + id + "/source", full + "/buildid/" + id + "/source"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// A server that knows nothing of a build is not asked for every file.
func TestUnknownBuild(t *testing.T) {
	t.Parallel()
	url, asked := serve(t, http.NotFound)
	c := client(t, url)
	for i := range 100 {
		if _, err := c.FindSource(id, fmt.Sprintf("/%d.c", i)); !errors.Is(err, ErrNone) {
			t.Fatal(err)
		}
	}
	if n := asked.Load(); n != 8 {
		t.Errorf("asked %d times, want 8", n)
	}
}

// A server that cannot be reached is not asked for every file.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	gone, _ := serve(t, http.NotFound)
	c := client(t, strings.Replace(gone, "http://127.0.0.1", "http://127.0.0.1.invalid", 1))
	n := 0
	c.Started = func(string) { n++ }
	for _, path := range []string{"/a.c", "/b.c"} {
		if _, err := c.FindSource(id, path); err == nil || errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if len(c.down) != 1 || n != 1 {
		t.Errorf("%d servers are known to be down, %d questions", len(c.down), n)
	}
}

func TestSilentServer(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	silent, _ := serve(t, func(http.ResponseWriter, *http.Request) { <-done })
	t.Cleanup(func() { close(done) })
	c := client(t, silent)
	c.Timeout = 10 * time.Millisecond
	if _, err := c.Find(id); err == nil || !strings.Contains(err.Error(), "no answer for 10ms") {
		t.Errorf("Find = %v", err)
	}
}

func TestFromEnvironment(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for _, p := range pairs {
				if value, ok := strings.CutPrefix(p, name+"="); ok {
					return value
				}
			}
			return ""
		}
	}
	for want, getenv := range map[string]func(string) string{
		"":                                 env(),
		"/c":                               env("DEBUGINFOD_CACHE_PATH=/c", "HOME="+home),
		"/x/debuginfod_client":             env("XDG_CACHE_HOME=/x", "HOME="+home),
		home + "/.cache/debuginfod_client": env("HOME=" + home),
	} {
		if got := FromEnvironment(getenv).Cache; got != want {
			t.Errorf("cache %q, want %q", got, want)
		}
	}
	c := FromEnvironment(env("DEBUGINFOD_URLS= http://a  http://b ", "DEBUGINFOD_TIMEOUT=3", "DEBUGINFOD_MAXSIZE=77"))
	if len(c.URLs) != 2 || c.URLs[1] != "http://b" || c.Timeout != 3*time.Second || c.MaxSize != 77 {
		t.Errorf("FromEnvironment = %+v", c)
	}
	old := filepath.Join(home, ".debuginfod_client_cache")
	if err := os.Mkdir(old, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := FromEnvironment(env("HOME=" + home)).Cache; got != old {
		t.Errorf("cache %q, want %q", got, old)
	}
}

// TestLater has a server that gets a file, and one that is started, after a client asked for it.
func TestLater(t *testing.T) {
	t.Parallel()
	var there, started atomic.Bool
	url, asked := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !started.Load():
			panic(http.ErrAbortHandler)
		case !there.Load():
			http.NotFound(w, r)
		default:
			w.Write([]byte("a debug file"))
		}
	})
	now := time.Now()
	c := client(t, url)
	c.clock = func() time.Time { return now }
	if _, err := c.Find(id); err == nil || errors.Is(err, ErrNone) {
		t.Fatalf("a server that does not answer: %v", err)
	}
	started.Store(true)
	now = now.Add(missFor)
	if _, err := c.Find(id); !errors.Is(err, ErrNone) {
		t.Fatalf("a server without the file: %v", err)
	}
	there.Store(true)
	before := asked.Load()
	if _, err := c.Find(id); !errors.Is(err, ErrNone) || asked.Load() != before {
		t.Fatalf("at once: %v, %d more questions", err, asked.Load()-before)
	}
	now = now.Add(missFor + time.Minute) // the file system's clock may be behind
	if _, err := c.Find(id); err != nil {
		t.Fatalf("later: %v", err)
	}
}
