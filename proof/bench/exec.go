package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// command returns a command that runs in dir with extra environment.
func command(ctx context.Context, dir string, env []string, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// output runs a command and returns its standard output.
func output(ctx context.Context, dir string, argv ...string) (string, error) {
	return finish(command(ctx, dir, nil, argv...))
}

// finish runs cmd and returns its standard output; an error holds the end of
// what it said.
func finish(cmd *exec.Cmd) (string, error) {
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Run(); err != nil {
		said := talk.Bytes()
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, said[max(0, len(said)-1000):])
	}
	return out.String(), nil
}

// cpuTime runs cmd and returns the processor time that it and its children
// took, which other work on the machine disturbs less than the clock.
func cpuTime(cmd *exec.Cmd) (time.Duration, error) {
	if _, err := finish(cmd); err != nil {
		return 0, err
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// both runs f for each of n, two at a time, and returns the first error.
func both(n int, f func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2)
	for i := range n {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = f(i)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
