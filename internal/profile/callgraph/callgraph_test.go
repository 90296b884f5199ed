package callgraph

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// program returns a map with main at 0x100 with a block at +16, two static functions "static"
// in a.c and b.c, a helper in b.c whose cold piece makes calls, and a function that never ran.
func program() *prof.Profile {
	fn := func(name, file string, addr uint64, calls ...prof.Call) prof.Func {
		return prof.Func{Name: name, File: file, Mode: prof.ModeFull, Calls: calls, Fragments: []prof.Fragment{{Addr: addr, Size: 32, Blocks: []uint32{16}}}}
	}
	helper := fn("helper", "b.c", 0x300, prof.Call{Block: 2, Callee: "static"}, prof.Call{Block: 0, Callee: "never"})
	helper.Fragments = append(helper.Fragments, prof.Fragment{Addr: 0x80, Size: 8, Blocks: []uint32{0}})
	return &prof.Profile{Modules: []prof.Module{{
		Map: prof.Map{Module: "app", Funcs: []prof.Func{
			fn("main", "a.c", 0x100, prof.Call{Block: 0, Callee: "static"}, prof.Call{Block: 1, Callee: "helper"}, prof.Call{Block: 1, Callee: "puts"}),
			fn("static", "a.c", 0x200),
			helper,
			fn("static", "b.c", 0x400),
			fn("never", "b.c", 0x500, prof.Call{Block: 0, Callee: "main"}),
		}},
		Raws: 2,
		Counts: []prof.Counts{
			{Runs: 2, Blocks: []uint64{2}, Callers: []prof.Site{{Addr: 0, Runs: 2}}},
			{Runs: 2, Blocks: []uint64{0}, Callers: []prof.Site{{Addr: 0x110, Runs: 2}}}, // after the last call of block 0
			{Runs: 2, Blocks: []uint64{0, 1}, Callers: []prof.Site{{Addr: 0x118, Runs: 1}, {Addr: 0x120, Runs: 1}}},
			{Runs: 1, Blocks: []uint64{0}, Callers: []prof.Site{{Addr: 0x9999, Runs: 1}}}, // between functions
			{},
		},
	}}}
}

// text writes a graph one edge a line.
func text(g *Graph) string {
	var b strings.Builder
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "%s -> %s#%d %v %v %d\n", g.Nodes[e.From].Name, g.Nodes[e.To].Name, g.Nodes[e.To].Func, e.Kind, e.Blocks, e.Runs)
	}
	return b.String()
}

func TestBuild(t *testing.T) {
	t.Parallel()
	tests := []struct {
		external bool
		want     string
	}{
		{false, `main -> static#1 observed [0] 2
main -> helper#2 observed [1] 2
helper -> static#3 implied [2] 0
`},
		{true, `main -> static#1 observed [0] 2
main -> helper#2 observed [1] 2
main -> puts#-1 implied [1] 0
helper -> static#3 implied [2] 0
[outside] -> main#0 observed [] 2
[outside] -> static#3 observed [] 1
`},
	}
	for _, test := range tests {
		if got := text(Build(program(), test.external)); got != test.want {
			t.Errorf("external %v:\n%swant\n%s", test.external, got, test.want)
		}
	}
}

func TestColdCallerImpliesNothing(t *testing.T) {
	t.Parallel()
	p := program()
	p.Modules[0].Counts[2].Blocks[1] = 0 // the cold piece of helper
	if got := text(Build(p, false)); strings.Contains(got, "implied") {
		t.Errorf("got\n%s", got)
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	if g := Build(&prof.Profile{}, true); len(g.Nodes)+len(g.Edges) != 0 {
		t.Errorf("got %+v", g)
	}
}

// TestTailCalls checks that the call before a return address need not be a call of the function
// that recorded it: the callee may have jumped to it.
func TestTailCalls(t *testing.T) {
	t.Parallel()
	p := program()
	m := &p.Modules[0]
	main, helper := &m.Funcs[0], &m.Funcs[2]
	main.Calls = []prof.Call{{Block: 0, Callee: "helper"}}
	helper.Calls = []prof.Call{{Block: 0, Callee: "late"}}
	late := prof.Func{Name: "late", File: "b.c", Mode: prof.ModeFull, Fragments: []prof.Fragment{{Addr: 0x600, Size: 16}}}
	m.Funcs = append(m.Funcs, late)
	m.Counts[1].Callers = nil
	m.Counts[2].Callers = []prof.Site{{Addr: 0x108, Runs: 1}}
	m.Counts = append(m.Counts, prof.Counts{Runs: 1, Callers: []prof.Site{{Addr: 0x108, Runs: 1}}})
	want := "main -> helper#2 observed [0] 1\nhelper -> late#5 implied [0] 0\n"
	if got := text(Build(p, false)); got != want {
		t.Errorf("jumped:\n%swant\n%s", got, want)
	}
	// Block 1 of main calls nothing directly: a pointer to late, or to helper.
	m.Counts[5].Callers[0].Addr = 0x118
	want = "main -> helper#2 observed [0] 1\nmain -> late#5 possible [1] 1\nhelper -> late#5 implied [0] 0\n"
	if got := text(Build(p, false)); got != want {
		t.Errorf("by a pointer:\n%swant\n%s", got, want)
	}
	// Nothing calls late by its name: a pointer to it, or to what jumped to it by another.
	m.Funcs[2].Calls = nil
	want = "main -> helper#2 observed [0] 1\nmain -> late#5 possible [1] 1\n"
	if got := text(Build(p, false)); got != want {
		t.Errorf("by pointers:\n%swant\n%s", got, want)
	}
}
