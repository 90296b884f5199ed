//go:build !linux

package depot

import "errors"

// syncAll is for Linux.
func syncAll(string) error { return errors.ErrUnsupported }
