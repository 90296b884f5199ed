package verb

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// forwarded are the signals to us that RunThrough sends to the program it runs: Windows sends what the console
// makes of keys to all programs itself.
var forwarded []os.Signal

// isPrivate reports whether a directory can be used for files of this user: that for temporary files is the user's.
func isPrivate(dir fs.FileInfo) bool { return dir.IsDir() }

// mostDenied is how often in a row Windows may deny to make the file that is a lock, as it does while it removes the file
// of another process. In a directory in which this user may write nothing it always does.
const mostDenied = 50

// LockProfile excludes other merges of the profile at path until unlock is called, so that concurrent merges lose
// nothing. A file that is open cannot be replaced here, so that a file beside it is the lock. Windows removes it when
// the process that has it ends, whatever ends it.
func LockProfile(ctx context.Context, path string) (unlock func(), err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	name, err := windows.UTF16PtrFromString(path + ".lock")
	if err != nil {
		return nil, err
	}
	for denied := 0; ; {
		h, err := windows.CreateFile(name, windows.GENERIC_WRITE|windows.DELETE, 0, nil, windows.OPEN_ALWAYS, windows.FILE_FLAG_DELETE_ON_CLOSE, 0)
		if err == nil {
			return func() { windows.CloseHandle(h) }, nil
		}
		if denied++; errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
			denied = 0
		}
		if !isOpen(err) || denied > mostDenied {
			return nil, &os.PathError{Op: "lock", Path: path + ".lock", Err: err}
		}
		if err := wait(ctx); err != nil {
			return nil, err
		}
	}
}

// showsColors makes a console understand escape sequences, and reports whether it does: those before Windows 10 do not.
func showsColors(console *os.File) bool {
	var mode uint32
	h := windows.Handle(console.Fd())
	return windows.GetConsoleMode(h, &mode) == nil && windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// Replace renames a file or a directory, a file also to the name of another. It waits a moment for another program to close that, as those
// that look for viruses do.
func Replace(file, path string) error {
	for end := time.Now().Add(time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := os.Rename(file, path)
		if err == nil || !isOpen(err) {
			return err
		}
		if time.Now().After(end) {
			return errors.New("the file cannot be replaced: another program has it open, or it is read-only")
		}
	}
}

// isOpen reports whether an error is the one for a file that another program has open: the second if it is to be
// replaced, or removed, or is on its way.
func isOpen(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, syscall.ERROR_ACCESS_DENIED)
}
