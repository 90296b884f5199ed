//go:build !linux

package tracelogtest

import (
	"errors"
	"os/exec"
)

// KillAt is for Linux.
func KillAt(*exec.Cmd, int) (bool, error) { return false, errors.ErrUnsupported }
