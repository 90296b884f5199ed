//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestSearchDepth checks that neither tool restores chains of more tail calls than
// --max-search-depth.
func TestSearchDepth(t *testing.T) {
	t.Parallel()
	mustHave(t, "clang-22")
	mustHave(t, llvmProfgen)
	program := filepath.Join(t.TempDir(), "chain")
	output(t, command(t, "clang-22", append(profiled, "-o", program, filepath.Join("testdata", "chain.c"))...))
	s := sample(t, "31", program)
	const chain = "@ first:2 @ second:2 @ work]"
	for depth, found := range map[string]bool{"1": false, "2": true} {
		limit := "--max-search-depth=" + depth
		got := s.ours(t, "--infer-missing-frames=llvm", limit, "--binary="+program)
		if want := s.theirs(t, limit, "--binary="+program); got != want {
			t.Errorf("%s: %s", limit, firstDifference(got, want))
		}
		if strings.Contains(got, chain) != found {
			t.Errorf("%s: the chain is found: %v", limit, !found)
		}
	}
}
