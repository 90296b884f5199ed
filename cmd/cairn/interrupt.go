package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/cairnprof/cairn/internal/verb"
)

// grace is how long a command may take to end by itself once it was interrupted.
const grace = 500 * time.Millisecond

// run is execute of the process's own command line, which SIGINT and SIGTERM end.
// Commands look at their context where they work long, and end in good order. One that
// is where nobody looks, say reading from a pipe that nobody writes to, is ended
// after a while, and leaves no temporary file. What does not end at the first signal
// ends at the second in any case.
func run(args []string, s verb.Streams) int {
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
		if standsIn(args) || verb.RanProgram.Load() || verb.EndsInOrder.Load() {
			return
		}
		verb.Temporary.RemoveAll()
		fmt.Fprintln(s.Err, "cairn: interrupted")
		os.Exit(verb.ExitInterrupted)
	})
	return execute(ctx, args, s)
}
