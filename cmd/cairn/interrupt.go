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

// grace is the time that a command has to end after it was interrupted.
const grace = 500 * time.Millisecond

// run executes the process's command line, which SIGINT and SIGTERM end. Commands check their
// context during long work, and shut down cleanly. One that cannot check it, such as while it
// reads from a pipe without a writer, is ended after a while, and leaves no temporary file.
// The second signal ends any command.
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
