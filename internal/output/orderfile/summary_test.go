package orderfile

import "testing"

// TestHeldOutPages checks that runs without a name are left out one by one, and that the table
// has one row for them.
func TestHeldOutPages(t *testing.T) {
	t.Parallel()
	got := heldOutPages([]orderHeldOutJSON{{Pages: 10}, {Scenario: "open", Pages: 7}, {Pages: 20}, {Pages: 33}})
	if len(got) != 2 || got[""] != 21 || got["open"] != 7 {
		t.Errorf("%v", got)
	}
}
