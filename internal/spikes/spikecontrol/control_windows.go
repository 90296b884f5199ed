package spikecontrol

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/windows"

	"github.com/cairnprof/cairn/format/tracelog/wire"
)

const pipes = `\\.\pipe\`

// Find returns the logs in a directory, by name. That a process has a pipe is known when it is asked.
func Find(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		if _, err := pipeOf(e.Name()); err == nil {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list, nil
}

// pipeOf returns the name of the pipe of the process that writes a log, or of a pipe.
func pipeOf(path string) (string, error) {
	if strings.HasPrefix(path, pipes) {
		return path, nil
	}
	name, isLog := strings.CutSuffix(filepath.Base(path), wire.Suffix)
	parts := strings.Split(name, ".") // PROGRAM.ID.PID.N
	if !isLog || len(parts) < 4 {
		return "", fmt.Errorf("%s is neither a log of mode spike nor a pipe, %scairn-PID", path, pipes)
	}
	return pipes + "cairn-" + parts[len(parts)-2], nil
}

// dial opens the pipe of a process, which may not act as the user who asks. A pipe has one client: others wait for it.
func dial(ctx context.Context, path string) (connection, error) {
	const busy = 10 * time.Millisecond
	pipe, err := pipeOf(path)
	if err != nil {
		return nil, err
	}
	name, err := windows.UTF16PtrFromString(pipe)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for {
		h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, nil, windows.OPEN_EXISTING,
			windows.FILE_FLAG_OVERLAPPED|windows.SECURITY_SQOS_PRESENT|windows.SECURITY_IDENTIFICATION, 0)
		switch {
		case err == nil:
			if !isOwn(h) {
				windows.CloseHandle(h)
				return nil, fmt.Errorf("%s: the pipe %s is of another user", path, pipe)
			}
			return os.NewFile(uintptr(h), pipe), nil
		case errors.Is(err, windows.ERROR_FILE_NOT_FOUND):
			return nil, fmt.Errorf("%s: no program listens at %s: %w", path, pipe, fs.ErrNotExist)
		case !errors.Is(err, windows.ERROR_PIPE_BUSY):
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: another client has the pipe %s", path, pipe)
		case <-time.After(busy):
		}
	}
}

// isOwn reports whether a pipe is of the user who asks, or of the administrators, who own what their processes make.
func isOwn(pipe windows.Handle) bool {
	d, err := windows.GetSecurityInfo(pipe, windows.SE_KERNEL_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return false
	}
	owner, _, err := d.Owner()
	if err != nil {
		return false
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	return owner.IsWellKnown(windows.WinBuiltinAdministratorsSid) || err == nil && owner.Equals(user.User.Sid)
}
