package verb

import (
	"os"
	"regexp"
	"runtime/debug"
	"testing"
)

// TestNewest checks that the version is that of the newest release in CHANGELOG.md.
func TestNewest(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)$`).FindSubmatch(text)
	if m == nil || "v"+string(m[1]) != Newest {
		t.Errorf("the newest release in CHANGELOG.md is %s, that of the program %s", m, Newest)
	}
}

// TestBuildVersion checks the version of each kind of build.
func TestBuildVersion(t *testing.T) {
	t.Parallel()
	for main, want := range map[string]string{
		"":        Newest,
		"(devel)": Newest,
		"v0.0.0-20261129081500-4a408d3c5a6b+dirty": Newest,
		"v0.3.1": "v0.3.1",
	} {
		if got := BuildVersion(&debug.BuildInfo{Main: debug.Module{Version: main}}, true).Version; got != want {
			t.Errorf("%q: %s, want %s", main, got, want)
		}
	}
	if got := BuildVersion(nil, false).Version; got != "unknown" {
		t.Errorf("without build information: %s", got)
	}
}
