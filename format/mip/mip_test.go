package mip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/internal/disjoint"
	"github.com/cairnprof/cairn/internal/golden"
	"github.com/cairnprof/cairn/prof"

	"pgregory.net/rapid"
)

// example is the module of the worked example in doc.go.
func example() *prof.Map {
	return &prof.Map{
		BuildID: "\xca\x1c\x0f\xfe", Module: "app", RawAddr: 0x404000, RawSize: 32, Machine: "x86-64",
		Funcs: []prof.Func{{
			Name: "main", File: "app.c", Mode: prof.ModeFull, Signature: 0x11223344, Record: 0,
			Fragments: []prof.Fragment{{Addr: 0x401000, Size: 0x40, Blocks: []uint32{0x12, 0x30}}},
			Implied:   []prof.Implied{{Block: 2, By: []uint32{0}}},
			Calls:     []prof.Call{{Block: 1, Callee: "work"}, {Block: 2, Callee: "puts"}},
		}, {
			Name: "work", File: "app.c", Mode: prof.ModeFull, Plain: true, Signature: 0x55667788, Record: 16,
			Fragments: []prof.Fragment{
				{Addr: 0x401040, Size: 0x20, Blocks: []uint32{0x8}},
				{Addr: 0x400800, Size: 0x10, Blocks: []uint32{0x0}},
			},
		}},
		Absent: []prof.Absent{{
			Name: "spare", File: "lib.c", Why: prof.NotLinked, Note: "libapp.a", Source: "/app/lib.c", Line: 7,
			Lines: []prof.LineRange{{File: "/app/lib.c", From: 7, To: 9}, {File: "/app/lib.h", From: 3, To: 3}},
		}},
	}
}

// exampleProfile is two runs of the example.
func exampleProfile() *prof.Profile {
	return &prof.Profile{Modules: []prof.Module{{
		Map: *example(), Raws: 2,
		Counts: []prof.Counts{
			{Runs: 2, Calls: 2, OrderSum: 2, Blocks: []uint64{1, 2}, Callers: []prof.Site{{Runs: 2}}},
			{Runs: 1, Calls: 300, OrderSum: 2, Inexact: true, Blocks: []uint64{1, 0}, Callers: []prof.Site{{Addr: 0x401020, Runs: 1}}},
		},
		TracesSeen: 2,
		Traces:     []prof.Trace{{Scenario: "open", Weight: 1, Key: 0x99, Funcs: []uint32{0, 1}}},
		Held:       prof.RunSet{IDs: []uint64{0x1000, 0x1122334455667788}},
	}}}
}

// appendRecord writes f as a record of the map section, as the rewriter and
// the linker would.
func appendRecord(b []byte, f *prof.Func, rawAddr uint64) []byte {
	le := binary.LittleEndian
	at := len(b)
	b = append(b, 0, 0, 0, 0, wire.MapVersion, byte(f.Mode))
	if f.Atomic {
		b[len(b)-1] |= wire.MapAtomic
	}
	if f.Plain {
		b[len(b)-1] |= wire.MapPlain
	}
	b = le.AppendUint16(b, uint16(len(f.Fragments)))
	b = le.AppendUint64(b, rawAddr+f.Record)
	b = le.AppendUint32(b, f.Signature)
	for _, fr := range f.Fragments {
		b = le.AppendUint64(b, fr.Addr)
		b = le.AppendUint32(b, fr.Size)
		b = le.AppendUint32(b, uint32(len(fr.Blocks)))
		for _, off := range fr.Blocks {
			b = le.AppendUint32(b, off)
		}
	}
	b = le.AppendUint32(b, uint32(len(f.Implied)))
	for _, im := range f.Implied {
		b = le.AppendUint32(b, im.Block)
		b = le.AppendUint32(b, uint32(len(im.By)))
		for _, by := range im.By {
			b = le.AppendUint32(b, by)
		}
	}
	b = appendSectionFlow(b, f.Flow)
	b = le.AppendUint32(b, uint32(len(f.Calls)))
	for _, call := range f.Calls {
		b = le.AppendUint32(b, call.Block)
		b = append(append(b, call.Callee...), 0)
	}
	b = append(append(b, f.Name...), 0)
	b = append(append(b, f.File...), 0)
	le.PutUint32(b[at:], uint32(len(b)-at))
	return b
}

