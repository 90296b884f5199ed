package verb

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cairnprof/cairn/internal/lazyregexp"
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

var loaded = lazyregexp.New(`(?m)^\s*(?:.* => )?(\S*/.*) \(0x[0-9a-f]+\)$`)

// LibrariesOf lists the libraries that a program is loaded with, as reported by its loader, without running the
// program.
func LibrariesOf(ctx context.Context, interpreter, path string) []string {
	out, err := exec.CommandContext(ctx, interpreter, "--list", path).Output()
	if err != nil {
		return nil
	}
	var list []string
	for _, m := range loaded().FindAllStringSubmatch(string(out), -1) {
		if m[1] != interpreter {
			list = append(list, m[1])
		}
	}
	return list
}

// Preload returns the value of the variable that makes the loader load a library into a program, before the
// user's own. Loaders split the variable at spaces and colons: a library whose path contains them gets a link
// in dir, which PrivateDir made and which must stay while the program runs.
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

// preloadable reports whether a path can be used in the variable, in which $ begins a substitution.
func preloadable(path string) bool { return !strings.ContainsAny(path, " \t\n\v\f\r:;$") }

// PrivateDir makes a directory for files of a program, such as those of Preload. Its name is that in the
// program's mappings.
func PrivateDir(pattern string) (string, error) {
	dir, err := filepath.Abs(os.TempDir())
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	if runtime.GOOS != "windows" && !preloadable(dir) {
		dir = "/tmp"
	}
	return os.MkdirTemp(dir, pattern)
}

// InPlaceOfUs returns the command of the program at path with our streams, and env added to our environment.
// The end of ctx does not kill it: RunThrough waits for it.
func InPlaceOfUs(ctx context.Context, s *Streams, path string, argv, env []string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Err
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// RunThrough runs a program on our terminal: it handles interrupts itself, and other signals to us are
// forwarded to it. It returns its exit code.
func RunThrough(cmd *exec.Cmd) (int, error) {
	RanProgram.Store(true)
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGQUIT)
	defer signal.Stop(interrupts)
	forProgram := make(chan os.Signal, 8)
	for _, number := range forwarded {
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

// Traced runs a program that is traced from outside. It has our terminal: it handles interrupts itself, and we
// wait for its end. If our standard output is used for something else, the program gets standard error.
func Traced(ctx context.Context, s *Streams, keepOut bool, run func(context.Context, *ptrace.Options) error) error {
	RanProgram.Store(true)
	opts := &ptrace.Options{Stdin: s.In, Stdout: s.Out, Stderr: s.Err}
	if keepOut {
		opts.Stdout = s.Err
	}
	// The terminal sends these to the program, too. They are caught rather than ignored, as the program would
	// inherit that.
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

// wait waits a moment before a lock is tried again, or returns why ctx ended.
func wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(20 * time.Millisecond):
		return nil
	}
}
