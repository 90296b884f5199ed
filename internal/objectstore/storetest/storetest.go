// Package storetest starts an object store for tests: Versity's S3 gateway, which keeps objects in files and checks
// signatures and conditions as Amazon S3 does.
package storetest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Credentials and bucket of the store.
const (
	KeyID  = "somebody"
	Secret = "secret of somebody"
	Bucket = "fleet"

	// Place names the bucket as users do.
	Place = "s3://" + Bucket
)

// Store is a running object store.
type Store struct {
	t    testing.TB
	bin  string
	addr string
	side string // directory of what the store knows of objects besides their bytes, "" if it is in attributes of the files
	cmd  *exec.Cmd
	done chan error // has a value when cmd has ended

	URL  string
	Root string // directory of the buckets
}

// Variable names the URL of a store that runs, in place of the gateway, with the same credentials and a bucket of the same
// name. Its objects should be removed between tests.
const Variable = "CAIRN_TEST_STORE"

// StartApart starts a store like Start, for disks whose files have no extended attributes. If this store is killed, it may
// say of an object that it exists and does not exist.
func StartApart(t testing.TB) *Store {
	t.Helper()
	return start(t, t.TempDir())
}

// Start starts a store that ends with the test. The test is skipped if the store cannot be built, for want of its
// modules.
func Start(t testing.TB) *Store {
	t.Helper()
	return start(t, "")
}

func start(t testing.TB, side string) *Store {
	t.Helper()
	if url := os.Getenv(Variable); url != "" {
		return &Store{t: t, URL: url, Root: t.TempDir()}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{t: t, bin: build(t), addr: l.Addr().String(), side: side, Root: t.TempDir()}
	s.URL = "http://" + s.addr
	l.Close()
	if err := os.Mkdir(filepath.Join(s.Root, Bucket), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Kill() })
	s.Restart()
	return s
}

// build returns the program of the gateway, which the go command keeps in its cache.
func build(t testing.TB) string {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	tool := exec.CommandContext(t.Context(), "go", "tool", "-C", filepath.Join(filepath.Dir(file), "gateway"), "-n", "versitygw")
	var said strings.Builder // apart from the path: the go command names there what it downloads
	tool.Stderr = &said
	out, err := tool.Output()
	if err != nil {
		if strings.Contains(said.String(), "proxy") || strings.Contains(said.String(), "dial tcp") {
			t.Skipf("the object store cannot be built without its modules: %s", said.String())
		}
		t.Fatalf("building the object store: %v\n%s", err, said.String())
	}
	return strings.TrimSpace(string(out))
}

// Restart starts the store after Kill, with the same address and objects, and waits until it answers.
func (s *Store) Restart() {
	s.t.Helper()
	if s.bin == "" {
		return
	}
	args := []string{"--quiet", "--port", s.addr, "--access", KeyID, "--secret", Secret, "posix"}
	if s.side != "" {
		args = append(args, "--sidecar", s.side)
	}
	cmd, done := exec.Command(s.bin, append(args, s.Root)...), make(chan error, 1)
	cmd.Stderr = s.t.Output()
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.cmd, s.done = cmd, done
	go func() { done <- cmd.Wait() }()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", s.addr)
		if err == nil {
			c.Close()
			return
		}
		select {
		case err := <-done:
			s.cmd = nil
			if s.side == "" { // no extended attributes
				s.side = s.t.TempDir()
				s.Restart()
				return
			}
			s.t.Fatalf("the object store ends: %v", err)
		default:
		}
		if time.Now().After(end) {
			s.t.Fatalf("the object store does not listen: %v", err)
		}
	}
}

// Kill kills the store.
func (s *Store) Kill() {
	if s.cmd != nil {
		s.cmd.Process.Kill() //nolint:errcheck // it may have ended
		<-s.done
		s.cmd = nil
	}
}

// Signal sends a signal, such as SIGSTOP, to the store.
func (s *Store) Signal(sig syscall.Signal) {
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Error(err)
	}
}

// Environment returns the variables that name a store at a URL, which is that of the store or of a proxy to it.
func Environment(url string) []string {
	return []string{
		"AWS_ENDPOINT_URL=" + url, "AWS_ACCESS_KEY_ID=" + KeyID, "AWS_SECRET_ACCESS_KEY=" + Secret,
		"AWS_ENDPOINT_URL_S3=", "AWS_SESSION_TOKEN=", "AWS_REGION=", "AWS_DEFAULT_REGION=",
	}
}