func section(m *prof.Map) (b []byte) {
	for i := range m.Funcs {
		b = appendRecord(b, &m.Funcs[i], m.RawAddr)
	}
	return b
}

// drawName draws names that share prefixes, and some that no compiler makes.
func drawName(t *rapid.T, label string) string {
	return rapid.OneOf(
		rapid.StringMatching(`_ZN4(llvm|cairn)(3foo|3bar){0,3}Ev`),
		rapid.StringMatching(`_Z[a-z]{150,160}`),
		rapid.StringOf(rapid.RuneFrom([]rune("a\n\r\t \u0085\u2028\ufeff\"'\\:#-&*!é"))),
		rapid.Map(rapid.SliceOfN(rapid.ByteRange(1, 255), 0, 6), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{"", "true", "0x10", "1e3", "~", "null", "<<", "2001-01-01", "-", "? a", "%x"}),
	).Draw(t, label)
}

func drawFunc(t *rapid.T, m *prof.Map, addr, record uint64) prof.Func {
	f := prof.Func{
		Name: drawName(t, "name"), File: drawName(t, "file"), Record: record,
		Mode:      rapid.SampledFrom([]prof.Mode{prof.ModeCover, prof.ModeBlock, prof.ModeCount, prof.ModeFull, prof.ModeOrder, prof.ModeBlockOrder, prof.ModeEdge}).Draw(t, "mode"),
		Signature: rapid.Uint32().Draw(t, "signature"),
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "fragments") {
		fr := prof.Fragment{Addr: addr, Size: rapid.Uint32Range(0, 500).Draw(t, "size")}
		if i > 0 {
			fr.Addr = rapid.Uint64Range(1, 1<<48).Draw(t, "addr")
		}
		if f.Mode.HasBlocks() {
			fr.Blocks = rapid.SliceOfN(rapid.Uint32Range(0, fr.Size), 0, 4).Draw(t, "blocks")
			slices.Sort(fr.Blocks)
		}
		if len(fr.Blocks) == 0 {
			fr.Blocks = nil
		}
		f.Fragments = append(f.Fragments, fr)
	}
	switch {
	case f.Mode.HasEdges():
		drawFlow(t, &f)
	case f.Mode.HasBlocks():
		f.Implied = drawImplied(t, uint32(f.NumBlocks()))
	}
	for range rapid.IntRange(0, 2).Draw(t, "calls") {
		f.Calls = append(f.Calls, prof.Call{
			Block:  rapid.Uint32Range(0, uint32(f.NumBlocks()-1)).Draw(t, "block"),
			Callee: drawName(t, "callee"),
		})
	}
	f.Plain = rapid.Bool().Draw(t, "plain")
	return f
}

// drawFlow draws the flow of a function's blocks, and which have no probe.
func drawFlow(t *rapid.T, f *prof.Func) {
	n := f.NumBlocks()
	u := disjoint.New(1 + 2*n)
	f.Flow = make([]prof.Flow, n)
	for b := range f.Flow {
		flow := &f.Flow[b]
		for to := range n {
			if rapid.Bool().Draw(t, "next") && u.Join(2+2*b, 1+2*to) {
				flow.Next = append(flow.Next, uint32(to))
			}
		}
		flow.Leaves = rapid.Bool().Draw(t, "leaves") && u.Join(2+2*b, 0)
		flow.Entered = rapid.Bool().Draw(t, "entered") && u.Join(1+2*b, 0)
	}
	for b := 1; b < n; b++ {
		if rapid.Bool().Draw(t, "bare") && u.Join(1+2*b, 2+2*b) {
			f.Implied = append(f.Implied, prof.Implied{Block: uint32(b)})
		}
	}
}

