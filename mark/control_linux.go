//go:build cairn

package mark

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// serve creates the socket and a goroutine that answers. It does not use package net, which would be most of a
// small program.
func serve() {
	path := controlPath()
	if path == "" {
		return
	}
	fd, err := listen(path)
	if err != nil {
		fmt.Fprintf(os.Stderr, "cairn: no control socket %s: %v\n", path, err)
		return
	}
	go func() {
		for {
			client, _, err := syscall.Accept4(fd, syscall.SOCK_CLOEXEC)
			switch {
			case err == nil:
				clients.welcome(client)
				go func() {
					answer(client)
					clients.part(client)
				}()
			case !errors.Is(err, syscall.EINTR):
				time.Sleep(10 * time.Millisecond)
			}
		}
	}()
}

// clients are the connections being served, the oldest first. If there are too many, a new one replaces the
// oldest, so that silent clients do not block others.
var clients clientList

type clientList struct {
	mu  sync.Mutex
	fds []int
	one sync.Mutex // held while a request is applied
}

const maxClients = 8

func (c *clientList) welcome(fd int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.fds) >= maxClients {
		_ = syscall.Shutdown(c.fds[0], syscall.SHUT_RDWR) // its server returns then
		c.fds = slices.Delete(c.fds, 0, 1)
	}
	c.fds = append(c.fds, fd)
}

// part closes the connection. While it is in the list, its descriptor must not be reused.
func (c *clientList) part(fd int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.fds, fd); i >= 0 {
		c.fds = slices.Delete(c.fds, i, i+1)
	}
	syscall.Close(fd)
}

// listen creates a socket for this user alone. If another process uses its name, the PID of this one is added to
// it. The socket gets a temporary name first, since one on which nobody listens yet looks like that of a dead
// process.
func listen(path string) (int, error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return -1, err
	}
	defer dir.Close()
	// The path may be longer than addresses are.
	inDir := func(name string) *syscall.SockaddrUnix {
		return &syscall.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), name)}
	}
	pid := strconv.Itoa(os.Getpid())
	temporary := inDir(".cairn-" + pid)
	fd, err := newSocket()
	if err != nil {
		return -1, err
	}
	_ = syscall.Fchmod(fd, 0o600) // bind creates the socket with these permissions
	if isStale(temporary) {
		_ = syscall.Unlink(temporary.Name)
	}
	err = syscall.Bind(fd, temporary)
	if err == nil {
		err = syscall.Listen(fd, 128)
		if err == nil {
			err = takeName(temporary, inDir(filepath.Base(path)))
		}
		if errors.Is(err, syscall.EEXIST) {
			err = takeName(temporary, inDir(filepath.Base(path)+"."+pid))
		}
		_ = syscall.Unlink(temporary.Name)
	}
	if err != nil {
		syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

// takeName gives a socket another name, where it replaces one that a dead process left.
func takeName(socket, name *syscall.SockaddrUnix) error {
	err := syscall.Link(socket.Name, name.Name)
	if errors.Is(err, syscall.EEXIST) && isStale(name) {
		_ = syscall.Unlink(name.Name)
		err = syscall.Link(socket.Name, name.Name)
	}
	return err
}

func newSocket() (int, error) {
	return syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
}

// isStale reports whether there is a socket at an address on which nobody listens.
func isStale(address *syscall.SockaddrUnix) bool {
	info, err := os.Lstat(address.Name)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return false
	}
	fd, err := newSocket()
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	_ = syscall.SetNonblock(fd, true)
	return errors.Is(syscall.Connect(fd, address), syscall.ECONNREFUSED)
}

// answer serves one client. Only the user that the process runs as gets an answer.
func answer(fd int) {
	cred, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil || int(cred.Uid) != os.Geteuid() {
		return
	}
	wait := syscall.NsecToTimeval(int64(requestTimeout))
	if syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &wait) != nil ||
		syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &wait) != nil {
		return
	}
	line, ok := receive(fd)
	clients.one.Lock()
	text := []byte(reply(line, ok))
	clients.one.Unlock()
	for end := time.Now().Add(requestTimeout); len(text) > 0 && time.Now().Before(end); {
		n, err := syscall.SendmsgN(fd, text, nil, nil, syscall.MSG_NOSIGNAL)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
		text = text[max(n, 0):]
	}
}

// receive reads a line.
func receive(fd int) (line string, ok bool) {
	b := make([]byte, maxRequest)
	n := 0
	for end := time.Now().Add(requestTimeout); n < len(b) && time.Now().Before(end); {
		k, err := syscall.Read(fd, b[n:])
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || k <= 0 {
			return "", false
		}
		n += k
		if i := bytes.IndexByte(b[:n], '\n'); i >= 0 {
			return string(b[:i]), true
		}
	}
	return "", false
}
