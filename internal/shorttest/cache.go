package shorttest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Cache returns the directory of cairn's cache for the programs that a test starts: the one that make test has for
// all packages, so that each runtime is compiled once, or own if the test runs by itself. What depends on a cache
// that is empty must not use it.
func Cache(own string) string { return cmp.Or(shared(), own) }

func shared() string { return os.Getenv("CAIRN_TEST_CACHE") }

// Source returns the directory of cairn's module, which the module of a test may be or use.
func Source(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/cairnprof/cairn").Output()
	if err != nil {
		return "", fmt.Errorf("finding the module of cairn: %w", err)
	}
	return string(bytes.TrimSpace(out)), nil
}

// Cairn returns the path of the command, named cairn, for the programs and scripts that a test starts. It is
// linked once for all packages under make test, and into own, a directory, if the test runs by itself.
func Cairn(own string) (string, error) {
	dir := own
	if shared() != "" {
		dir = filepath.Join(shared(), "test-bin")
	}
	program := filepath.Join(dir, "cairn")
	if _, err := os.Stat(program); err == nil && dir != own {
		return program, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// Of two packages that link it at once the second leaves the first one's.
	tmp, err := os.MkdirTemp(dir, "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	linked := filepath.Join(tmp, "cairn")
	source, err := Source(context.Background())
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-C", source, "-buildvcs=false", "-o", linked, "./cmd/cairn")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building cairn: %w\n%s", err, out)
	}
	if err := os.Link(linked, program); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return program, nil
}
