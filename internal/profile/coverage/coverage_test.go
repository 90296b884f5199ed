package coverage

import (
	"bytes"
	"iter"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/golden"
	"github.com/cairnprof/cairn/prof"
)

// table is a line table in which each line has four bytes.
type table map[uint64]struct {
	file string
	line int
}

func (t table) Entry(addr uint64) (string, int, bool) {
	l, ok := t[addr]
	return l.file, l.line, ok
}

func (t table) Lines(lo, hi uint64) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for a := lo &^ 3; a < hi; a += 4 {
			if l, ok := t[a]; ok && !yield(l.file, l.line) {
				return
			}
		}
	}
}

func (t table) add(addr uint64, file string, lines ...int) {
	for i, line := range lines {
		t[addr+4*uint64(i)] = struct {
			file string
			line int
		}{file, line}
	}
}

// sample returns a program of two files: hot.c with a counted function that has a loop and a
// cold piece, and cold.c with a function that never ran and one without lines.
func sample() []Module {
	lines := table{}
	lines.add(0x1000, "/src/hot.c", 3, 4, 5, 6, 5, 8) // blocks at 0, 8, 16
	lines.add(0x2000, "/src/hot.c", 7)                // cold piece
	lines.add(0x1100, "/src/cold.c", 10, 11)
	m := &prof.Module{
		Map: prof.Map{Module: "app", Funcs: []prof.Func{
			{Name: "hot", File: "hot.c", Mode: prof.ModeFull, Fragments: []prof.Fragment{
				{Addr: 0x1000, Size: 24, Blocks: []uint32{8, 16}}, {Addr: 0x2000, Size: 4, Blocks: []uint32{0}},
			}},
			{Name: "cold", File: "cold.c", Mode: prof.ModeCover, Fragments: []prof.Fragment{{Addr: 0x1100, Size: 8}}},
			{Name: "lost", File: "cold.c", Mode: prof.ModeCover, Fragments: []prof.Fragment{{Addr: 0x1200, Size: 8}}},
		}},
		Raws: 3,
		Counts: []prof.Counts{
			{Runs: 2, Calls: 700, Blocks: []uint64{2, 1, 0}, Inexact: true, Callers: []prof.Site{{Runs: 2}}},
			{},
			{Runs: 3},
		},
	}
	return []Module{{Module: m, Lines: lines}}
}

func TestBlocksTileTheFunction(t *testing.T) {
	t.Parallel()
	collect := func(f *prof.Func) (got []Block) {
		for b := range Blocks(f) {
			got = append(got, b)
		}
		return got
	}
	funcs := sample()[0].Funcs
	if got, want := collect(&funcs[0]), []Block{{0, 0x1000, 0x1008}, {1, 0x1008, 0x1010}, {2, 0x1010, 0x1018}, {3, 0x2000, 0x2004}}; !reflect.DeepEqual(got, want) {
		t.Errorf("blocks %x, want %x", got, want)
	}
	plain := prof.Func{Mode: prof.ModeCount, Fragments: []prof.Fragment{{Addr: 16, Size: 4}, {Addr: 64, Size: 8}}}
	if got, want := collect(&plain), []Block{{0, 16, 20}, {0, 64, 72}}; !reflect.DeepEqual(got, want) {
		t.Errorf("blocks %x, want %x", got, want)
	}
	for range Blocks(&funcs[0]) {
		break // must not go on
	}
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	want := Summary{
		Modes:     []prof.Mode{prof.ModeCover, prof.ModeFull},
		Functions: Tally{2, 3}, Blocks: Tally{3, 4}, Calls: 700, Inexact: true, Callers: 1,
	}
	if got := Summarize(sample()[0].Module); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	want := []Path{
		{File: "/src/cold.c", Functions: Tally{0, 1}, Blocks: Tally{}},
		{File: "/src/hot.c", Functions: Tally{1, 1}, Blocks: Tally{3, 4}},
		{File: "cold.c", Functions: Tally{1, 1}, Blocks: Tally{}}, // lost has no lines: what the compiler said
	}
	if got := Analyse(sample()).Paths(anywhere); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// stateSpans returns the lines of all files that are in a state.
func stateSpans(modules []Module, state State) (spans []Span) {
	files, _ := Analyse(modules).Files()
	for i := range files {
		for _, r := range Ranges(files[i].Lines, state) {
			spans = append(spans, Span{files[i].File, r.From, r.To})
		}
	}
	return spans
}

func TestSpans(t *testing.T) {
	t.Parallel()
	modules := sample()
	if got, want := stateSpans(modules, Ran), []Span{{"/src/hot.c", 3, 6}, {"/src/hot.c", 8, 8}}; !reflect.DeepEqual(got, want) {
		t.Errorf("covered %v, want %v", got, want)
	}
	if got, want := stateSpans(modules, Missed), []Span{{"/src/cold.c", 10, 11}, {"/src/hot.c", 7, 7}}; !reflect.DeepEqual(got, want) {
		t.Errorf("missed %v, want %v", got, want)
	}
	if got, want := modules[0].BlockSpans(Block{Lo: 0x1010, Hi: 0x1018}), []Span{{"/src/hot.c", 5, 5}, {"/src/hot.c", 8, 8}}; !reflect.DeepEqual(got, want) {
		t.Errorf("block %v, want %v", got, want)
	}
}

func TestLCOV(t *testing.T) {
	t.Parallel()
	files, unplaced := Analyse(sample()).Files()
	if unplaced != 1 {
		t.Errorf("%d functions without a line, want 1", unplaced)
	}
	var b bytes.Buffer
	if n, err := WriteLCOV(&b, files); err != nil || n != (Unlisted{}) {
		t.Fatal(n, err)
	}
	golden.Compare(t, "testdata/sample.info", b.Bytes())
}

// TestCopiesAreOne checks that copies of an inline function in several files are one function
// for lcov.
func TestCopiesAreOne(t *testing.T) {
	t.Parallel()
	a, b := sample()[0], sample()[0]
	files, _ := Analyse([]Module{a, b}).Files()
	if fn := files[1].Funcs; len(fn) != 1 || fn[0].Runs != 2 {
		t.Errorf("functions %+v", fn)
	}
	if l := files[1].Lines[0]; l != (Line{3, Ran, 2, 0}) {
		t.Errorf("line %+v", l)
	}
}

// TestTimesOfModules checks that executions of a line in several programs, whose code is at the same addresses, add up.
func TestTimesOfModules(t *testing.T) {
	t.Parallel()
	a, b := sample()[0], sample()[0]
	for _, m := range []*Module{&a, &b} {
		for i := range m.Funcs {
			m.Funcs[i].Mode = prof.ModeEdge
			m.Counts[i].Calls, m.Counts[i].Times = 5, make([]uint64, m.Funcs[i].NumBlocks()-1)
		}
	}
	files, _ := Analyse([]Module{a, b}).Files()
	if l := files[1].Lines[0]; l.Number != 3 || l.Times != 10 {
		t.Errorf("line %+v", l)
	}
}

// TestRealLCOV checks that genhtml reads the golden file.
func TestRealLCOV(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("lcov"); err != nil {
		t.Skip("lcov is not installed")
	}
	out, err := exec.Command("lcov", "--summary", filepath.Join("testdata", "sample.info")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"62.5% (5 of 8 lines)", "50.0% (1 of 2 functions)"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
