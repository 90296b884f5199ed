package tailguests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Fetch returns the directory of the guest's sources: in Go's module cache, or dir, into which
// a Debian package is unpacked. root is this repository.
func (g *Guest) Fetch(ctx context.Context, root, dir string) (string, error) {
	if g.Module != "" {
		return Module(ctx, g.Module)
	}
	out, err := exec.CommandContext(ctx, filepath.Join(root, "scripts", "debian-source.sh"), g.Debian, dir).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot download the source of %s: %w: %s", g.Debian, err, out)
	}
	return dir, nil
}

// Module returns the directory of a version of a Go module in the module cache. It is
// downloaded if necessary, with retries if a server does not answer.
func Module(ctx context.Context, version string) (dir string, err error) {
	for range 3 {
		if dir, err = module(ctx, version); err == nil {
			return dir, nil
		}
	}
	return "", err
}

func module(ctx context.Context, version string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", version)
	cmd.Dir = os.TempDir() // outside of any module
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, runErr := cmd.Output()
	var got struct{ Dir, Error string }
	err := json.Unmarshal(text, &got)
	if err == nil && got.Dir != "" {
		return got.Dir, nil
	}
	return "", fmt.Errorf("cannot download %s: %w: %s%s", version, errors.Join(runErr, err), got.Error, stderr.String())
}

// sourceFiles returns the files to compile.
func (g *Guest) sourceFiles(sources string) ([]string, error) {
	var files []string
	for _, glob := range g.files {
		found, err := filepath.Glob(filepath.Join(sources, filepath.FromSlash(glob)))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s has no files %s", sources, glob)
		}
		files = append(files, found...)
	}
	// Lua's compiler has another main function.
	return slices.DeleteFunc(files, func(f string) bool { return filepath.Base(f) == "luac.c" }), nil
}
