//go:build !windows

package spikecontrol

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Find returns the sockets in a directory, by name.
func Find(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		if e.Type()&os.ModeSocket != 0 && strings.Contains(e.Name(), Suffix) {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list, nil
}

// dial connects to a socket, whose path may be longer than addresses are.
func dial(ctx context.Context, socket string) (connection, error) {
	const maxAddress = 107
	address := socket
	if len(address) > maxAddress {
		dir, err := os.Open(filepath.Dir(socket))
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		address = fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(socket))
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", address)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("%s: %w", socket, ErrGone)
	case err != nil:
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, fmt.Errorf("%s: %w", socket, err)
	}
	return conn, nil
}
