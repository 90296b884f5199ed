package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestLine writes rows of builds by a profile, of which some split no code.
func TestLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		summary, files string // "" if nothing was built
	}{
		{`{"files": 27, "functions": 2176}`, "27"},
		{`{"use": {"files": 11, "laid": 2}}`, "11"},
		{`{"use": {"files": 0, "laid": 24}}`, "24 modules"},
		{`{"use": {"files": 0, "laid": 0}}`, ""},
	} {
		r := row{Guest: "program", System: "make", Variant: "case"}
		if err := json.Unmarshal([]byte(c.summary), &r.Summary); err != nil {
			t.Fatal(err)
		}
		if got := r.Summary.nothing(); got != (c.files == "") {
			t.Errorf("%s: nothing was built: %t", c.summary, got)
		}
		if c.files == "" {
			continue
		}
		if cells := strings.Split(r.line(), " | "); cells[3] != c.files {
			t.Errorf("%s: files %q, want %q", c.summary, cells[3], c.files)
		}
	}
}
