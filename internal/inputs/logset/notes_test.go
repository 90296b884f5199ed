package logset

import "testing"

// TestAlikeNotes checks that notes that differ in more than numbers are all shown, and others once if there are many
// logs.
func TestAlikeNotes(t *testing.T) {
	t.Parallel()
	notes := []string{"the clock was updated every 200 us", "it ended", "the clock was updated every 1000 us", "it did not end", "it ended"}
	few, many := alikeNotes{}, alikeNotes{many: true, shown: map[string]bool{}}
	var left []int
	for i, text := range notes {
		if few.left(text) {
			t.Errorf("of few logs, %q is left out", text)
		}
		if many.left(text) {
			left = append(left, i)
		}
	}
	if len(left) != 2 || left[0] != 2 || left[1] != 4 || many.count != 2 {
		t.Errorf("left out: %v, counted %d", left, many.count)
	}
}
