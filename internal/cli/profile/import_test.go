package profile

import (
	"os/exec"
	"strings"
	"testing"
)

func TestProfdataFailure(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ script, want string }{
		{"echo warning: bad file; echo more; exit 1", "tool: exit status 1: warning: bad file"},
		{"echo PLEASE submit a bug report; kill -SEGV $$", "tool crashed (signal: segmentation fault): is the file damaged?"},
	} {
		talk, err := exec.Command("sh", "-c", test.script).CombinedOutput()
		if got := profdataFailure("tool", err, string(talk)); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %s", test.script, got)
		}
	}
}
