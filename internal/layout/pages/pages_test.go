package pages

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/prof"
)

// text is three and a half pages long and begins in the middle of a page.
var text = Span{0x1800, 0x3000}

func step(spans ...Span) Step { return Step{Spans: spans} }

// TestCompute is computed by hand: page 0x1000 is touched first by step 1, 0x2000 and 0x3000 by
// step 2, 0x4000 by step 4. The third step only touches pages that were touched before.
func TestCompute(t *testing.T) {
	t.Parallel()
	r := Compute(text, []Step{
		step(Span{0x1900, 0x100}),
		step(Span{0x2f00, 0x200}),
		step(Span{0x2000, 0x10}, Span{0x3100, 0x20}),
		step(Span{0x47f0, 0x100}), // half of it is after the section
		step(Span{0x9000, 0x100}), // all of it is
	}, 4096)
	want := []Page{{1, 0x100}, {2, 0x110}, {2, 0x120}, {4, 0x10}}
	if r.Addr != 0x1000 || !slices.Equal(r.Pages, want) {
		t.Errorf("pages %#x %v, want 0x1000 %v", r.Addr, r.Pages, want)
	}
	if want := []int{1, 3, 3, 4, 4}; !slices.Equal(r.Curve, want) || r.Touched() != 4 {
		t.Errorf("curve %v, want %v", r.Curve, want)
	}
	if r.Bytes != 0x340 || r.Bound() != 1 || r.Area() != 3 {
		t.Errorf("%#x bytes, bound %d, area %v; want 0x340, 1, 3", r.Bytes, r.Bound(), r.Area())
	}
	for size, want := range map[uint64]int{16384: 2, 65536: 1} {
		if got := Compute(text, []Step{step(Span{0x3ff0, 0x20})}, size).Touched(); got != want {
			t.Errorf("%d pages of %d bytes, want %d", got, size, want)
		}
	}
	if r := Compute(Span{}, nil, 4096); r.Touched() != 0 || r.Bound() != 0 || r.Area() != 0 || len(r.Pages) != 0 {
		t.Errorf("nothing of nothing: %+v", r)
	}
}

// TestComputeHolds checks for arbitrary runs that the curve never falls, ends at the number of
// pages with a first step, and is never below the bound.
func TestComputeHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := Span{rapid.Uint64Range(1, 1<<20).Draw(t, "addr"), rapid.Uint64Range(0, 1<<18).Draw(t, "size")}
		var steps []Step
		at := text.Addr
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			s := Span{at + rapid.Uint64Range(0, 9000).Draw(t, "gap"), rapid.Uint64Range(0, 9000).Draw(t, "bytes")}
			steps = append(steps, step(s))
			at = s.End()
		}
		r := Compute(text, steps, 4096)
		touched, bytes := 0, uint64(0)
		for _, p := range r.Pages {
			if (p.Step > 0) != (p.Bytes > 0) {
				t.Fatalf("page %+v", p)
			}
			if p.Step > 0 {
				touched++
			}
			bytes += p.Bytes
		}
		if touched != r.Touched() || bytes != r.Bytes || !slices.IsSorted(r.Curve) || r.Bound() > touched {
			t.Fatalf("%d touched, %d bytes, bound %d, curve %v", touched, bytes, r.Bound(), r.Curve)
		}
	})
}

func TestFromSymbols(t *testing.T) {
	t.Parallel()
	l := FromSymbols(text, []Symbol{
		{"late", 0x3000, 0x10},
		{"alias", 0x1800, 0x20},
		{"main", 0x1800, 0x20},
		{"asm", 0x2ff0, 0},
		{"late.cold", 0x1900, 8},
		{"lost.cold.3", 0x1910, 8},
		{"outside", 0x100, 0x10},
		{"last", 0x4700, 0},
	})
	var got []string
	for _, f := range l.Funcs {
		got = append(got, f.Name)
	}
	if want := []string{"alias", "late.cold", "lost.cold.3", "asm", "late", "last"}; !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
	if want := []Span{{0x3000, 0x10}, {0x1900, 8}}; !slices.Equal(l.Funcs[4].Spans, want) {
		t.Errorf("late is at %v, want %v", l.Funcs[4].Spans, want)
	}
	if asm, last := l.Funcs[3].Spans[0].Size, l.Funcs[5].Spans[0].Size; asm != 0x10 || last != 0x100 {
		t.Errorf("sizes %#x and %#x of symbols without one, want 0x10 and 0x100", asm, last)
	}
	on := l.OnPages(4096)
	if want := [][]int{{0, 1, 2}, {3}, {4}, {5}}; !slices.EqualFunc(on, want, slices.Equal[[]int]) {
		t.Errorf("functions on pages %v, want %v", on, want)
	}
}

