// Package coverprofiletest reads coverage profiles of Go for tests, by other means than package coverprofile.
package coverprofiletest

import (
	"os"
	"strings"
	"testing"
)

// Ran returns whether each unit of the coverage profile at path ran, by its place and its number of statements. Of a unit
// there can be several rows, one for each program.
func Ran(t *testing.T, path string) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	units := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if i := strings.LastIndexByte(line, ' '); i > 0 && !strings.HasPrefix(line, "mode:") {
			units[line[:i]] = units[line[:i]] || line[i+1:] != "0"
		}
	}
	return units
}
