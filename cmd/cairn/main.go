// Command cairn instruments native programs at the level of their machine
// code and turns what their functions did into coverage, counts and orders.
package main

import (
	"os"

	"github.com/cairnprof/cairn/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
