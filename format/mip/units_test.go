package mip

import (
	"encoding/binary"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/prof"
)

// drawAbsent draws functions that a map lacks, in their order.
func drawAbsent(t *rapid.T, why ...prof.Absence) []prof.Absent {
	var list []prof.Absent
	for range rapid.IntRange(0, 4).Draw(t, "absent") {
		a := prof.Absent{
			Name: drawName(t, "absent name"), File: drawName(t, "absent file"), Why: rapid.SampledFrom(why).Draw(t, "why"),
			Note: drawName(t, "note"), Shared: rapid.Bool().Draw(t, "shared"), Inlined: rapid.Bool().Draw(t, "inlined"),
		}
		if rapid.Bool().Draw(t, "placed") {
			a.Source, a.Line = "s"+drawName(t, "source"), rapid.Uint32Range(1, 1<<20).Draw(t, "line")
		}
		for _, file := range []string{"a.c", "b.h"} {
			last := uint32(0)
			for range rapid.IntRange(0, 3).Draw(t, "ranges") {
				from := last + rapid.Uint32Range(2, 99).Draw(t, "from")
				last = from + rapid.Uint32Range(0, 9).Draw(t, "more")
				a.Lines = append(a.Lines, prof.LineRange{File: file, From: from, To: last})
			}
		}
		list = append(list, a)
	}
	return prof.SortAbsent(list)
}

// drawRefs draws references, in their order.
func drawRefs(t *rapid.T) (refs []prof.Refs) {
	names := rapid.SliceOfDistinct(rapid.StringMatching(`[a-z]{1,3}`), rapid.ID[string])
	from := names.Draw(t, "from")
	slices.Sort(from)
	for _, name := range from {
		to := names.Draw(t, "to")
		slices.Sort(to)
		if len(to) == 0 {
			to = nil
		}
		refs = append(refs, prof.Refs{From: name, To: to})
	}
	return refs
}

func encodeUnit(t fataler, u *prof.Unit) []byte {
	data, err := AppendUnit(nil, u)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestUnitRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var data []byte
		var want []prof.Unit
		for range rapid.IntRange(1, 3).Draw(t, "units") {
			u := prof.Unit{File: drawName(t, "file"), Unlinked: rapid.Bool().Draw(t, "unlinked"), Funcs: drawAbsent(t, 0, prof.Unprobed)}
			if u.LTO = rapid.Bool().Draw(t, "LTO"); u.LTO {
				u.Refs = drawRefs(t)
			}
			want = append(want, u)
			data = append(data, encodeUnit(t, &u)...)
			data = append(data, make([]byte, 4*rapid.IntRange(0, 2).Draw(t, "padding"))...)
		}
		got, err := ReadUnits(data)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("ReadUnits = %+v, %v\nwant %+v", got, err, want)
		}
	})
}

// TestUnitErrors reads a bad record between good ones.
func TestUnitErrors(t *testing.T) {
	t.Parallel()
	a := &example().Absent[0]
	good := prof.Unit{File: "lib.c", Funcs: []prof.Absent{{Name: a.Name, File: a.File, Source: a.Source, Line: a.Line, Lines: a.Lines}}}
	record := encodeUnit(t, &good)
	edit := func(at int, to byte) []byte {
		bad := append([]byte(nil), record...)
		bad[at] = to
		return bad
	}
	for _, tc := range []struct {
		name  string
		bad   []byte
		units int
		want  string
	}{
		{"good", nil, 2, ""},
		{"newer", edit(4, 2), 2, "at offset 0x39: the record of a unit of version 2: it requires a newer version of cairn"},
		{"version", edit(4, 0), 2, "the record of a unit of version 0"},
		{"truncated", record[:len(record)-1], 2, "truncated"},
		{"short", []byte{5, 0, 0, 0, 0}, 1, "a record of 5 bytes"},
		{"reason", withReason(t, good, prof.NotLinked), 2, `function "spare": not linked in the record of its unit`},
		{"lines", withRange(t, good, prof.LineRange{File: "a.c", From: 9, To: 8}), 2, "lines"},
		{"rest", longer(record), 2, "1 unexpected bytes at the end of the record at 0x39"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			data := append(append(append([]byte(nil), record...), tc.bad...), record...)
			units, err := ReadUnits(data)
			if len(units) != tc.units || (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("ReadUnits = %d units, %v; want %d, %q", len(units), err, tc.units, tc.want)
			}
		})
	}
}

// unchecked writes the record of a unit that breaks a rule.
func unchecked(t *testing.T, u prof.Unit) []byte {
	t.Helper()
	b := appendString([]byte{0, 0, 0, 0, 1, 0}, u.File)
	b, err := appendAbsent(b, u.Funcs)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	return b
}

func withReason(t *testing.T, u prof.Unit, why prof.Absence) []byte {
	t.Helper()
	a := u.Funcs[0]
	a.Why = why
	return unchecked(t, prof.Unit{File: u.File, Funcs: []prof.Absent{a}})
}

func withRange(t *testing.T, u prof.Unit, r prof.LineRange) []byte {
	t.Helper()
	a := u.Funcs[0]
	a.Lines = []prof.LineRange{r}
	return unchecked(t, prof.Unit{File: u.File, Funcs: []prof.Absent{a}})
}

func longer(record []byte) []byte {
	b := append(append([]byte(nil), record...), 0)
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	return b
}

func FuzzReadUnits(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		units, err := ReadUnits(data)
		if err == nil && len(units) == 0 && len(data) >= minUnitRecord && !isZero(data) {
			t.Fatal("neither error nor value")
		}
		for i := range units {
			got, err := ReadUnits(encodeUnit(t, &units[i]))
			if err != nil || !reflect.DeepEqual(got, units[i:i+1]) {
				t.Fatalf("round trip: %v", err)
			}
		}
	})
}

func isZero(data []byte) bool {
	for _, b := range data {
		if b != 0 {
			return false
		}
	}
	return true
}

// TestUnitsOfMap reads records of units among those of functions, as Mach-O files have them.
func TestUnitsOfMap(t *testing.T) {
	t.Parallel()
	m := example()
	unit := encodeUnit(t, exampleUnit())
	inMap := append([]byte(nil), unit...)
	inMap[4] |= 1 << 7
	data := append(append(append([]byte(nil), inMap...), section(m)...), inMap...)
	PlaceMap(data, 0x1000)
	funcs, dropped, err := ReadMapSection(data, m.RawAddr, m.RawSize)
	if err != nil || dropped != 0 || !reflect.DeepEqual(funcs, m.Funcs) {
		t.Errorf("ReadMapSection = %+v, %d, %v", funcs, dropped, err)
	}
	if got, want := UnitsOfMap(data), append(append([]byte(nil), unit...), unit...); !reflect.DeepEqual(got, want) {
		t.Errorf("UnitsOfMap = %x, want %x", got, want)
	}
	if got := UnitsOfMap(section(m)); got != nil {
		t.Errorf("UnitsOfMap = %x of a map without units", got)
	}
}
