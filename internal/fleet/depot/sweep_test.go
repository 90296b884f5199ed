package depot

import (
	"fmt"
	"slices"
	"testing"
)

// used returns the names of n objects of a snapshot.
func used(snapshot string, n int) map[string]bool {
	names := make(map[string]bool)
	for i := range n {
		names[fmt.Sprint(snapshot, i)] = true
	}
	return names
}

// TestReadsOnly reads the snapshots of another collector, which removes what they do not need: this one does not keep
// their names, nor remove their objects again. What it has sent itself, it removes.
func TestReadsOnly(t *testing.T) {
	t.Parallel()
	s := sweep{there: make(map[string]bool)}
	s.add("sent")
	for i := range 50 {
		s.keep(used(fmt.Sprint(i, "-"), 10))
	}
	if n := len(s.there); n != 11 {
		t.Errorf("%d objects are remembered, want those of the last snapshot and the one that was sent", n)
	}
	s.replaced([]string{"listed"})
	s.keep(used("own-", 10))
	slices.Sort(s.unused)
	if len(s.unused) != 12 || s.unused[10] != "listed" || s.unused[11] != "sent" {
		t.Errorf("removed are %v", s.unused)
	}
}
