package stackdiff

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// A call is a stack of names and the cost of one call of it.
type call struct {
	stack       string // "main/f/g"
	total, self uint64
}

// build returns a side with the calls. Functions are numbered in the order of their first
// calls, starting from first, so that the two sides have different numbers.
func build(calls []call, first calllog.FuncID, runs int) Side {
	t := calltrie.New()
	ids := map[string]calllog.FuncID{}
	names := map[calllog.FuncID]string{}
	for _, c := range calls {
		id := calltrie.Root
		for name := range strings.SplitSeq(c.stack, "/") {
			if ids[name] == 0 {
				ids[name] = first + calllog.FuncID(len(ids))
				names[ids[name]] = name
			}
			id = t.Child(id, ids[name])
		}
		t.Node(id).Add(c.total, c.self)
	}
	return Side{t, func(f calllog.FuncID) string { return names[f] }, runs}
}

func (r *Result) stackText(i int) string {
	var parts []string
	for _, f := range r.Stack(i) {
		parts = append(parts, r.Names[f])
	}
	return strings.Join(parts, "/")
}

func TestTries(t *testing.T) {
	t.Parallel()
	a := build([]call{
		{"main/parse/read", 10, 10},
		{"main/parse/read", 20, 20},
		{"main/parse", 50, 20},
		{"main/old/leaf", 5, 5},
		{"main/old", 8, 3},
		{"main", 100, 42},
	}, 1, 1)
	b := build([]call{
		{"main/eval/eval", 7, 7},
		{"main/eval", 9, 2},
		{"main/parse/read", 60, 60},
		{"main/parse/read/fill", 1, 1},
		{"main/parse", 80, 20},
		{"main", 130, 41},
	}, 7, 1)
	r := Tries(a, b)
	var got []string
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.Kind != kindOf(n.StatsA != nil, n.StatsB != nil) {
			t.Errorf("%s: kind %v", r.stackText(i), n.Kind)
		}
		got = append(got, fmt.Sprintf("%s %v %d: %v -> %v", r.stackText(i), n.Kind, n.Depth, n.A, n.B))
	}
	want := []string{
		"main both 0: {1 100 42} -> {1 130 41}",
		"main/eval new 1: {0 0 0} -> {1 9 2}",
		"main/eval/eval new 2: {0 0 0} -> {1 7 7}",
		"main/old gone 1: {1 8 3} -> {0 0 0}",
		"main/old/leaf gone 2: {1 5 5} -> {0 0 0}",
		"main/parse both 1: {1 50 20} -> {1 80 20}",
		"main/parse/read both 2: {2 30 30} -> {1 60 60}",
		"main/parse/read/fill new 3: {0 0 0} -> {1 1 1}",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r.A != (Values{6, 100, 100}) || r.B != (Values{6, 130, 131}) {
		t.Errorf("sums %v and %v", r.A, r.B)
	}
	lists := map[string]string{"self": "", "total": "", "calls": ""}
	for name, k := range map[string]Key{"self": Self, "total": Total, "calls": Calls} {
		for _, i := range r.Moved(k) {
			lists[name] += r.stackText(i) + " "
		}
	}
	if want := map[string]string{
		"self": "main/parse/read main ", "total": "main main/parse main/parse/read ", "calls": "main/parse/read ",
	}; !maps.Equal(lists, want) {
		t.Errorf("moved %v, want %v", lists, want)
	}
	if got, want := r.Branches(New, Self), []Branch{{1, 2, Values{2, 9, 9}}, {7, 1, Values{1, 1, 1}}}; !slices.Equal(got, want) {
		t.Errorf("new %v, want %v", got, want)
	}
	if got, want := r.Branches(Gone, Self), []Branch{{3, 2, Values{2, 8, 8}}}; !slices.Equal(got, want) {
		t.Errorf("gone %v, want %v", got, want)
	}
	changed := r.ByChange(Total)
	if f := changed[0]; r.Names[f.Func] != "main" || f.Change(Total) != 30 {
		t.Errorf("first is %+v", f)
	}
	for _, f := range changed { // recursion counts once
		if r.Names[f.Func] == "eval" && (f.B != Values{2, 9, 9} || f.Kind != New) {
			t.Errorf("eval: %+v", f)
		}
	}
}

// stacks draws calls of a few functions.
func stacks(t *rapid.T, label string) []call {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) call {
		self := rapid.Uint64Range(0, 1000).Draw(t, "self")
		return call{
			rapid.StringMatching(`[a-d](/[a-d]){0,4}`).Draw(t, "stack"),
			self + rapid.Uint64Range(0, 1000).Draw(t, "below"), self,
		}
	}), 0, 30).Draw(t, label)
}

// TestAgainstMaps checks for arbitrary calls that each stack has the values that a map by name
// has, that exchanging the sides keeps the sizes, and that nothing differs from itself.
func TestAgainstMaps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		callsA, callsB := stacks(t, "a"), stacks(t, "b")
		runs := rapid.IntRange(1, 3).Draw(t, "runs")
		sum := func(calls []call, runs float64) map[string]Values {
			m := map[string]Values{}
			for _, c := range calls {
				for i, r := range c.stack + "/" { // callers are there too
					if _, ok := m[c.stack[:i]]; r == '/' && !ok {
						m[c.stack[:i]] = Values{}
					}
				}
				v := m[c.stack]
				m[c.stack] = Values{v.Calls + 1, v.Total + float64(c.total), v.Self + float64(c.self)}
			}
			for k, v := range m {
				m[k] = Values{v.Calls / runs, v.Total / runs, v.Self / runs}
			}
			return m
		}
		a, b := build(callsA, 1, runs), build(callsB, 100, 0)
		wantA, wantB := sum(callsA, float64(runs)), sum(callsB, 1)
		r := Tries(a, b)
		seen := map[string]bool{}
		for i := range r.Nodes {
			n := &r.Nodes[i]
			text := r.stackText(i)
			seen[text] = true
			va, inA := wantA[text]
			vb, inB := wantB[text]
			if n.A != va || n.B != vb || n.Kind != kindOf(inA, inB) || n.Parent >= i || strings.Count(text, "/") != n.Depth {
				t.Fatalf("%s: %+v, want %v and %v", text, n, va, vb)
			}
		}
		for _, want := range []map[string]Values{wantA, wantB} {
			for text := range want {
				if !seen[text] {
					t.Fatalf("%s is missing", text)
				}
			}
		}
		branches := 0
		for _, kind := range []Kind{New, Gone} {
			for _, br := range r.Branches(kind, Total) {
				branches += br.Stacks
				if p := r.Nodes[br.Node].Parent; p >= 0 && r.Nodes[p].Kind != Both {
					t.Fatalf("branch %s is not the top", r.stackText(br.Node))
				}
			}
		}
		both := 0
		for i := range r.Nodes {
			if r.Nodes[i].Kind == Both {
				both++
			}
		}
		if branches+both != len(r.Nodes) {
			t.Fatalf("%d stacks in branches, %d in both, %d in all", branches, both, len(r.Nodes))
		}
		back := Tries(b, a)
		for i, f := range back.ByChange(Self) {
			if g := r.ByChange(Self)[i]; math.Abs(g.Change(Self)) != math.Abs(f.Change(Self)) {
				t.Fatalf("there %v, back %v", g, f)
			}
		}
		if same := Tries(a, a); len(same.Moved(Self))+len(same.Moved(Calls))+len(same.Branches(New, Self))+len(same.ByChange(Total)) > 0 {
			t.Fatal("a trie differs from itself")
		}
	})
}
