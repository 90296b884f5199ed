//go:build linux && amd64

package oracle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
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
	if cairn, err = shorttest.Cairn(workDir); err != nil {
		return 0, err
	}
	return m.Run(), nil
}
