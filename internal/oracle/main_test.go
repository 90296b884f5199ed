//go:build linux && amd64

package oracle

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What TestMain makes for all tests.
var (
	workDir string // goes away at the end
	cairn   string // the command under test
)

func TestMain(m *testing.M) {
	if request := os.Getenv(traceRequestEnv); request != "" {
		if err := serveTrace(request); err != nil {
			fmt.Fprintln(os.Stderr, "tracing:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code, err := setUpAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func setUpAndRun(m *testing.M) (code int, err error) {
	if workDir, err = os.MkdirTemp("", "cairn-oracle-"); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(workDir)) }()
	// callgrind names objects by their real path.
	if workDir, err = filepath.EvalSymlinks(workDir); err != nil {
		return 0, err
	}
	cairn = filepath.Join(workDir, "cairn")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", cairn, "../../cmd/cairn").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("building cairn: %w\n%s", err, out)
	}
	return m.Run(), nil
}
