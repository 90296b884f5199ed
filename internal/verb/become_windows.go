package verb

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"
)

// exeSuffix ends the names of programs.
const exeSuffix = ".exe"

// MaxCommandLine is how many bytes a command line may have: Windows takes 32,767 units of UTF-16.
const MaxCommandLine = 32_000

var standIns = linkOrCopy{link: os.Link}

// StandIn makes a program at path, to which it adds .exe, that is self under another name.
func StandIn(self, path string) error { return standIns.standIn(self, Executable(path)) }

// Become runs a program in place of this one, as no process of Windows can become another: it has our files and our console,
// whose Ctrl-C is for it, and does not outlive us. The error is its exit code, nil for 0; that of a program that cannot be started begins with
// who.
func Become(who, path string, argv, env []string) error {
	RanProgram.Store(true)
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: running %s: %w", who, path, err)
	}
	if job, err := endWithUs(cmd.Process.Pid); err == nil { // older systems do not let jobs nest
		defer windows.CloseHandle(job)
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return ExitError(exit.ExitCode())
	}
	return err
}

// endWithUs makes Windows end a process when this one ends, whatever ends it. What that process starts may go on, as compilers'
// servers do.
func endWithUs(pid int) (job windows.Handle, err error) {
	if job, err = windows.CreateJobObject(nil, nil); err != nil {
		return 0, err
	}
	const breakaway = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: breakaway}}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		var process windows.Handle
		if process, err = windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid)); err == nil {
			err = windows.AssignProcessToJobObject(job, process)
			windows.CloseHandle(process)
		}
	}
	if err != nil {
		windows.CloseHandle(job)
	}
	return job, err
}

// RemoveAll removes a directory with all that it has. Where a system has no way to remove what others have open, as Wine, the
// function of package os removes nothing.
func RemoveAll(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, RemoveAll(filepath.Join(path, e.Name())))
		} else {
			err = errors.Join(err, os.Remove(filepath.Join(path, e.Name())))
		}
	}
	return errors.Join(err, os.Remove(path))
}
