package linkmap

import (
	"reflect"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/format/golines"
	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/gobuild/elfimage"
	"github.com/cairnprof/cairn/internal/gobuild/functable"
	"github.com/cairnprof/cairn/internal/gobuild/rewrite"
	"github.com/cairnprof/cairn/prof"
)

// packages are the lists of two packages: a function with two blocks, one without a probe, one of a generated file.
func packages() []*functable.Table {
	return []*functable.Table{
		{
			Package: "x.y/a", Import: "x.y/a", Mode: prof.ModeBlock, Elements: 2, ElementSize: 1,
			Funcs: []rewrite.Func{{
				Name: "F", File: "/src/a.go", Line: 3, Blocks: [][]rewrite.Lines{{{From: 3, To: 4}}, {{From: 5, To: 5}, {From: 8, To: 9}}},
				Units: []rewrite.Unit{{FromLine: 3, FromColumn: 10, ToLine: 4, ToColumn: 8, Statements: 1}, {FromLine: 5, FromColumn: 1, ToLine: 9, ToColumn: 2, Statements: 2, Block: 1}},
			}},
			Unprobed: []rewrite.Func{{
				Name: "G", File: "/src/a.go", Line: 12, Unprobed: "it may have none", Blocks: [][]rewrite.Lines{{{From: 14, To: 15}}}, Rest: []rewrite.Lines{{From: 12, To: 13}, {From: 18, To: 18}},
				Units: []rewrite.Unit{{FromLine: 12, FromColumn: 10, ToLine: 18, ToColumn: 2, Statements: 4}},
			}},
		},
		{
			Package: "main", Import: "command-line-arguments", Mode: prof.ModeBlock, Elements: 1, ElementSize: 1,
			Funcs: []rewrite.Func{{Name: "main", File: "/src/main.go", UnitFile: "main.y", Line: 1, Blocks: [][]rewrite.Lines{{{From: 1, To: 1}}}, Units: []rewrite.Unit{{FromLine: 7, ToLine: 7, Statements: 1}}}},
		},
	}
}

func TestUnlinked(t *testing.T) {
	t.Parallel()
	data, id, err := Unlinked(packages(), "arm64")
	if err != nil {
		t.Fatal(err)
	}
	f, err := elfimage.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if prof.BuildID(f.BuildID()) != id || f.AMD64() {
		t.Errorf("build id %x, for x86-64 %v", f.BuildID(), f.AMD64())
	}
	funcs, _, err := mip.ReadMapSection(f.Content(wire.MapSection), 0x1000, 3)
	if err != nil || len(funcs) != 2 {
		t.Fatalf("%+v, %v", funcs, err)
	}
	if f := &funcs[0]; f.Name != "x.y/a.F" || f.Addr() != 0x1000 || f.NumBlocks() != 2 || f.Record != 0 {
		t.Errorf("%+v", f)
	}
	if f := &funcs[1]; f.Name != "main.main" || f.Addr() != 0x1002 || f.Record != 2 {
		t.Errorf("%+v", f)
	}
	units, err := mip.ReadUnits(f.Content(wire.UnitSection))
	want := []prof.Unit{{File: "x.y/a", Funcs: []prof.Absent{{
		Name: "x.y/a.G", File: "/src/a.go", Why: prof.Unprobed, Note: "it may have none", Source: "/src/a.go", Line: 12,
		Lines: []prof.LineRange{{File: "/src/a.go", From: 12, To: 15}, {File: "/src/a.go", From: 18, To: 18}},
	}}}}
	if err != nil || !reflect.DeepEqual(units, want) {
		t.Errorf("units %+v, %v", units, err)
	}
	table, err := golines.Read(f.Content(golines.Section))
	if err != nil {
		t.Fatal(err)
	}
	wantTable := &golines.Table{
		Places: []golines.Place{
			{Addr: 0x1000, File: "/src/a.go", Lines: []golines.Range{{From: 3, To: 4}}},
			{Addr: 0x1001, File: "/src/a.go", Lines: []golines.Range{{From: 5, To: 5}, {From: 8, To: 9}}},
			{Addr: 0x1002, Size: 1, File: "/src/main.go", Lines: []golines.Range{{From: 1, To: 1}}},
		},
		Funcs: []golines.Func{
			{Unprobed: true, File: "/src/a.go", Units: []golines.Unit{{FromLine: 12, FromColumn: 10, ToLine: 18, ToColumn: 2, Statements: 4}}},
			{Addr: 0x1000, File: "/src/a.go", Units: []golines.Unit{{FromLine: 3, FromColumn: 10, ToLine: 4, ToColumn: 8, Statements: 1}, {FromLine: 5, FromColumn: 1, ToLine: 9, ToColumn: 2, Statements: 2, Block: 1}}},
			{Addr: 0x1002, File: "main.y", Units: []golines.Unit{{FromLine: 7, ToLine: 7, Statements: 1}}},
		},
		Profile: map[string]string{"/src/a.go": "x.y/a/a.go"},
	}
	if !reflect.DeepEqual(table, wantTable) {
		t.Errorf("lines\n%+v, want\n%+v", table, wantTable)
	}
	if again, _, err := Unlinked(packages(), "arm64"); err != nil || string(again) != string(data) {
		t.Errorf("another file at the second time, %v", err)
	}
	// Without absent functions the section of units is empty, and not one of memory.
	if data, _, err = Unlinked(packages()[1:], "amd64"); err != nil {
		t.Fatal(err)
	}
	if f, err = elfimage.Parse(data); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(f.Sections, func(s elfimage.Section) bool { return s.Name == wire.UnitSection })
	if i < 0 || f.Sections[i].Flags != 0 {
		t.Errorf("sections %+v", f.Sections)
	}
	if _, _, err := Unlinked(packages(), "riscv64"); err == nil {
		t.Error("a map for riscv64")
	}
}
