//go:build !linux || !amd64

package attach

import "context"

// Attach is not supported on this system.
func Attach(context.Context, *Options) (*Result, error) { return nil, ErrUnsupported }

// Detach is not supported on this system.
func Detach(context.Context, int) error { return ErrUnsupported }

// Check is not supported on this system.
func Check(int) error { return ErrUnsupported }

// MakeDir is not supported on this system.
func MakeDir(int, string) error { return ErrUnsupported }