// drawImplied draws which of so many blocks have no probe, and what implies
// them.
func drawImplied(t *rapid.T, blocks uint32) (implied []prof.Implied) {
	bare := rapid.SliceOfN(rapid.Bool(), int(blocks), int(blocks)).Draw(t, "bare")
	bare[0] = false
	for b, none := range bare {
		if !none {
			continue
		}
		im := prof.Implied{Block: uint32(b)}
		for by := range blocks {
			if !bare[by] && rapid.Bool().Draw(t, "by") {
				im.By = append(im.By, by)
			}
		}
		if im.By == nil {
			im.By = []uint32{0}
		}
		implied = append(implied, im)
	}
	return implied
}

func drawMap(t *rapid.T) *prof.Map {
	m := &prof.Map{
		BuildID: prof.BuildID(rapid.SliceOfN(rapid.Byte(), 1, wire.MaxBuildID).Draw(t, "id")),
		Module:  drawName(t, "module"),
		RawAddr: rapid.Uint64Range(1, 1<<47).Draw(t, "rawAddr"),
		Machine: rapid.SampledFrom([]string{"", "x86-64", "AArch64", "Arm"}).Draw(t, "machine"),
	}
	addr := rapid.Uint64Range(1, 1<<47).Draw(t, "addr")
	for range rapid.IntRange(0, 5).Draw(t, "funcs") {
		addr += rapid.Uint64Range(1, 600).Draw(t, "gap")
		record := m.RawSize + rapid.Uint64Range(0, 3).Draw(t, "pad")
		f := drawFunc(t, m, addr, record)
		m.RawSize = record + RecordSize(&f)
		m.Funcs = append(m.Funcs, f)
	}
	m.Absent = drawAbsent(t, prof.NotLinked, prof.Dropped, prof.NoProgram, prof.Unprobed)
	return m
}

func drawModule(t *rapid.T) prof.Module {
	m := prof.Module{Map: *drawMap(t), Raws: rapid.Uint64().Draw(t, "raws")}
	runs := func() uint64 {
		return rapid.OneOf(rapid.Just(uint64(0)), rapid.Just(m.Raws), rapid.Uint64Range(0, m.Raws)).Draw(t, "runs")
	}
	m.Counts = make([]prof.Counts, len(m.Funcs))
	for i := range m.Counts {
		c, f := &m.Counts[i], &m.Funcs[i]
		c.Runs, c.Unprobed = runs(), rapid.Uint64Range(0, m.Raws).Draw(t, "unprobed")
		if n := f.NumBlocks() - 1; n > 0 && f.Mode.HasBlocks() {
			c.Blocks = make([]uint64, n)
			for k := range c.Blocks {
				c.Blocks[k] = runs()
			}
			if f.Mode.HasEdges() {
				c.Times = rapid.SliceOfN(rapid.Uint64(), n, n).Draw(t, "times")
			}
		}
		if !f.Mode.HasOrder() {
			continue
		}
		c.OrderSum = rapid.Uint64().Draw(t, "order")
		if f.Mode.HasCalls() {
			c.Calls, c.Inexact = rapid.Uint64().Draw(t, "calls"), rapid.Bool().Draw(t, "inexact")
		}
		for _, addr := range rapid.SliceOfNDistinct(rapid.Uint64(), 0, 3, rapid.ID).Draw(t, "callers") {
			c.Callers = append(c.Callers, prof.Site{Addr: addr, Runs: runs()})
		}
		slices.SortFunc(c.Callers, func(a, b prof.Site) int { return map[bool]int{true: -1, false: 1}[a.Addr < b.Addr] })
	}
	drawTraces(t, &m)
	return m
}

func drawTraces(t *rapid.T, m *prof.Module) {
	numbers := make([]uint32, len(m.Funcs))
	for i := range numbers {
		numbers[i] = uint32(i)
	}
	for range rapid.IntRange(0, 3).Draw(t, "traces") {
		tr := prof.Trace{
			Scenario: drawName(t, "scenario"), Weight: rapid.Uint64Range(1, math.MaxUint64).Draw(t, "weight"),
			Key: rapid.Uint64().Draw(t, "key"), Cut: rapid.Bool().Draw(t, "cut"),
		}
		if n := rapid.IntRange(0, len(numbers)).Draw(t, "length"); n > 0 {
			tr.Funcs = rapid.Permutation(numbers).Draw(t, "trace")[:n]
		}
		m.Traces = append(m.Traces, tr)
	}
	slices.SortFunc(m.Traces, func(a, b prof.Trace) int { return CompareTraces(&a, &b) })
	m.TracesSeen = uint64(len(m.Traces)) + uint64(rapid.Uint32().Draw(t, "seen"))
	m.Held = drawRuns(t, m.Raws)
}

