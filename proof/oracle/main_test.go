//go:build linux && amd64

package oracle

import (
	"fmt"
	"os"
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
	shorttest.Main(m, func(dir, program string) error {
		workDir, cairn = dir, program
		return nil
	})
}
