package verb

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := strings.Fields("go cc show spikes merge map report record replay stacks watch")
	for name, want := range map[string]string{
		"sho": "show", "shwo": "show", "mereg": "merge", "rep": "report", "recrod": "record", "stack": "stacks", "spike": "spikes",
		"wacth": "watch", "xyz": "", "": "", "merging": "", "o": "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}