func drawProfile(t *rapid.T) *prof.Profile {
	p := new(prof.Profile)
	seen := make(map[prof.BuildID]bool)
	for range rapid.IntRange(0, 3).Draw(t, "modules") {
		if m := drawModule(t); !seen[m.BuildID] {
			seen[m.BuildID] = true
			p.Modules = append(p.Modules, m)
		}
	}
	slices.SortFunc(p.Modules, func(a, b prof.Module) int { return map[bool]int{true: -1, false: 1}[moduleLess(&a, &b)] })
	return p
}

// drawRuns draws a set of at most so many runs, now and then a sketch.
func drawRuns(t *rapid.T, most uint64) prof.RunSet {
	s := prof.RunSet{Sketch: rapid.Bool().Draw(t, "sketch")}
	ids := rapid.SliceOfNDistinct(rapid.Uint64Range(1, 1<<prof.SketchBits-1), 0, int(min(most, 9)), rapid.ID).Draw(t, "runs")
	for _, id := range ids {
		s.IDs = append(s.IDs, id<<(64-prof.SketchBits))
		if !s.Sketch {
			s.IDs[len(s.IDs)-1] |= id & 0xff
		}
	}
	slices.Sort(s.IDs)
	return s
}

// TestRunsErrors has sets of runs that no writer may write, nor a reader return.
func TestRunsErrors(t *testing.T) {
	t.Parallel()
	many := make([]uint64, prof.MaxExactRuns+1)
	for i := range many {
		many[i] = uint64(i) + 1
	}
	for name, tc := range map[string]struct {
		runs prof.RunSet
		raws uint64
		want string
	}{
		"too many":     {prof.RunSet{IDs: many}, 1 << 20, "8193 run ids"},
		"more than":    {prof.RunSet{IDs: []uint64{1, 2, 3}}, 2, "3 run ids for 2 raw files"},
		"order":        {prof.RunSet{IDs: []uint64{2, 1}}, 2, "run 0x1: out of order"},
		"twice":        {prof.RunSet{IDs: []uint64{2, 2}}, 2, "run 0x2: out of order"},
		"zero":         {prof.RunSet{IDs: []uint64{0}}, 2, "run id 0"},
		"sketch, long": {prof.RunSet{IDs: []uint64{1 << 23}, Sketch: true}, 2, "more than the 40 bits"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := exampleProfile()
			p.Modules[0].Raws, p.Modules[0].Held = tc.raws, tc.runs
			if err := WriteProfile(io.Discard, p); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("WriteProfile = %v, want %s", err, tc.want)
			}
			m := prof.Module{Raws: tc.raws}
			c := bytecur.New(appendRuns(nil, &tc.runs), 0)
			if readRuns(c, &m); c.Err() == nil && name != "sketch, long" {
				t.Errorf("readRuns took %d runs", len(m.Held.IDs))
			}
		})
	}
}

// TestOldProfile reads profiles and maps of versions that did not remember their machine, nor
// their runs.
func TestOldProfile(t *testing.T) {
	t.Parallel()
	p := exampleProfile()
	p.Modules[0].Machine, p.Modules[0].Absent, p.Modules[0].Funcs[1].Plain = "", nil, false
	for minor := byte(1); minor < 2; minor-- {
		data := encodeProfile(t, p)
		data = data[:len(data)-4]
		if minor == 0 {
			p.Modules[0].Held = prof.RunSet{}
			data = encodeProfile(t, p)
			data = data[:len(data)-6]
		}
		data[10] = minor
		if got, err := ReadProfile(reseal(data)); err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("version 1.%d: %v\n%+v", minor, err, got)
		}
	}
	data := encodeMap(t, &p.Modules[0].Map)
	data[10] = 0
	if got, err := ReadMap(reseal(data[:len(data)-4])); err != nil || !reflect.DeepEqual(got, &p.Modules[0].Map) {
		t.Errorf("map: %v\n%+v", err, got)
	}
}

