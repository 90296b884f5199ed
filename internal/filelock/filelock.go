// Package filelock locks open files against other processes. A lock ends with the process that has it.
package filelock

import "errors"

// ErrLocked is the error for a file that another process has locked.
var ErrLocked = errors.New("another process has locked the file")
