// Package debuginfod finds separate debug files and sources by build id, like other debuginfod
// clients: in their shared cache, then on the servers in DEBUGINFOD_URLS. It uses the
// environment variables and the cache layout of elfutils (debuginfod_find_debuginfo(3)), so
// files that gdb or perf downloaded are found here, and vice versa.
package debuginfod

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ErrNone reports that neither the cache nor a server has the file, or that no server is set.
var ErrNone = errors.New("not in the debuginfod cache or on a server of DEBUGINFOD_URLS")

const (
	fileName       = "debuginfo"
	missFor        = 10 * time.Minute // how long a missing file is remembered, as in elfutils
	defaultTimeout = 90 * time.Second // without a byte received
	defaultMaxSize = 4 << 30          // bytes of a file
	maxID          = 64               // bytes of a build id
)

// Client looks for files. The zero value finds nothing.
type Client struct {
	Cache   string        // directory; "" for none: then servers are not asked either
	URLs    []string      // of servers, in the order in which they are asked
	Timeout time.Duration // maximum time without data from a server
	MaxSize int64         // bytes of a file that is downloaded
	// Started, if not nil, is called before a server is asked, because that may take long. For
	// the sources of a build it is called once.
	Started func(url string)

	mu     sync.Mutex
	clock  func() time.Time // time.Now if nil
	since  time.Time        // when the maps below were last cleared
	misses map[string]error // errors by path in the cache
	down   map[string]error // errors of unreachable servers
	told   map[string]bool  // arguments of earlier calls of Started
	// sources are by build id.
	sources map[string]sources
}

// FromEnvironment returns the client that the environment describes:
// DEBUGINFOD_CACHE_PATH, XDG_CACHE_HOME and HOME; DEBUGINFOD_URLS;
// DEBUGINFOD_TIMEOUT in seconds; DEBUGINFOD_MAXSIZE in bytes.
func FromEnvironment(getenv func(string) string) *Client {
	c := &Client{
		Cache: cacheDir(getenv), URLs: strings.Fields(getenv("DEBUGINFOD_URLS")),
		Timeout: defaultTimeout, MaxSize: defaultMaxSize,
	}
	if n, err := strconv.ParseInt(getenv("DEBUGINFOD_TIMEOUT"), 10, 32); err == nil && n > 0 {
		c.Timeout = time.Duration(n) * time.Second
	}
	if n, err := strconv.ParseInt(getenv("DEBUGINFOD_MAXSIZE"), 10, 64); err == nil && n > 0 {
		c.MaxSize = n
	}
	return c
}

func cacheDir(getenv func(string) string) string {
	if dir := getenv("DEBUGINFOD_CACHE_PATH"); dir != "" {
		return dir
	}
	home := getenv("HOME")
	if home != "" {
		// An existing cache directory of earlier versions is still used.
		old := filepath.Join(home, ".debuginfod_client_cache")
		if st, err := os.Stat(old); err == nil && st.IsDir() {
			return old
		}
	}
	if dir := getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "debuginfod_client")
	}
	if home != "" {
		return filepath.Join(home, ".cache", "debuginfod_client")
	}
	return ""
}

// Find returns the path of the debug file of the build with a hexadecimal id. The caller must
// check the content of the file. If there is no file, the error is ErrNone, or wraps the
// failure of a server.
func (c *Client) Find(id string) (string, error) { return c.find(id, fileName, fileName) }

// FindSource returns the path of a copy of a source file of the build. Path is the absolute
// path in the debug information; others are not found. The errors are those of Find.
func (c *Client) FindSource(id, path string) (string, error) {
	if !strings.HasPrefix(path, "/") {
		return "", ErrNone
	}
	if c.unknown(id) {
		return "", ErrNone
	}
	at, err := c.find(id, sourceName(path), "source"+(&url.URL{Path: path}).EscapedPath())
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.sources[id]
	if err == nil {
		n.found++
	} else if errors.Is(err, ErrNone) {
		n.missing++
	}
	c.sources[id] = n
	return at, err
}

// sources counts the requested sources of a build.
type sources struct{ found, missing int }

// unknown reports whether servers seem to have no sources of a build, because they had none of
// the first ones. Each request takes a while, and a program can have thousands of sources.
func (c *Client) unknown(id string) bool {
	const enough = 8
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget()
	n := c.sources[id]
	return n.found == 0 && n.missing >= enough
}

// forget clears the remembered failures of servers when those in the cache expire. A process
// that runs for days, such as cairn serve, then finds files that a server received later.
func (c *Client) forget() {
	if now := c.now(); c.since.IsZero() || now.Sub(c.since) >= missFor {
		c.since = now
		c.misses, c.down, c.sources = map[string]error{}, map[string]error{}, map[string]sources{}
	}
}

func (c *Client) now() time.Time {
	if c.clock != nil {
		return c.clock()
	}
	return time.Now()
}

