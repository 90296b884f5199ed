package tailguests

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestGuests checks that the files that guests name are in this repository, and that builds are
// distinguished.
func TestGuests(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	for _, g := range All {
		if (g.Module == "") == (g.Debian == "") {
			t.Errorf("%s: its sources are in one place", g.Name)
		}
		if g.driver != "" {
			if _, err := os.Stat(filepath.Join(testdata(root), g.driver)); err != nil {
				t.Error(err)
			}
		}
		if g.times > 0 != strings.Contains(strings.Join(g.args, " "), argTimes) {
			t.Errorf("%s: %d times, and the arguments %q", g.Name, g.times, g.args)
		}
		if args := strings.Join(g.Args(root, 7), " "); strings.Contains(args, "{") {
			t.Errorf("%s: arguments %s", g.Name, args)
		}
	}
	xml := All[slices.IndexFunc(All, func(g *Guest) bool { return g.Name == "tinyxml2" })]
	if g := xml.With("gcc", "-O3"); g.Compiler != "g++" || g.Level != "-O3" || g.Probed() || !xml.Probed() {
		t.Errorf("%+v", g)
	}
	if got := strings.Join(xml.Args(root, 3), " "); got != "30" {
		t.Errorf("arguments %q", got)
	}
}
