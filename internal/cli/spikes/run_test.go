package spikes

import (
	"slices"
	"testing"
)

func TestHookSummary(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"": nil,
		"7 entries 34 in the program\n8 entries 1 in x\n":                    {"34 entries hooked in the program"},
		"7 entries 0 short=3 unknown=2 failed=1 errno=13 in /usr/lib/a b.so": {"0 entries hooked in /usr/lib/a b.so, 3 have no room for 5 bytes, 2 are of functions with an unknown start, 1 could not be changed (errno 13)"},
		"7 entries 0 no memory near the code in the program\n":               {"0 entries hooked in the program: no memory near the code"},
		"7 refused a reason": {"no return address was replaced: a reason"},
		"7 detours hooked 12\n7 detours refused the plan is truncated\n": {"12 functions hooked", "functions are not hooked: the plan is truncated"},
		"8 refused x\n9 refused y\nnonsense":                             nil,
	} {
		if got := summaryOf(text, 7); !slices.Equal(got, want) {
			t.Errorf("%q:\n%q, want\n%q", text, got, want)
		}
	}
}
