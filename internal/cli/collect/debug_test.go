package collect

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/fleet/client"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestDebugBuilds sends the programs of three builds where two are kept, and checks that the
// first is removed unless it is sent again.
func TestDebugBuilds(t *testing.T) {
	t.Parallel()
	var programs []string
	for i := range 3 {
		programs = append(programs, program(t, i))
	}
	check := func(t *testing.T, url string) {
		for _, i := range []int{0, 1, 0, 2} { // build 1 came first
			if err := newClient().SendDebug(t.Context(), url, programs[i]); err != nil {
				t.Fatal(err)
			}
		}
		for i, kept := range []bool{true, false, true} {
			_, err := newClient().Get(t.Context(), fmt.Sprintf("%s/buildid/%s/executable", url, buildID(i)), 1<<30)
			if missing := (*client.Error)(nil); kept != (err == nil) || err != nil && !errors.As(err, &missing) {
				t.Errorf("build %d: kept %v, error %v", i, kept, err)
			}
		}
	}
	t.Run("one machine", func(t *testing.T) {
		t.Parallel()
		check(t, start(t, t.TempDir(), "--debug-builds", "2").url)
	})
	t.Run("object store", func(t *testing.T) {
		shorttest.Proof(t)
		t.Parallel()
		check(t, startTrio(t, "--debug-builds", "2").url(0))
	})
}

func buildID(i int) string { return fmt.Sprintf("abcdef012345678%d", i) }

// program returns a program with a build id.
func program(t *testing.T, i int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "app")
	c := exec.CommandContext(t.Context(), "gcc", "-g", "-Wl,--build-id=0x"+buildID(i), "-x", "c", "-o", path, "-")
	c.Stdin = strings.NewReader("int main(void) { return 0; }")
	if out, err := c.CombinedOutput(); errors.Is(err, exec.ErrNotFound) {
		t.Skip(err)
	} else if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}
