package view

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/internal/profile/packages"
)

// TestHostileNames checks that names from clients are text everywhere on the pages.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	const hostile = `"><script>alert(1)</script>&'`
	var index, build bytes.Buffer
	builds := []tally.Build{{
		Program: hostile, Build: hostile, Mapped: true, Runs: 3, Logs: 1, First: 86_400e9, Last: 20_000 * 86_400e9,
		Days: []tally.Day{{Day: 20_000, Files: 2}},
	}, {Build: hostile, Waiting: 1}}
	if err := WriteIndex(&index, builds, []string{hostile}, hostile); err != nil {
		t.Fatal(err)
	}
	f := Function{Name: hostile, File: hostile}
	r := Report{
		Program: hostile, Build: hostile, Functions: 1, Runs: 1,
		Never: []Function{f}, Startup: []Function{f}, Bands: []Band{{Label: hostile}}, Packages: []packages.Package{{Name: hostile}, {Name: hostile}}, Scenarios: []Scenario{{Name: hostile}},
		Spikes: []Spikes{{Function: hostile, Log: hostile}},
		Change: &Change{Before: hostile, Added: []Function{f}, Reached: []Function{f}, Removed: []string{hostile}},
	}
	if err := r.Write(&build); err != nil {
		t.Fatal(err)
	}
	for name, page := range map[string]string{"index": index.String(), "build": build.String()} {
		if strings.Contains(page, "<script") || strings.Contains(page, `"><`+"script") {
			t.Errorf("%s: a name is markup:\n%s", name, page)
		}
		if !strings.Contains(page, "alert(1)") {
			t.Errorf("%s: the name is not there:\n%s", name, page)
		}
	}
	for _, want := range []string{"1970-01-02", "2024-10-04"} {
		if !strings.Contains(index.String(), want) {
			t.Errorf("no date %s in\n%s", want, index.String())
		}
	}
}