// fn makes a function of a map.
func fn(name string, spans ...Span) prof.Func {
	f := prof.Func{Name: name, Mode: prof.ModeCount}
	for _, s := range spans {
		f.Fragments = append(f.Fragments, prof.Fragment{Addr: s.Addr, Size: uint32(s.Size)})
	}
	return f
}

func TestMatchNames(t *testing.T) {
	t.Parallel()
	m := &prof.Map{Funcs: []prof.Func{
		fn("main", Span{0x10, 16}),
		fn("init", Span{0x20, 40}), // three of a name, one told by its size
		fn("init", Span{0x50, 99}),
		fn("init", Span{0xc0, 30}),
		fn("same", Span{0xe0, 8}), // two of a name and size
		fn("same", Span{0xf0, 8}),
		fn("gone", Span{0x100, 8}),
		fn("clone.constprop.0", Span{0x110, 8}),
		fn("cold.part.0", Span{0x120, 8}), // a piece is not its function
		fn("promoted", Span{0x130, 8}),
	}}
	l := FromSymbols(Span{0, 0x10000}, []Symbol{
		{"init", 0x1000, 99},
		{"init", 0x1100, 20},
		{"init", 0x1200, 10},
		{"same", 0x1300, 8},
		{"same", 0x1400, 8},
		{"alias", 0x1500, 16},
		{"main", 0x1500, 16},
		{"clone.constprop.7", 0x1600, 8},
		{"cold", 0x1700, 8},
		{"promoted.llvm.123", 0x1800, 8},
	})
	match := MatchNames(m, l)
	var got []uint64
	for _, i := range match.Funcs {
		if i < 0 {
			got = append(got, 0)
		} else {
			got = append(got, l.Funcs[i].Spans[0].Addr)
		}
	}
	// The larger init here is the larger there.
	want := []uint64{0x1500, 0x1100, 0x1000, 0x1200, 0x1300, 0x1400, 0, 0x1600, 0, 0x1800}
	if !slices.Equal(got, want) {
		t.Errorf("matched to %#x, want %#x", got, want)
	}
	if match.Guessed != 3 { // the two inits by rank, the first of same
		t.Errorf("%d guessed, want 3", match.Guessed)
	}
	steps, missing := l.Extents(match, []uint32{0, 6, 1, 0, 99})
	if len(steps) != 2 || missing != 2 {
		t.Errorf("%d steps and %d missing, want 2 and 2", len(steps), missing)
	}
}

func TestStem(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"f": "f", "f.constprop.0": "f.constprop", "f.constprop.0.isra.12": "f.constprop.isra",
		"f.lto_priv.4": "f", "f.llvm.8273": "f", "f.part.1": "f.part", ".part.1": ".part.1",
	} {
		if got := stem(name); got != want {
			t.Errorf("stem(%s) = %s, want %s", name, got, want)
		}
	}
}

// TestBlocks checks a function whose entry block, second block and cold piece ran. The cold
// piece is elsewhere in the layout.
func TestBlocks(t *testing.T) {
	t.Parallel()
	f := fn("f", Span{0x100, 0x2000}, Span{0x4000, 0x20})
	f.Mode = prof.ModeBlock
	f.Fragments[0].Blocks = []uint32{0x10, 0x1800}
	f.Fragments[1].Blocks = []uint32{0, 0x8}
	m := &prof.Module{
		Map:    prof.Map{Funcs: []prof.Func{f}},
		Counts: []prof.Counts{{Runs: 1, Blocks: []uint64{0, 1, 0, 1}}},
	}
	l := FromSymbols(Span{0x10000, 0x10000}, []Symbol{{"f", 0x11000, 0x2000}, {"f.cold", 0x15000, 0x20}})
	match := MatchNames(&m.Map, l)
	steps, _ := l.Blocks(m, match, []uint32{0})
	want := []Span{{0x11000, 0x10}, {0x12800, 0x800}, {0x15008, 0x18}}
	if len(steps) != 1 || !slices.Equal(steps[0].Spans, want) {
		t.Fatalf("%v, want %v", steps, want)
	}
	if n := Compute(l.Text, steps, 4096).Touched(); n != 3 {
		t.Errorf("%d pages, want 3", n)
	}
	// Other code: as a whole.
	l.Funcs[match.Funcs[0]].Spans[0].Size++
	if steps, _ := l.Blocks(m, match, []uint32{0}); !slices.Equal(steps[0].Spans, []Span{{0x11000, 0x2001}}) {
		t.Errorf("%v", steps)
	}
	if same := FromMap(l.Text, &m.Map); len(same.Funcs[Same(&m.Map).Funcs[0]].Spans) != 2 {
		t.Errorf("%+v", same)
	}
}
