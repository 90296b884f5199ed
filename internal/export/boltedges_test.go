package export

import (
	"bytes"
	"iter"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/format/fdata"
	"github.com/cairnprof/cairn/prof"
)

// counted is a module of two functions in mode edge. main's block 0 calls step at 4 and may jump from 8 to block 3; the edge to
// there is block 1, without code. Block 2 goes on to 3, which leaves by a jump to step.
func counted() (*prof.Module, Instructions) {
	m := &prof.Module{Raws: 1, Map: prof.Map{Module: "counted", BuildID: "id", Funcs: []prof.Func{
		{
			Name: "main", Mode: prof.ModeEdge, Fragments: []prof.Fragment{{Addr: 0x1000, Size: 0x18, Blocks: []uint32{0xc, 0xc, 0x10}}},
			Implied: []prof.Implied{{Block: 2}, {Block: 3}},
			Flow:    []prof.Flow{{Next: []uint32{1, 2}, Entered: true}, {Next: []uint32{3}}, {Next: []uint32{3}}, {Leaves: true}},
		},
		{Name: "step", Mode: prof.ModeEdge, Fragments: []prof.Fragment{{Addr: 0x2000, Size: 8}}, Flow: []prof.Flow{{Entered: true, Leaves: true}}},
	}}, Counts: []prof.Counts{
		{Runs: 1, Calls: 10, Blocks: []uint64{1, 1, 1}, Times: []uint64{3, 7, 10}},
		{Runs: 1, Calls: 25},
	}}
	insts := map[uint64]Inst{
		0x1004: {Target: 0x2000, Calls: true},
		0x1008: {Target: 0x1010, Mayjump: true},
		0x1014: {Target: 0x2000},
	}
	return m, func(lo, hi uint64) iter.Seq[Inst] {
		return func(yield func(Inst) bool) {
			for at := lo; at < hi; at += 4 {
				in := insts[at]
				if in.Addr, in.Next = at, at+4; !yield(in) {
					return
				}
			}
		}
	}
}

func TestBoltEdges(t *testing.T) {
	t.Parallel()
	m, code := counted()
	symbols := []Symbol{{Name: "main", Addr: 0x1000}, {Name: "step", Addr: 0x2000}}
	var b bytes.Buffer
	if err := fdata.WriteBranches(&b, BoltEdges(m, symbols, code)); err != nil {
		t.Fatal(err)
	}
	// A call, then the jump over block 2 and the ways to it and from it, the tail call, and the calls that are none of these.
	want := `1 main 4 1 step 0 0 10
1 main 8 1 main 10 0 3
1 main 8 1 main c 0 7
1 main c 1 main 10 0 7
1 main 14 1 step 0 0 10
0 [unknown] 0 1 main 0 0 10
0 [unknown] 0 1 step 0 0 5
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
}

// TestOfPlain moves counts to a build without probes: by name, file and control flow, if only one function has them.
func TestOfPlain(t *testing.T) {
	t.Parallel()
	m, _ := counted()
	main := m.Funcs[0]
	plain := &prof.Map{Module: "plain", BuildID: "other", Funcs: slices.Clone(m.Funcs)}
	plain.Funcs[0].Fragments = []prof.Fragment{{Addr: 0x5000, Size: 0x10, Blocks: []uint32{8, 8, 0xc}}}
	plain.Funcs[1].Signature = 7 // its control flow has changed
	of, missing := OfPlain(m, plain)
	if missing != 1 || of.BuildID != "other" || of.Counts[0].Calls != 10 || !slices.Equal(of.Counts[0].Times, []uint64{3, 7, 10}) {
		t.Errorf("%d missing, %+v", missing, of.Counts)
	}
	if c := of.Counts[1]; c.Calls != 0 || c.Runs != 0 {
		t.Errorf("a function with other control flow has %+v", c)
	}
	m.Funcs = append(m.Funcs, main)
	m.Counts = append(m.Counts, prof.Counts{Runs: 1, Calls: 20, Blocks: []uint64{1, 1, 1}, Times: []uint64{6, 14, 20}})
	m.Funcs[0].File, m.Funcs[2].File = "/src/a/x.c", "/src/b/x.c"
	for file, want := range map[string]uint64{"/src/a/x.c": 10, "/src/b/x.c": 20, "x.c": 0} {
		if plain.Funcs[0].File = file; callsOfFirst(m, plain) != want {
			t.Errorf("main of %s has %d calls, want %d", file, callsOfFirst(m, plain), want)
		}
	}
	m.Funcs[0].File, m.Funcs[2].File, plain.Funcs[0].File = "", "", ""
	if of, missing := OfPlain(m, plain); missing != 3 || of.Counts[0].Calls != 0 {
		t.Errorf("of two alike: %d missing, %+v", missing, of.Counts[0])
	}
}

// callsOfFirst returns the calls that the first function of a plain build has of a profile.
func callsOfFirst(m *prof.Module, plain *prof.Map) uint64 {
	of, _ := OfPlain(m, plain)
	return of.Counts[0].Calls
}