// TestMachineErrors checks that errors name the machine.
func TestMachineErrors(t *testing.T) {
	t.Parallel()
	m := example()
	body, err := appendMap(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Z80": "", "": "", strings.Repeat("m", MaxMachine): "", strings.Repeat("m", MaxMachine+1): "machine",
		"a\nb": `machine "a\nb" is not a printable word`, "a b": "is not a printable word", "\x1b[1m": "is not a printable word",
	} {
		var file bytes.Buffer
		if err := writeContainer(&file, MapMagic, withRest(t, appendString(slices.Clone(body), name), m)); err != nil {
			t.Fatal(err)
		}
		m.Machine = name
		for what, err := range map[string]error{"WriteMap": WriteMap(new(bytes.Buffer), m), "ReadMap": second(ReadMap(file.Bytes()))} {
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %q: %v, want %q", what, name, err, want)
			}
		}
	}
}

// withRest appends what is after the machine of m.
func withRest(t *testing.T, b []byte, m *prof.Map) []byte {
	t.Helper()
	b, err := appendAbsent(b, m.Absent)
	if err != nil {
		t.Fatal(err)
	}
	return appendPlain(b, m.Funcs)
}

func second[T any](_ T, err error) error { return err }

func TestMapSectionRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMap(t)
		// The linker keeps no order, and the same record may come twice.
		order := rapid.Permutation(m.Funcs).Draw(t, "order")
		var data []byte
		for i := range order {
			data = appendRecord(data, &order[i], m.RawAddr)
		}
		if len(order) > 0 {
			data = appendRecord(data, &order[0], m.RawAddr)
		}
		funcs, dropped, err := ReadMapSection(data, m.RawAddr, m.RawSize)
		if err != nil || dropped != 0 || len(funcs) != len(m.Funcs) {
			t.Fatalf("ReadMapSection = %d functions, %d dropped, %v", len(funcs), dropped, err)
		}
		for i := range funcs {
			if !sameFunc(&funcs[i], &m.Funcs[i]) {
				t.Fatalf("function %d = %+v, want %+v", i, funcs[i], m.Funcs[i])
			}
		}
	})
}

func sameFunc(a, b *prof.Func) bool { return reflect.DeepEqual(a, b) }

func TestReadMapSectionErrors(t *testing.T) {
	t.Parallel()
	m := example()
	one := appendRecord(nil, &m.Funcs[0], m.RawAddr)
	two := appendRecord(nil, &m.Funcs[1], m.RawAddr)
	edit := func(at int, v byte) []byte {
		b := slices.Clone(one)
		b[at] = v
		return b
	}
	tomb := slices.Clone(one)
	clear(tomb[8:16])
	for _, tc := range []struct {
		name string
		data []byte
		want string
		n    int // good functions
		drop int
	}{
		{"version", append(edit(4, 9), two...), "at offset 0x0: a record of version 9: it requires a newer version of cairn", 1, 0},
		{"mode", append(edit(5, 11), two...), `at offset 0x0: function "main": mode 11 is unknown`, 1, 0},
		{"timed mode", append(edit(5, 9), two...), `at offset 0x0: function "main": mode trace has no records`, 1, 0},
		{"no fragments", append(edit(6, 0), two...), "at offset", 1, 0},
		{"data before", append(edit(9, 0x3f), two...), "data at 0x403f00, before the raw section at 0x404000", 1, 0},
		{"data behind", append(edit(8, 0x20), two...), "a record of 13 bytes at 0x20 exceeds the raw section of 32 bytes", 1, 0},
		{"block order", append(edit(36, 0x31), two...), "a block at 0x30, after 0x31 in 64 bytes of code", 1, 0},
		{"implied order", append(edit(48, 0), two...), "block 0 of 3 without a probe: out of range or order", 1, 0},
		{"implied by", append(edit(56, 2), two...), "block 2 is implied by block 2, which has no probe", 1, 0},
		{"call block", append(edit(64, 3), two...), "a call in block 3 of 3", 1, 0},
		{"long", append(append(edit(0, one[0]+1), 0), two...), "1 unexpected bytes at the end of the record at 0x0", 1, 0},
		{"short", append(edit(0, one[0]-1), two...), "has no end", 0, 0},
		{"no length", append(slices.Clone(two), 0, 0, 0, 0), "a record of 0 bytes", 1, 0},
		{"cut", one[:50], "at offset 0x4: truncated", 0, 0},
		{"dropped", append(tomb, two...), "", 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			funcs, dropped, err := ReadMapSection(tc.data, m.RawAddr, m.RawSize)
			if len(funcs) != tc.n || dropped != tc.drop || (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("ReadMapSection = %d functions, %d dropped, %v; want %d, %d, %q", len(funcs), dropped, err, tc.n, tc.drop, tc.want)
			}
		})
	}
}

