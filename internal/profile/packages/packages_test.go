package packages

import (
	"slices"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, file, want string }{
		{"main.main", "/x/main.go", "main"},
		{"example.com/a/b.(*T).M", "/x/b.go", "example.com/a/b"},
		{"gopkg.in/yaml%2ev3.Unmarshal", "/y/y.go", "gopkg.in/yaml.v3"},
		{"gopkg.in/yaml%2ev3.(*parser).parse", "/y/y.go", "gopkg.in/yaml.v3"},
		{"example.com/a.Map[example.com/b.T]", "/x/a.go", "example.com/a"},
		{"main.(*List[go.shape.struct { example.com/b.n int }]).Push", "/x/main.go", "main"},
		{"example.com/a%zz.F", "/y/y.go", "example.com/a%zz"},
		{"odd", "/y/y.go", "/y"},
		{"_ZN3foo3barEv", "src/foo.cc", "src"},
		{"f.isra.0", "foo.c", "."},
	} {
		if got := Of(&prof.Func{Name: test.name, File: test.file}); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestSum(t *testing.T) {
	t.Parallel()
	fn := func(name string, addr uint64, size uint32, record uint64) prof.Func {
		return prof.Func{Name: name, File: "a.go", Record: record, Fragments: []prof.Fragment{{Addr: addr, Size: size}}}
	}
	m := &prof.Module{Map: prof.Map{RawAddr: 0x9000, Funcs: []prof.Func{
		fn("a.F", 0x1000, 100, 0), fn("a.G", 0x1100, 50, 1), fn("b.F", 0x1200, 30, 2), fn("a.Inlined", 0x9003, 1, 3), fn("c.F", 0x1300, 30, 4),
	}}, Counts: make([]prof.Counts, 5)}
	m.Absent = []prof.Absent{
		{Name: "a.Dropped", File: "a.go", Why: prof.Dropped},
		{Name: "a.F", File: "a.go", Why: prof.Dropped},
		{Name: "a.asm", File: "a.go", Why: prof.Unprobed},
		{Name: "d.F", File: "d.go", Why: prof.NotLinked},
	}
	m.Counts[0].Runs, m.Counts[3].Runs, m.Counts[4].Runs = 2, 1, 1
	want := []Package{
		{Name: "a", Functions: 4, Ran: 2, Absent: 1, Bytes: 150, RanBytes: 100},
		{Name: "b", Functions: 1, Bytes: 30},
		{Name: "c", Functions: 1, Ran: 1, Bytes: 30, RanBytes: 30},
		{Name: "d", Functions: 1, Absent: 1},
	}
	if got := Sum([]*prof.Module{m}, nil, nil); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	// Another program has some of them, and larger copies.
	other := &prof.Module{Map: prof.Map{RawAddr: 0x9000, Funcs: []prof.Func{fn("a.G", 0x1000, 70, 0), fn("b.F", 0x1100, 20, 1), fn("d.F", 0x1200, 10, 2)}}, Counts: make([]prof.Counts, 3)}
	other.Counts[0].Runs = 1
	want = []Package{
		{Name: "b", Functions: 1, Bytes: 30},
		{Name: "d", Functions: 1, Bytes: 10},
		{Name: "a", Functions: 4, Ran: 3, Absent: 1, Bytes: 170, RanBytes: 170},
		{Name: "c", Functions: 1, Ran: 1, Bytes: 30, RanBytes: 30},
	}
	other.Funcs[2].File = "d.go"
	if got := Sum([]*prof.Module{m, other}, nil, nil); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	if got := Sum([]*prof.Module{m, m}, func(f *prof.Func) bool { return f.Name == "b.F" }, func(a *prof.Absent) bool { return false }); !slices.Equal(got, []Package{{Name: "b", Functions: 1, Bytes: 30}}) {
		t.Errorf("got %+v", got)
	}
}
