package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// grace is how long a command may take to end by itself once it was interrupted.
const grace = 500 * time.Millisecond

// Run is Main of the process's own command line, which SIGINT and SIGTERM end.
// Commands look at their context where they work long, and end in good order. One that
// is where nobody looks, say reading from a pipe that nobody writes to, is ended
// after a while, and leaves no temporary file. What does not end at the first signal
// ends at the second in any case.
func Run(args []string, s Streams) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ended := make(chan struct{})
	defer close(ended)
	context.AfterFunc(ctx, func() {
		stop()
		select {
		case <-ended:
			return
		case <-time.After(grace):
		}
		if StandsIn(args) || ranProgram.Load() {
			return
		}
		temporary.removeAll()
		fmt.Fprintln(s.Err, "cairn: interrupted")
		os.Exit(exitInterrupted)
	})
	return Main(ctx, args, s)
}

// ranProgram says that the command runs a program of the user's, or did: signals of
// the terminal are for that, and the command has to put down what it did.
var ranProgram atomic.Bool

// temporary is the files that are to be gone when the process ends.
var temporary temporaryFiles

type temporaryFiles struct {
	mu    sync.Mutex
	paths map[string]bool
}

// add makes a file or directory one of them until done is called.
func (t *temporaryFiles) add(path string) (done func()) {
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

// removeAll removes them. No more can be added: the process ends.
func (t *temporaryFiles) removeAll() {
	t.mu.Lock()
	for path := range t.paths {
		os.RemoveAll(path)
	}
}