// TestImpliedErrors checks that all readers and writers reject invalid implied blocks, in a
// function of four blocks.
func TestImpliedErrors(t *testing.T) {
	t.Parallel()
	list := func(n int) []uint32 { // ascending
		by := make([]uint32, n)
		for i := range by {
			by[i] = uint32(i)
		}
		return by
	}
	for _, tc := range []struct {
		name    string
		mode    prof.Mode
		implied []prof.Implied
		want    string
	}{
		{"good", prof.ModeBlock, []prof.Implied{{Block: 2, By: []uint32{0, 1}}, {Block: 3, By: []uint32{0}}}, ""},
		{"entry", prof.ModeBlock, []prof.Implied{{Block: 0, By: []uint32{1}}}, "block 0 of 4 without a probe: out of range or order"},
		{"range", prof.ModeBlock, []prof.Implied{{Block: 4, By: []uint32{1}}}, "block 4 of 4 without a probe: out of range or order"},
		{"order", prof.ModeFull, []prof.Implied{{Block: 3, By: []uint32{0}}, {Block: 2, By: []uint32{0}}}, "block 2 of 4 without a probe: out of range or order"},
		{"twice", prof.ModeFull, []prof.Implied{{Block: 2, By: []uint32{0}}, {Block: 2, By: []uint32{1}}}, "block 2 of 4 without a probe: out of range or order"},
		{"no evidence", prof.ModeBlock, []prof.Implied{{Block: 1, By: []uint32{}}}, "block 1 is implied by 0 others, 1 to 1024 are allowed"},
		{"much evidence", prof.ModeBlock, []prof.Implied{{Block: 1, By: list(MaxEvidence + 1)}}, "1025 "},
		{"itself", prof.ModeBlock, []prof.Implied{{Block: 1, By: []uint32{0, 1}}}, "block 1 is implied by block 1, which has no probe"},
		{"bare evidence", prof.ModeBlock, []prof.Implied{{Block: 1, By: []uint32{2}}, {Block: 2, By: []uint32{0}}}, "block 1 is implied by block 2, which has no probe"},
		{"evidence range", prof.ModeBlock, []prof.Implied{{Block: 1, By: []uint32{4}}}, "block 1 is implied by block 4, which has no probe or is out of range"},
		{"evidence order", prof.ModeBlock, []prof.Implied{{Block: 1, By: []uint32{3, 2}}}, "block 1 is implied by block 2, which has no probe or is out of range or order"},
		{"evidence twice", prof.ModeBlock, []prof.Implied{{Block: 1, By: []uint32{2, 2}}}, "block 1 is implied by block 2, which has no probe or is out of range or order"},
		{"mode", prof.ModeCount, []prof.Implied{{Block: 1, By: []uint32{0}}}, "blocks in mode count"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := prof.Func{Name: "f", Mode: tc.mode, Fragments: []prof.Fragment{{Addr: 1, Size: 9}}, Implied: tc.implied}
			if tc.mode.HasBlocks() {
				f.Fragments[0].Blocks = []uint32{3, 5, 7}
			}
			m := &prof.Map{BuildID: "x", RawSize: 64, RawAddr: 0x1000, Funcs: []prof.Func{f}}
			_, _, section := ReadMapSection(section(m), m.RawAddr, m.RawSize)
			unchecked, err := appendMap(nil, m)
			if err != nil {
				t.Fatal(err)
			}
			var file bytes.Buffer
			if err := writeContainer(&file, MapMagic, withRest(t, appendString(unchecked, ""), m)); err != nil {
				t.Fatal(err)
			}
			// Some of these a map cannot even spell.
			if _, err := ReadMap(file.Bytes()); (err == nil) != (tc.want == "") {
				t.Errorf("ReadMap: %v", err)
			}
			for what, err := range map[string]error{"ReadMapSection": section, "WriteMap": WriteMap(new(bytes.Buffer), m)} {
				if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s: %v, want %q", what, err, tc.want)
				}
			}
		})
	}
}

