package verb

import (
	"os"
	"sync"
	"sync/atomic"
)

// RanProgram says that the command runs a program of the user's, or did: signals of
// the terminal are for that, and the command has to put down what it did.
var RanProgram atomic.Bool

// EndsInOrder says that the command ends by itself on a signal, however long it takes: it has
// files of its own to bring in order. A second signal ends it at once.
var EndsInOrder atomic.Bool

// Temporary is the files that are to be gone when the process ends.
var Temporary temporaryFiles

type temporaryFiles struct {
	mu    sync.Mutex
	paths map[string]bool
}

// Add makes a file or directory one of them until done is called.
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
		os.RemoveAll(path)
	}
}