// sourceName is the name of a source file in the cache: that of elfutils 0.188 (path_escape),
// unless it is too long for a file name.
func sourceName(path string) string {
	const most = 240 // of 255, so that a temporary file name can extend it
	name := "source" + strings.NewReplacer("/", "##", "#", "#_").Replace(path)
	if len(name) > most {
		name = fmt.Sprintf("source%x", sha256.Sum256([]byte(path)))
	}
	return name
}

// find returns the path of a file of a build. name is its name in the cache, and remote its
// path below the build on a server.
func (c *Client) find(id, name, remote string) (string, error) {
	if c.Cache == "" || !isID(id) {
		return "", ErrNone
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget()
	path := filepath.Join(c.Cache, id, name)
	if err := c.misses[path]; err != nil {
		return "", err
	}
	st, err := os.Stat(path)
	if err == nil && st.Mode().IsRegular() && st.Size() > 0 {
		return path, nil
	}
	if err == nil && c.now().Sub(st.ModTime()) < missFor {
		err = ErrNone
	} else {
		err = c.ask("/buildid/"+id+"/", remote, path)
	}
	if err != nil {
		c.misses[path] = err
		return "", err
	}
	return path, nil
}

func isID(id string) bool {
	return len(id) > 2 && len(id) <= 2*maxID && strings.Trim(id, "0123456789abcdef") == ""
}

// ask downloads a file from the first server that has it. If all servers report that they do
// not have it, an empty file in the cache records that.
func (c *Client) ask(build, remote, path string) error {
	if len(c.URLs) == 0 {
		return ErrNone
	}
	var failed error
	for _, server := range c.URLs {
		server = strings.TrimSuffix(server, "/")
		err := c.down[server]
		if err == nil {
			c.started(server+build, remote)
			err = c.download(server+build+remote, path)
		}
		if err == nil {
			return nil
		}
		var lost unreachable
		if errors.As(err, &lost) { // it is not asked again: there may be thousands of files
			err = fmt.Errorf("%s does not answer: %w", server, lost.cause())
			c.down[server] = err
		}
		if !errors.Is(err, ErrNone) {
			failed = errors.Join(failed, err)
		}
	}
	if failed != nil {
		return failed
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		os.WriteFile(path, nil, 0o600) //nolint:errcheck // it only avoids the next request
	}
	return ErrNone
}

// started calls Started.
func (c *Client) started(build, remote string) {
	if kind, _, ok := strings.Cut(remote, "/"); ok {
		remote = kind
	}
	if c.Started == nil || c.told[build+remote] {
		return
	}
	if c.told == nil {
		c.told = map[string]bool{}
	}
	c.told[build+remote] = true
	c.Started(build + remote)
}

// unreachable is the error of a server that does not answer.
type unreachable struct{ error }

func (u unreachable) Unwrap() error { return u.error }

// cause is the error without the URL.
func (u unreachable) cause() error {
	var at *url.Error
	if errors.As(u.error, &at) {
		return at.Err
	}
	return u.error
}

// transport also supports file: URLs, as elfutils does through curl.
var transport = sync.OnceValue(func() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.RegisterProtocol("file", http.NewFileTransport(http.Dir("/")))
	return t
})

// download writes the response of url to path, completely or not at all.
func (c *Client) download(url, path string) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	silence := time.AfterFunc(c.Timeout, func() { cancel(fmt.Errorf("no answer for %v", c.Timeout)) })
	defer silence.Stop()
	err := func() error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := (&http.Client{Transport: transport()}).Do(request)
		if err != nil {
			return unreachable{err}
		}
		defer response.Body.Close()
		switch {
		case response.StatusCode == http.StatusNotFound:
			return ErrNone
		case response.StatusCode != http.StatusOK:
			return fmt.Errorf("%s: %s", url, response.Status)
		case response.ContentLength > c.MaxSize:
			return fmt.Errorf("%s: %d bytes exceed %d (DEBUGINFOD_MAXSIZE)", url, response.ContentLength, c.MaxSize)
		}
		return c.save(&awake{response.Body, silence, c.Timeout}, url, path)
	}()
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return fmt.Errorf("%s: %w", url, unreachable{cause})
	}
	return err
}

// awake extends the deadline of a download while data arrives.
type awake struct {
	r       io.Reader
	silence *time.Timer
	timeout time.Duration
}

func (a *awake) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	if n > 0 {
		a.silence.Reset(a.timeout)
	}
	return n, err
}

func (c *Client) save(body io.Reader, url, path string) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	n, err := io.Copy(f, io.LimitReader(body, c.MaxSize+1))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	if n > c.MaxSize {
		return fmt.Errorf("%s: more than %d bytes (DEBUGINFOD_MAXSIZE)", url, c.MaxSize)
	}
	if err := os.Chmod(f.Name(), 0o400); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