type fataler interface{ Fatal(...any) }

func encode[T any](t fataler, write func(io.Writer, T) error, of T) []byte {
	var b bytes.Buffer
	if err := write(&b, of); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodeMap(t fataler, m *prof.Map) []byte { return encode(t, WriteMap, m) }

func encodeProfile(t fataler, p *prof.Profile) []byte { return encode(t, WriteProfile, p) }

func encodeText(t fataler, p *prof.Profile) []byte { return encode(t, WriteText, p) }

func TestMapRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMap(t)
		data := encodeMap(t, m)
		got, err := ReadMap(data)
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Fatalf("ReadMap = %+v, %v\nwant %+v", got, err, m)
		}
		if n := rapid.IntRange(0, len(data)-1).Draw(t, "cut"); n < len(data) {
			if _, err := ReadMap(data[:n]); err == nil {
				t.Fatalf("a map cut at %d of %d bytes passes", n, len(data))
			}
		}
	})
}

func TestProfileRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawProfile(t)
		got, err := ReadProfile(encodeProfile(t, p))
		if err != nil || !reflect.DeepEqual(got, p) {
			t.Fatalf("ReadProfile = %+v, %v\nwant %+v", got, err, p)
		}
	})
}

func TestTextRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawProfile(t)
		text := encodeText(t, p)
		got, err := ReadText(text)
		if err != nil || !reflect.DeepEqual(got, p) {
			t.Fatalf("ReadText = %+v, %v\nwant %+v\n%s", got, err, p, text)
		}
	})
}

func TestTextGolden(t *testing.T) {
	t.Parallel()
	golden.Compare(t, "testdata/example.yaml", encodeText(t, exampleProfile()))
}

func TestDetect(t *testing.T) {
	t.Parallel()
	raw, err := AppendRaw(nil, Raw{BuildID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for want, data := range map[Kind][]byte{
		KindRaw: raw, KindMap: encodeMap(t, example()), KindProfile: encodeProfile(t, exampleProfile()), KindUnknown: []byte("CAIRN"),
	} {
		if got := Detect(data); got != want {
			t.Errorf("Detect(%.8q) = %d, want %d", data, got, want)
		}
	}
}

// reseal sets the length and the checksum of a damaged container, so that a test reaches the
// code behind the checks.
func reseal(data []byte) []byte {
	if len(data) < headerSize {
		return data
	}
	data = slices.Clone(data)
	binary.LittleEndian.PutUint32(data[12:], crc32.ChecksumIEEE(data[headerSize:]))
	binary.LittleEndian.PutUint64(data[16:], uint64(len(data)-headerSize))
	return data
}

func TestContainerErrors(t *testing.T) {
	t.Parallel()
	good := encodeMap(t, example())
	edit := func(at int, v byte) []byte {
		b := slices.Clone(good)
		b[at] = v
		return b
	}
	newMinor := reseal(append(edit(10, mapMinor+1), "news"...))
	for _, tc := range []struct {
		name string
		data []byte
		want string
		is   error
	}{
		{"empty", nil, "not a map: bad magic", ErrMagic},
		{"profile", encodeProfile(t, exampleProfile()), "not a map: bad magic", ErrMagic},
		{"newer", edit(8, 2), "map of version 2.2: it requires a newer version of cairn", ErrNewer},
		{"version 0", edit(8, 0), "damaged map: at offset 0x8: map of version 0", nil},
		{"header cut", good[:20], "damaged map: at offset 0x10: truncated", nil},
		{"cut", good[:40], "damaged map: at offset 0x18: truncated", nil},
		{"long", append(slices.Clone(good), 1), "1 bytes too many", nil},
		{"checksum", edit(30, 0xff), "damaged map: checksum 0x", nil},
		{"left over", reseal(append(slices.Clone(good), 1)), "1 unexpected bytes at the end", nil},
		{"newer minor", newMinor, "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := ReadMap(tc.data)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) || tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("ReadMap: %v, want %q", err, tc.want)
			}
		})
	}
}

