package output

import "testing"

var formats = Formats[int]{
	{Name: "json", Suffixes: []string{".json"}, Rules: 1},
	{Name: "scope", Help: "for a page", Suffixes: []string{".scope.json", ".scope"}, Rules: 2},
	{Name: "text", Help: "for people", Rules: 3},
}

func TestSelect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path, fallback, want, err string
	}{
		{"text", "a.json", "", "text", ""},
		{"", "a.JSON.gz", "", "json", ""},
		{"", "a.scope.json.zst", "", "scope", ""},
		{"", "-", "text", "text", ""},
		{"", "a.out", "", "", "no format given; use --format with one of json, scope, text, or -o FILE with a known suffix"},
		{"xml", "a.json", "text", "", "--format xml: must be one of json, scope, text"},
	} {
		x, err := formats.Select(c.name, c.path, c.fallback)
		switch {
		case err != nil && err.Error() != c.err || err == nil && c.err != "":
			t.Errorf("%+v: %v", c, err)
		case err == nil && x.Name != c.want:
			t.Errorf("%+v: %s", c, x.Name)
		}
	}
	if _, err := formats[2:].Select("", "a.json", ""); err == nil || err.Error() != "no format given; use --format with one of text" {
		t.Error(err)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	const want = "  json    (.json)\n  scope  for a page (.scope.json, .scope)\n  text   for people\n"
	if got := formats.Help(); got != want {
		t.Errorf("%q", got)
	}
}
