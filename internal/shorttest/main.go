package shorttest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Main runs the tests of a package, for its TestMain. Before them it makes a directory, which goes
// away at the end, links cairn as it ships, and gives the paths of both to setUp.
func Main(m *testing.M, setUp func(dir, cairn string) error) {
	code, err := run(m, setUp)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(m *testing.M, setUp func(dir, cairn string) error) (code int, err error) {
	dir, err := os.MkdirTemp("", "cairn-test-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// Programs such as callgrind name files by their real path.
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return 0, err
	}
	cairn, err := Cairn(dir)
	if err != nil {
		return 0, err
	}
	if err := setUp(dir, cairn); err != nil {
		return 0, err
	}
	return m.Run(), nil
}