// TestMutants sets every byte of a file to several values, with a correct checksum. It checks
// that the result is an error or a value that can be written, and never a panic.
func TestMutants(t *testing.T) {
	t.Parallel()
	good := encodeProfile(t, exampleProfile())
	for at := headerSize; at < len(good); at++ {
		for _, v := range []byte{0, 1, 0x7f, 0x80, 0xff, good[at] + 1, good[at] ^ 0x40} {
			b := slices.Clone(good)
			b[at] = v
			if p, err := ReadProfile(reseal(b)); err == nil {
				encodeProfile(t, p)
			}
		}
	}
}

func TestReadTextErrors(t *testing.T) {
	t.Parallel()
	head := "cairn: profile\nversion: 1\n"
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "not the text of a profile"},
		{"binary", "CAIRNMIP\x01\x00", "not the text of a profile"},
		{"other", "a: 1\n", "field a not found"},
		{"kind", "cairn: map\nversion: 1\n", "cairn: profile: bad magic"},
		{"newer", "cairn: profile\nversion: 2\n", "text of version 2: it requires a newer version of cairn"},
		{"two", head + "---\n" + head, "more than one document"},
		{"id", head + "modules: [{module: a, build_id: xyz}]\n", `build id "xyz" is not hexadecimal`},
		{"no id", head + "modules: [{module: a}]\n", "build id of 0 bytes"},
		{"mode", head + "modules: [{build_id: aa, functions: [{name: f, mode: fast}]}]\n", `function "f": mode "fast" is unknown`},
		{"timed mode", head + "modules: [{build_id: aa, functions: [{name: f, mode: spike, code: [{addr: 1}]}]}]\n", "mode spike has no records"},
		{"signature", head + "modules: [{build_id: aa, functions: [{name: f, mode: cover, signature: 0x100000000}]}]\n", "does not fit into 32 bits"},
		{"no code", head + "modules: [{build_id: aa, functions: [{name: f, mode: cover}]}]\n", "0 code fragments"},
		{"block", head + "modules: [{build_id: aa, functions: [{name: f, mode: full, code: [{addr: 1, size: 2, blocks: [0x100000000]}]}]}]\n", "a block at 0x100000000"},
		{"implied", head + "modules: [{build_id: aa, raw_size: 9, functions: [{name: f, mode: block, code: [{addr: 1, size: 2, blocks: [1]}], implied: [{block: 1}]}]}]\n", "block 1 is implied by 0 others"},
		{"runs", head + "modules: [{build_id: aa, raw_size: 1, raws: 1, functions: [{name: f, mode: cover, code: [{addr: 1}], runs: 2}]}]\n", "2 runs in 1 raw files"},
		{"trace order", head + "modules: [{build_id: aa, traces_seen: 2, traces: [{scenario: b, weight: 1}, {scenario: a, weight: 1}]}]\n", "trace 1 of scenario \"a\": out of order"},
		{"trace weight", head + "modules: [{build_id: aa, traces_seen: 1, traces: [{scenario: b}]}]\n", "has no weight"},
		{"trace seen", head + "modules: [{build_id: aa, traces: [{scenario: b, weight: 1}]}]\n", "1 traces of 0 runs"},
		{"trace function", head + "modules: [{build_id: aa, traces_seen: 1, traces: [{scenario: b, weight: 1, functions: [0]}]}]\n", "trace 0 has function 0 of 0"},
		{"trace twice", head + "modules: [{build_id: aa, raw_size: 1, functions: [{name: f, mode: order, code: [{addr: 1}]}], traces_seen: 1, traces: [{scenario: b, weight: 1, functions: [0, 0]}]}]\n", "trace 0 has function \"f\" twice"},
		{"deep", strings.Repeat("[", 20000), "not the text of a profile"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if _, err := ReadText([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("ReadText: %v, want %q", err, tc.want)
			}
		})
	}
}
