package match

import (
	"slices"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

func testMap() *prof.Map {
	m := new(prof.Map)
	for i, f := range [][2]string{
		{"main", ""},
		{"setup", "a.c"},
		{"setup", "b.c"},
		{"get.llvm.123", "x.c"},
		{"_ZL3putv.__uniq.77.llvm.5", "x.c"},
		{"setup.cold", "a.c"},
		{"_ZN1AC1Ev", ""},
		{"f.llvm.x", ""},
	} {
		m.Funcs = append(m.Funcs, prof.Func{Name: f[0], File: f[1], Fragments: []prof.Fragment{{Addr: uint64(0x100 + i), Size: 1}}})
	}
	return m
}

func TestTrace(t *testing.T) {
	t.Parallel()
	r := New(testMap(), []Alias{{"_ZN1AC2Ev", 0x106}, {"main", 0x100}, {"nowhere", 0x999}})
	for _, test := range []struct {
		names      []Name
		want       []uint32
		unresolved []string
		ambiguous  int
	}{
		{[]Name{{"", "main"}, {"/src/b.c", "setup"}, {"a.c", "setup"}, {"", "main"}}, []uint32{0, 2, 1}, nil, 0},
		{[]Name{{"", "setup"}, {"", "main"}, {"", "setup"}, {"", "setup"}}, []uint32{1, 0, 2}, nil, 3},
		{[]Name{{"c.c", "setup"}}, []uint32{1}, nil, 1},
		{[]Name{{"x.c", "get"}, {"", "get.llvm.99"}, {"", "_ZL3putv"}}, []uint32{3, 4}, nil, 0},
		{[]Name{{"", "main.llvm.4"}, {"", "_ZL3putv.__uniq.88"}}, []uint32{0, 4}, nil, 0},
		{[]Name{{"", "_ZN1AC2Ev"}}, []uint32{6}, nil, 0},
		{[]Name{{"", "gone"}, {"", "f"}, {"", "nowhere"}, {"", "setup.cold"}}, []uint32{5}, []string{"gone", "f", "nowhere"}, 0},
	} {
		got := r.Trace(test.names)
		if !slices.Equal(got.Funcs, test.want) || !slices.Equal(got.Unresolved, test.unresolved) || got.Ambiguous != test.ambiguous {
			t.Errorf("%v: %+v", test.names, got)
		}
	}
}
