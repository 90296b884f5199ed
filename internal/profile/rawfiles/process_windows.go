package rawfiles

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

// descriptor is an open file of package syscall.
type descriptor = syscall.Handle

// HasEnded reports whether there is no process with an id, or only one that others still have a handle of.
func HasEnded(pid int) bool {
	process, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return errors.Is(err, windows.ERROR_INVALID_PARAMETER)
	}
	defer windows.CloseHandle(process)
	event, err := windows.WaitForSingleObject(process, 0)
	return err == nil && event == windows.WAIT_OBJECT_0
}
