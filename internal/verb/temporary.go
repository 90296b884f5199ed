package verb

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// RanProgram says that the command runs a program of the user's, or did: signals of the terminal are for that,
// and the command must record its results.
var RanProgram atomic.Bool

// EndsInOrder says that the command ends by itself on a signal, after completing its own files. A second signal
// ends it at once.
var EndsInOrder atomic.Bool

// Temporary is the set of files that are removed when the process ends.
var Temporary temporaryFiles

type temporaryFiles struct {
	mu    sync.Mutex
	paths map[string]bool
}

// Add adds a file or directory until done is called.
func (t *temporaryFiles) Add(path string) (done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.paths == nil {
		t.paths = make(map[string]bool)
	}
	t.paths[path] = true
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.paths, path)
	}
}

// RemoveAll removes them. No more can be added: the process ends.
func (t *temporaryFiles) RemoveAll() {
	t.mu.Lock()
	for path := range t.paths {
		RemoveAll(path)
	}
}

// CacheDir returns the directory for files that cairn builds for itself.
func CacheDir() (string, error) {
	if dir := os.Getenv("CAIRN_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	// Build sandboxes often have no home directory.
	if base, err := os.UserCacheDir(); err == nil {
		dir := filepath.Join(base, "cairn")
		if os.MkdirAll(dir, 0o755) == nil {
			return dir, nil
		}
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("cairn-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !isPrivate(info) {
		return "", fmt.Errorf("%s is not a private directory of this user; set CAIRN_CACHE", dir)
	}
	return dir, nil
}
