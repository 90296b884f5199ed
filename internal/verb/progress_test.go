package verb

import (
	"testing"
	"time"
)

// TestBar checks the line of work whose end is known.
func TestBar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		done, total int64
		since       time.Duration
		want        string
	}{
		{0, 0, 0, "[....................] 0 of 0 files"},
		{0, 10, 5 * time.Second, "[....................] 0 of 10 files"},
		{3, 10, time.Second / 2, "[######..............] 3 of 10 files"},
		{3, 10, 3 * time.Second, "[######..............] 3 of 10 files, about 7 s left"},
		{9, 10, 3 * time.Second, "[##################..] 9 of 10 files, less than 1 s left"},
		{10, 10, 3 * time.Second, "[####################] 10 of 10 files"},
		{11, 10, 3 * time.Second, "[####################] 11 of 10 files"}, // what was read grew
		{9, 1000, time.Minute, "[....................] 9 of 1000 files"},
		{10, 1000, 10 * time.Second, "[....................] 10 of 1000 files, about 16 min left"},
		{1, 100, 10 * time.Minute, "[....................] 1 of 100 files, about 16 h left"},
	} {
		if got := bar(c.done, c.total, c.since, "files"); got != c.want {
			t.Errorf("%d of %d after %v: %q, want %q", c.done, c.total, c.since, got, c.want)
		}
	}
}
