// Command cairn instruments native programs at the level of their machine
// code and turns what their functions did into coverage, counts and orders.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/cairnprof/cairn/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // what does not end at the first signal ends at the second
	code := cli.Main(ctx, os.Args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}
