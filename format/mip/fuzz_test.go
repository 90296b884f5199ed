package mip

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/golden"
	"github.com/cairnprof/cairn/prof"
)

// seeds are the starting points of the fuzz targets. TestSeeds keeps the files
// in testdata/fuzz equal to them.
func seeds(t testing.TB) map[string][][]byte {
	m, p := example(), exampleProfile()
	cover := &prof.Map{BuildID: "\x01", Module: "c", RawAddr: 0x1000, RawSize: 2, Funcs: []prof.Func{
		{Name: "_ZN1aE", Mode: prof.ModeCover, Record: 0, Fragments: []prof.Fragment{{Addr: 0x100, Size: 1}}},
		{Name: "_ZN1bE", Mode: prof.ModeBlock, Record: 1, Fragments: []prof.Fragment{{Addr: 0x110, Size: 9}}},
	}}
	// Block 0 goes on to 1 or 2, both to 3; 1 and 2 have counters.
	edge := &prof.Map{BuildID: "\x02", Module: "e", RawAddr: 0x404000, RawSize: wire.RecordSize(true, true, true, 3), Funcs: []prof.Func{{
		Name: "f", Mode: prof.ModeEdge, Fragments: []prof.Fragment{{Addr: 0x401000, Size: 32, Blocks: []uint32{4, 8, 12}}},
		Flow:    []prof.Flow{{Next: []uint32{1, 2}, Entered: true}, {Next: []uint32{3}}, {Next: []uint32{3}}, {Leaves: true}},
		Implied: []prof.Implied{{Block: 3}},
	}}}
	times := &prof.Profile{Modules: []prof.Module{{
		Map: *edge, Raws: 2, Counts: []prof.Counts{{Runs: 2, Calls: 300, OrderSum: 2, Blocks: []uint64{1, 2, 2}, Times: []uint64{1, 299, 300}}},
		Held: prof.RunSet{IDs: []uint64{1}},
	}}}
	two := &prof.Profile{Modules: []prof.Module{p.Modules[0], {
		Map: *cover, Raws: 9, Counts: []prof.Counts{{Runs: 9}, {Runs: 3}}, Held: prof.RunSet{IDs: []uint64{1 << 40}, Sketch: true},
	}}}
	live, err := AppendRaw(nil, Raw{BuildID: "\x01", Size: 2, Continuous: true, Data: []byte{1, 0}})
	if err != nil {
		t.Fatal(err)
	}
	liveOrder, err := AppendRaw(nil, Raw{BuildID: "\x01", Size: 6, Continuous: true, Data: []byte{1, 1}, Scenario: "s", Slots: 4, Next: 2, NextAt: 2, Order: []uint32{1, 0}})
	if err != nil {
		t.Fatal(err)
	}
	inside, err := AppendRaw(nil, Raw{BuildID: "\x01", Size: wire.RawHeadRoom + 1, Continuous: true, Inside: true, Data: append(make([]byte, wire.RawHeadRoom), 1), Scenario: "s"})
	if err != nil {
		t.Fatal(err)
	}
	cut, err := AppendRaw(nil, Raw{BuildID: "\x01", Size: 3, Data: []byte{1, 1, 1}, Slots: 2, Next: 3, Order: []uint32{2, 0}})
	if err != nil {
		t.Fatal(err)
	}
	raw := exampleRaw(t)
	sealed, err := AppendRaw(nil, Raw{BuildID: "\x01", Run: 9, Size: 2, Continuous: true, Sealed: true, Single: true, Data: []byte{1, 0}})
	if err != nil {
		t.Fatal(err)
	}
	return map[string][][]byte{
		"FuzzReadMapSection": {section(m), section(cover), section(m)[:70], section(edge)},
		"FuzzReadMap":        {encodeMap(t, m), encodeMap(t, cover), encodeMap(t, edge)},
		"FuzzReadUnits":      {encodeUnit(t, exampleUnit()), append(make([]byte, 4), encodeUnit(t, &prof.Unit{File: "x.o", Unlinked: true})...)},
		"FuzzParseRaw":       {raw, raw[:90], live, exampleOrder(t), liveOrder, cut, sealed, withCopies(t), inside},
		"FuzzReadProfile":    {encodeProfile(t, p), encodeProfile(t, two), encodeProfile(t, times)},
		"FuzzReadText":       {encodeText(t, p), encodeText(t, two), []byte("cairn: profile\nversion: 1\nmodules: []\n"), encodeText(t, times)},
	}
}

func TestSeeds(t *testing.T) {
	t.Parallel()
	for target, list := range seeds(t) {
		for i, data := range list {
			golden.Compare(t, fmt.Sprintf("testdata/fuzz/%s/seed%d", target, i), fmt.Appendf(nil, "go test fuzz v1\n[]byte(%q)\n", data))
		}
	}
}

func FuzzReadMapSection(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		m := prof.Map{BuildID: "x", Module: "m", RawAddr: 0x404000, RawSize: 64}
		funcs, dropped, err := ReadMapSection(data, m.RawAddr, m.RawSize)
		if err == nil && len(data) > 0 && len(funcs) == 0 && dropped == 0 && len(UnitsOfMap(data)) == 0 {
			t.Fatal("neither error nor value")
		}
		// Whatever was wrong with others, the functions returned are sound.
		m.Funcs = funcs
		got, err := ReadMap(encodeMap(t, &m))
		if err != nil || !reflect.DeepEqual(got.Funcs, funcs) {
			t.Fatalf("round trip: %v", err)
		}
		if again, _, err := ReadMapSection(section(&m), m.RawAddr, m.RawSize); err != nil || !reflect.DeepEqual(again, funcs) {
			t.Fatalf("second reading: %v", err)
		}
	})
}

func FuzzReadMap(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ReadMap(reseal(data))
		if (m == nil) != (err != nil) {
			t.Fatalf("ReadMap = %v, %v", m, err)
		}
		if err != nil {
			return
		}
		if got, err := ReadMap(encodeMap(t, m)); err != nil || !reflect.DeepEqual(got, m) {
			t.Fatalf("round trip: %v", err)
		}
	})
}

func FuzzParseRaw(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseRaw(data)
		if err != nil {
			if !reflect.DeepEqual(r, Raw{}) {
				t.Fatalf("ParseRaw = %+v, %v", r, err)
			}
			return
		}
		if r.Size > 1<<20 {
			return // the comparison would write the tail out
		}
		file, err := AppendRaw(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		r.Copies = 0 // the sum is written
		if got, err := ParseRaw(file); err != nil || !sameRaw(got, r) {
			t.Fatalf("round trip: %v", err)
		}
	})
}

func FuzzReadProfile(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadProfile(reseal(data))
		if (p == nil) != (err != nil) {
			t.Fatalf("ReadProfile = %v, %v", p, err)
		}
		if err != nil {
			return
		}
		if got, err := ReadProfile(encodeProfile(t, p)); err != nil || !reflect.DeepEqual(got, p) {
			t.Fatalf("round trip: %v", err)
		}
	})
}

func FuzzReadText(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadText(data)
		if (p == nil) != (err != nil) {
			t.Fatalf("ReadText = %v, %v", p, err)
		}
		if err != nil {
			return
		}
		text := encodeText(t, p)
		if got, err := ReadText(text); err != nil || !bytes.Equal(encodeProfile(t, got), encodeProfile(t, p)) {
			t.Fatalf("round trip: %v\n%s", err, text)
		}
	})
}
