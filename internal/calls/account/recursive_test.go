package account

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/calllog"
)

// TestRecursive checks that exactly the calls that take part in recursion are selected.
func TestRecursive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		log := memory(drawParts(rt))
		opt := Options{UpperBound: rapid.Bool().Draw(rt, "upper"), DropOpen: rapid.Bool().Draw(rt, "drop")}
		all := make(map[uint64]Call)
		var ids []uint64
		for c, err := range Calls(t.Context(), log, 0, Options{UpperBound: opt.UpperBound}) {
			if err != nil {
				rt.Fatal(err)
			}
			all[c.ID] = *c
			ids = append(ids, c.ID)
		}
		recursive := make(map[uint64]bool)
		for _, id := range ids {
			c := all[id]
			if opt.DropOpen && c.End == Open {
				continue
			}
			for up := c.Parent; up != 0; up = all[up].Parent {
				if all[up].Func == c.Func {
					recursive[id], recursive[up] = true, true
				}
			}
		}
		want := make(map[calllog.FuncID][2]uint64)
		for id := range recursive {
			c := all[id]
			if opt.DropOpen && c.End == Open {
				continue
			}
			n := want[c.Func]
			want[c.Func] = [2]uint64{n[0] + 1, n[1] + c.Duration}
		}
		res, err := RunRecursive(t.Context(), log, opt)
		if err != nil {
			rt.Fatal(err)
		}
		got := make(map[calllog.FuncID][2]uint64)
		for _, f := range Functions(res.Merged()) {
			got[f.Func] = [2]uint64{f.Calls, f.TotalRaw}
		}
		keys := func(m map[calllog.FuncID][2]uint64) (list []string) {
			for fn, n := range m {
				list = append(list, fmt.Sprint(fn, n))
			}
			slices.Sort(list)
			return list
		}
		if g, w := keys(got), keys(want); !slices.Equal(g, w) {
			rt.Fatalf("got %v, want %v", g, w)
		}
	})
}
