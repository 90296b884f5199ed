package probe

import (
	"fmt"
	"testing"
)

// TestGroups shares 10,000 functions out: each has a group, none has far more than its
// share, and neither the directory of the source nor what the compiler splits off makes
// a difference.
func TestGroups(t *testing.T) {
	t.Parallel()
	for _, groups := range []int{1, 2, 3, 16} {
		sizes := make([]int, groups)
		for i := range 10_000 {
			name := fmt.Sprintf("_ZN3app%04dEv", i)
			g := groupOf(name, "/build/1/app.cc", groups)
			if h := groupOf(name+".part.0", "src/app.cc", groups); h != g {
				t.Fatalf("%s is in group %d of %d, its part in group %d", name, g, groups, h)
			}
			sizes[g]++
		}
		for g, n := range sizes {
			if want := 10_000 / groups; n < want*8/10 || n > want*12/10 {
				t.Errorf("group %d of %d has %d functions", g, groups, n)
			}
		}
	}
}
