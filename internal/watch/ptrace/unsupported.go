//go:build !linux || !amd64

package ptrace

import (
	"context"
)

// Record is not supported on this system.
func Record(context.Context, []string, string, *Options) (*Recording, error) {
	return nil, ErrUnsupported
}

// TouchedPages is not supported on this system.
func TouchedPages(context.Context, []string, *Options) (*Touched, error) {
	return nil, ErrUnsupported
}

// WarmFaults is not supported on this system.
func WarmFaults(context.Context, []string, *Options) (*Faults, error) {
	return nil, ErrUnsupported
}

// ColdFaults is not supported on this system.
func ColdFaults(context.Context, []string, *Options) (*Faults, error) {
	return nil, ErrUnsupported
}

// Branches is not supported on this system.
func Branches(context.Context, []string, BranchWatcher, *Options) (*BranchRun, error) {
	return nil, ErrUnsupported
}
