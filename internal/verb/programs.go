package verb

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cairnprof/cairn/internal/watch/ptrace"
)

// Script reports whether a file is a script, which an interpreter runs.
func Script(path string) bool {
	head := make([]byte, 2)
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	n, _ := f.Read(head)
	return string(head[:n]) == "#!"
}

var loaded = regexp.MustCompile(`(?m)^\s*(?:.* => )?(\S*/.*) \(0x[0-9a-f]+\)$`)

// LibrariesOf lists the libraries that a program is loaded with, as its loader says
// without running it. Those of the system have nothing ready and cost little.
func LibrariesOf(ctx context.Context, interpreter, path string) []string {
	out, err := exec.CommandContext(ctx, interpreter, "--list", path).Output()
	if err != nil {
		return nil
	}
	var list []string
	for _, m := range loaded.FindAllStringSubmatch(string(out), -1) {
		if m[1] != interpreter {
			list = append(list, m[1])
		}
	}
	return list
}

// Preload is the variable that has the loader put a library into a program, in
// front of what the user wants there. Loaders part the variable at spaces and colons:
// a library whose path has some gets a link in dir, which PrivateDir made and which has
// to stay while the program runs.
func Preload(library, dir string) (string, error) {
	if !preloadable(library) {
		link := filepath.Join(dir, filepath.Base(library))
		if err := os.Symlink(library, link); err != nil {
			return "", err
		}
		library = link
	}
	return "LD_PRELOAD=" + strings.TrimSuffix(library+":"+os.Getenv("LD_PRELOAD"), ":"), nil
}

// preloadable reports whether a path can stand in the variable. What follows a $ is
// replaced there.
func preloadable(path string) bool { return !strings.ContainsAny(path, " \t\n\v\f\r:;$") }

// PrivateDir makes a directory for what a program is given, and for preload. It has the
// name that the program's mappings have.
func PrivateDir(pattern string) (string, error) {
	dir, err := filepath.Abs(os.TempDir())
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	if !preloadable(dir) {
		dir = "/tmp"
	}
	return os.MkdirTemp(dir, pattern)
}

// InPlaceOfUs is the program at path with our streams, and env besides our
// environment. It is not ended when we are to end: RunThrough waits for it.
func InPlaceOfUs(ctx context.Context, s *Streams, path string, argv, env []string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Err
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// RunThrough runs a program whose terminal is ours: an interrupt is for it to
// handle, and signals that tell us to end or to do something are passed on to it. It returns
// its exit code.
func RunThrough(cmd *exec.Cmd) (int, error) {
	RanProgram.Store(true)
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGQUIT)
	defer signal.Stop(interrupts)
	forProgram := make(chan os.Signal, 8)
	for _, number := range []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2} {
		if !signal.Ignored(number) { // as the program will, too, when it is started
			signal.Notify(forProgram, number)
		}
	}
	defer signal.Stop(forProgram)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	var passing sync.WaitGroup
	passing.Go(func() {
		for {
			select {
			case number := <-forProgram:
				_ = cmd.Process.Signal(number) // it may have ended
			case <-ended:
				return
			}
		}
	})
	err := cmd.Wait()
	close(ended)
	passing.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0, err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return exit.ExitCode(), nil
}

// Traced has a program run that is followed from outside. Our terminal is the program's:
// an interrupt is for it to handle, and we wait for its end. Where our own standard
// output is wanted for something else the program gets standard error.
func Traced(ctx context.Context, s *Streams, keepOut bool, run func(context.Context, *ptrace.Options) error) error {
	RanProgram.Store(true)
	opts := &ptrace.Options{Stdin: s.In, Stdout: s.Out, Stderr: s.Err}
	if keepOut {
		opts.Stdout = s.Err
	}
	// The terminal sends these to the program, too. They are caught, as a
	// program started while they are ignored would ignore them.
	fromTerminal := make(chan os.Signal, 1)
	signal.Notify(fromTerminal, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(fromTerminal)
	forUs := make(chan os.Signal, 1)
	signal.Notify(forUs, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(forUs)
	opts.Signals = forUs

	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		// The command's context also ends with the signals above.
		select {
		case <-fromTerminal:
		case <-running.Done():
		case <-time.After(2 * time.Second):
			cancel()
		}
	})()
	return run(running, opts)
}
