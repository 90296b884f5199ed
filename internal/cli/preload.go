package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

// preload is the variable that has the loader put a library into a program, in
// front of what the user wants there.
func preload(library string) string {
	return "LD_PRELOAD=" + strings.TrimSuffix(library+":"+os.Getenv("LD_PRELOAD"), ":")
}

// inPlaceOfUs is the program at path with our streams, and env besides our
// environment. It is not ended when we are to end: runThrough waits for it.
func inPlaceOfUs(ctx context.Context, s *Streams, path string, argv, env []string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Err
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// runThrough runs a program whose terminal is ours: an interrupt is for it to
// handle. It returns its exit code.
func runThrough(cmd *exec.Cmd) (int, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGQUIT)
	defer signal.Stop(signals)
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0, err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return exit.ExitCode(), nil
}
