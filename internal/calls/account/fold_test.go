package account

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// randomStacks makes a log of n random stacks, with calls of a few stacks that take more time
// in between.
func randomStacks(stacks, deep, threads int) *calllog.Memory {
	rnd := rand.New(rand.NewPCG(3, 4))
	m := &calllog.Memory{About: calllog.Info{Clock: calllog.Clock{Hz: 1e9}}}
	for thread := range threads {
		var parts []calllog.Part
		now := uint64(0)
		for range stacks / threads {
			var list []calllog.Event
			own := make([]calllog.FuncID, deep)
			for i := range own {
				own[i] = calllog.FuncID(1 + rnd.IntN(1000))
			}
			wait := uint64(rnd.IntN(20))
			if rnd.IntN(10) == 0 {
				for i := range own {
					own[i] = calllog.FuncID(2000 + i)
				}
				own[deep-1] += calllog.FuncID(rnd.IntN(10))
				wait = 1000
			}
			for _, fn := range own {
				now += wait
				list = append(list, calllog.Event{Time: now, Func: fn, Kind: calllog.Enter})
			}
			for i := len(own) - 1; i >= 0; i-- {
				now += wait
				list = append(list, calllog.Event{Time: now, Func: own[i], Kind: calllog.Exit})
			}
			if n := len(parts); n > 0 && len(parts[n-1].Events) < 4096 {
				parts[n-1].Events = append(parts[n-1].Events, list...)
			} else {
				parts = append(parts, calllog.Part{Events: list})
			}
		}
		m.List = append(m.List, calllog.Thread{TID: uint32(thread + 1)})
		m.Content = append(m.Content, parts)
	}
	return m
}

// TestFoldedStacks checks that stacks stay within the memory limit, that the error of each is
// within the reported bound, and that no time is lost.
func TestFoldedStacks(t *testing.T) {
	t.Parallel()
	for _, threads := range []int{1, 3} {
		for _, workers := range []int{1, 4} {
			t.Run(fmt.Sprintf("%d threads %d workers", threads, workers), func(t *testing.T) {
				t.Parallel()
				log := randomStacks(20_000, 12, threads)
				exact, err := Run(t.Context(), log, Options{})
				if err != nil {
					t.Fatal(err)
				}
				const nodes = 20_000
				got, err := Run(t.Context(), log, Options{Workers: workers, Slowest: 5, Memory: nodes * calltrie.NodeBytes, chunk: 100_000})
				if err != nil {
					t.Fatal(err)
				}
				all, small, st := exact.Merged(), got.Merged(), got.Total()
				if all.Len() < 5*nodes || st.Folded == 0 {
					t.Fatalf("%d stacks, %d folded: that proves nothing", all.Len(), st.Folded)
				}
				for i := range got.Threads {
					if n := got.Threads[i].Trie.Len(); n > nodes/threads+nodes/8 {
						t.Errorf("thread %d has %d nodes of %d", i, n, nodes/threads)
					}
				}
				var calls, self, wantSelf, wantCalls uint64
				found := map[calltrie.NodeID]bool{}
				where := []calltrie.NodeID{calltrie.Root}
				for id, n := range small.Nodes() {
					at, ok := all.Find(where[n.Parent], n.Func)
					if !ok {
						t.Fatalf("stack %v was never called", small.Stack(id))
					}
					where = append(where, at)
					found[at] = true
					want := all.Node(at)
					if n.Calls > want.Calls || n.Calls+st.MostFoldedCalls < want.Calls || n.Total > want.Total || n.Total+st.MostFolded < want.Total {
						t.Fatalf("%v has %d calls of %d and %d of %d ns, and lacks %d and %d at most",
							small.Stack(id), n.Calls, want.Calls, n.Total, want.Total, st.MostFoldedCalls, st.MostFolded)
					}
					calls, self = calls+n.Calls, self+n.Self
				}
				for id, n := range all.Nodes() {
					wantCalls, wantSelf = wantCalls+n.Calls, wantSelf+n.Self
					if !found[id] && (n.Total > st.MostFolded || n.Calls > st.MostFoldedCalls) {
						t.Fatalf("%v took %d ns in %d calls and is not there", all.Stack(id), n.Total, n.Calls)
					}
				}
				// What is folded into the root is in no stack.
				if calls+st.Folded != wantCalls || self > wantSelf || self+st.FoldedSelf < wantSelf {
					t.Errorf("%d+%d calls of %d, %d of %d ns, %+v", calls, st.Folded, wantCalls, self, wantSelf, st)
				}
			})
		}
	}
}
