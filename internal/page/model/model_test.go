package model_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/golden"
	"github.com/cairnprof/cairn/internal/layout/pages"
	"github.com/cairnprof/cairn/internal/page/model"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/prof"
)

// code is the lines and the scopes of a program: four bytes for each line of a.c from 0x1000,
// and inlined functions at some addresses.
type code struct {
	first   uint64
	lines   []int
	inlined map[uint64][]coverage.Frame
}

func (c *code) Entry(addr uint64) (string, int, bool) {
	for _, line := range c.between(addr, addr+4) {
		return "/src/a.c", line, true
	}
	return "", 0, false
}

func (c *code) Lines(lo, hi uint64) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, line := range c.between(lo, hi) {
			if !yield("/src/a.c", line) {
				return
			}
		}
	}
}

func (c *code) between(lo, hi uint64) (lines []int) {
	for a := lo &^ 3; a < hi; a += 4 {
		if i := int(a-c.first) / 4; a >= c.first && i < len(c.lines) && c.lines[i] > 0 {
			lines = append(lines, c.lines[i])
		}
	}
	return lines
}

func (c *code) Machine() machine.Kind               { return machine.X86_64 }
func (c *code) Bytes(uint64, uint64) []byte         { return nil }
func (c *code) Plain(uint64) bool                   { return true }
func (c *code) Frames(addr uint64) []coverage.Frame { return c.inlined[addr&^3] }
func (c *code) Pieces(lo, hi uint64) iter.Seq2[[2]uint64, []coverage.Frame] {
	return func(yield func([2]uint64, []coverage.Frame) bool) {
		for a := lo; a < hi; a += 4 {
			if !yield([2]uint64{a, a + 4}, c.inlined[a]) {
				return
			}
		}
	}
}

// texts are the sources that can be read.
type texts map[string]string

func (t texts) Find(path string) (int64, error) {
	if text, ok := t[path]; ok {
		return int64(len(text)), nil
	}
	return 0, errors.New("the file is not on this machine")
}

func (t texts) Read(path string) ([]byte, error) { return []byte(t[path]), nil }

// program returns a program in which main inlines next and calls work, which the compiler
// split; idle never ran.
func program() *prof.Profile {
	fn := func(name string, addr uint64, blocks []uint32, calls ...prof.Call) prof.Func {
		return prof.Func{Name: name, File: "a.c", Mode: prof.ModeFull, Calls: calls, Fragments: []prof.Fragment{{Addr: addr, Size: 16, Blocks: blocks}}}
	}
	return &prof.Profile{Modules: []prof.Module{{
		Map: prof.Map{Module: "app", BuildID: "\x01\x02\x03\x04", Machine: "x86-64", Funcs: []prof.Func{
			fn("main", 0x1000, []uint32{8}, prof.Call{Block: 0, Callee: "_Z4workv"}, prof.Call{Block: 0, Callee: "puts"}),
			fn("_Z4workv", 0x1010, []uint32{8}),
			fn("_Z4workv.part.0", 0x1020, nil),
			fn("idle", 0x1030, nil),
		}},
		Raws: 2,
		Counts: []prof.Counts{
			{Runs: 2, Calls: 2, OrderSum: 2, Blocks: []uint64{1}},
			{Runs: 1, Calls: 700, OrderSum: 2, Blocks: []uint64{0}, Inexact: true, Callers: []prof.Site{{Addr: 0x1008, Runs: 1}}},
			{Runs: 1, Calls: 5, OrderSum: 3},
			{},
		},
		Traces:     []prof.Trace{{Scenario: "one", Weight: 1, Funcs: []uint32{0, 1, 2}}, {Scenario: "two", Weight: 1, Key: 1, Funcs: []uint32{0}}},
		TracesSeen: 3,
	}}}
}

func sources(t *testing.T) *model.Sources {
	t.Helper()
	p := program()
	c := &code{first: 0x1000, lines: []int{10, 11, 3, 12, 20, 21, 22, 0, 23, 24, 0, 0, 30, 31}, inlined: map[uint64][]coverage.Frame{
		0x1008: {{Func: "main", Line: 9}, {Func: "next", Line: 2, CallFile: "/src/a.c", CallLine: 11}},
	}}
	text := pages.Span{Addr: 0x1000, Size: 0x40}
	m := &p.Modules[0]
	before := program()
	before.Modules[0].BuildID = "\x09"
	before.Modules[0].Counts[3] = prof.Counts{Runs: 2, Calls: 8}
	before.Modules[0].Counts[1].Calls = 100
	return &model.Sources{
		Title: "app", Generator: "test", Inputs: []model.Input{{Path: "app.mip", Kind: "profile", Bytes: 100}},
		Show:    func(s string) string { return strings.NewReplacer("_Z4workv", "work()").Replace(s) },
		Profile: p, Modules: []coverage.Module{{Module: m, Lines: c, Code: c}},
		Against: &model.Against{Path: "before.mip", Profile: before},
		Program: &model.Program{Program: pages.Program{Layout: pages.FromMap(text, &m.Map), Match: pages.Same(&m.Map)}, Name: "app"},
		Texts:   texts{"/src/a.c": "one\ntwo\n"},
		Spikes:  spikePage(), Samples: sampled(), Calls: logged(),
	}
}

func spikePage() *spikes.Page {
	site := spikes.Site{Function: "work()", Symbol: "_Z4workv", File: "/src/a.c", Line: 21}
	return &spikes.Page{
		Reach: []string{"Threshold 1 ms."}, Left: 2, Late: spikes.Late{Time: 8e6, Explained: 6e6},
		Spikes: []*spikes.Object{{
			Version: 1, Log: "app.cairnlog", Seen: 3, Worst: 5e6, Interval: spikes.Range{4e6, 5e6}, Limit: uint64(1e6), Peak: site,
			Stack: []spikes.StackObject{{Site: site}}, Children: []spikes.ChildObject{}, Parents: []spikes.EndObject{},
			Why: &spikes.WhyObject{Text: "slept 4.00 of 4.00..5.00 ms in futex, held by thread 8 in main (a.c:3)", Holder: &spikes.HolderObject{
				Thread: "thread 8", TID: 8, Ended: "held", Waited: 4e6, Stack: []spikes.Site{{Function: "main", Symbol: "main", File: "/src/a.c", Line: 3}},
			}},
		}},
		Open: []*spikes.Object{{
			Version: 1, Log: "app.cairnlog", TID: 7, Interval: spikes.Range{39e8, 40e8}, Peak: site,
			Stack: []spikes.StackObject{{Site: site}}, Children: []spikes.ChildObject{}, Parents: []spikes.EndObject{},
			Open: &spikes.OpenObject{Text: "waits in futex for at least 3.90 s", Call: "futex", Waited: 39e8, Inner: []spikes.Site{{Function: "lock_wait"}}, Alike: 2},
		}},
		Suggestions: []spikes.Suggestion{{Place: spikes.Place{Function: "work()"}, Markup: "CAIRN_THRESHOLD(9);", Why: "always long"}},
	}
}

func sampled() *profgen.Stacks {
	s := &profgen.Stacks{
		Funcs:    calllog.Funcs{1: {Name: "main"}, 2: {Name: "_Z4workv" + profgen.InferredSuffix}, 3: {Name: "memcpy@GLIBC_2.14"}},
		ByRules:  map[string]*calltrie.Trie{"": calltrie.New()},
		Samples:  9,
		Inferred: 4,
	}
	trie := s.ByRules[""]
	node := calltrie.Root
	for i, self := range []uint64{5, 0, 4} {
		node = trie.Child(node, calllog.FuncID(i+1))
		trie.Node(node).Self, trie.Node(node).Total = self, []uint64{9, 4, 4}[i]
	}
	return s
}

func logged() *model.CallSource {
	trie := calltrie.New()
	at := trie.Child(calltrie.Root, 1)
	below := trie.Child(at, 2)
	trie.Node(at).Add(1000, 400)
	trie.Node(below).Add(350, 350)
	trie.Node(below).Add(250, 250)
	return &model.CallSource{Trie: trie, Funcs: calllog.Funcs{1: {Name: "main"}, 2: {Name: "_Z4workv"}}, Unit: "ns", Threads: 1, Time: 1000}
}

// TestGolden compares the whole model and the data that views load with files.
func TestGolden(t *testing.T) {
	t.Parallel()
	r := model.Build(sources(t))
	var b bytes.Buffer
	if err := r.WriteModel(&b); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "model.json", b.Bytes())
	b.Reset()
	for blob := range r.Data() {
		b.WriteString(blob.Path + "\n")
		if err := blob.Write(&b); err != nil {
			t.Fatal(err)
		}
		if _, ok := r.Blob(blob.Path); !ok {
			t.Errorf("%s is not found", blob.Path)
		}
	}
	if _, ok := r.Blob("source/99.json"); ok {
		t.Error("there is data that is not there")
	}
	compareGolden(t, "data.txt", b.Bytes())
}

func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	if strings.HasSuffix(name, ".json") {
		var b bytes.Buffer
		if err := json.Indent(&b, got, "", " "); err != nil {
			t.Fatal(err)
		}
		got = b.Bytes()
	}
	golden.Compare(t, "testdata/"+name, got)
}

// TestParts checks that inputs that were not given are absent from the model, and that nothing
// fails.
func TestParts(t *testing.T) {
	t.Parallel()
	all := sources(t)
	tests := []struct {
		name string
		take func(s *model.Sources)
		keys string // of the model, besides those that are always there
	}{
		{"nothing", func(*model.Sources) {}, ""},
		{"profile", func(s *model.Sources) {
			s.Profile = all.Profile
			s.Modules = []coverage.Module{{Module: &all.Profile.Modules[0]}}
		}, ""},
		{"pages", func(s *model.Sources) {
			s.Profile, s.Program = all.Profile, all.Program
			s.Modules = []coverage.Module{{Module: &all.Profile.Modules[0]}}
		}, "pages scenarios"},
		{"spikes", func(s *model.Sources) { s.Spikes = all.Spikes }, "spikes"},
		{"samples", func(s *model.Sources) { s.Samples = all.Samples }, "samples"},
		{"calls", func(s *model.Sources) { s.Calls = all.Calls }, "calls"},
		{"timeline", func(s *model.Sources) { s.Timeline = 1 }, "timeline"},
	}
	optional := []string{"calls", "changes", "flame", "pages", "samples", "scenarios", "spikes", "timeline"}
	for _, tt := range tests {
		s := &model.Sources{Title: tt.name, Show: all.Show}
		tt.take(s)
		var b bytes.Buffer
		if err := model.Build(s).WriteModel(&b); err != nil {
			t.Fatal(err)
		}
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(b.Bytes(), &keys); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range optional {
			if keys[k] != nil {
				got = append(got, k)
			}
		}
		if strings.Join(got, " ") != tt.keys {
			t.Errorf("%s: keys %v, want %s", tt.name, got, tt.keys)
		}
	}
}

// TestSums compares sums in the model with those of the packages that counted.
func TestSums(t *testing.T) {
	t.Parallel()
	in := sources(t)
	m := model.Build(in).Model
	files, _ := coverage.Analyse(in.Modules).Files()
	for _, f := range files {
		var want [3]int
		for _, l := range f.Lines {
			switch l.State {
			case coverage.Ran:
				want[0]++
			case coverage.Missed:
				want[1]++
			default:
				want[2]++
			}
		}
		for _, got := range m.Files {
			if got.Path == f.File && got.Lines != want {
				t.Errorf("%s: lines %v, want %v", f.File, got.Lines, want)
			}
		}
	}
	keys := map[string]bool{}
	for i := range m.Functions {
		f := &m.Functions[i]
		if f.Key == "" || keys[f.Key] {
			t.Errorf("function %d has the key %q, which is not its own", i, f.Key)
		}
		keys[f.Key] = true
		if f.Blocks != nil {
			if got := (model.Tally{strings.Count(f.Bits, "1"), len(strings.ReplaceAll(f.Bits, " ", ""))}); got != *f.Blocks {
				t.Errorf("%s: bits say %v, blocks %v", f.Key, got, *f.Blocks)
			}
		}
	}
	for _, e := range m.Edges {
		if e.From < 0 || e.To < 0 || e.From >= len(m.Functions) || e.To >= len(m.Functions) {
			t.Errorf("edge %+v joins nothing", e)
		}
	}
	for i, l := range m.Pages.Layouts {
		for _, s := range m.Pages.Scenarios {
			if n := len(s.Touch[i].Steps); n != len(l.Pages) {
				t.Errorf("%s: %d steps for %d pages", l.Label, n, len(l.Pages))
			}
		}
	}
}

// TestDocumented checks that docs/report-model.md has each key of the JSON.
func TestDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "report-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] || !strings.HasSuffix(typ.PkgPath(), "page/model") {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			f := typ.Field(i)
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.Anonymous && !strings.Contains(string(doc), "`"+key+"`") {
				t.Errorf("docs/report-model.md lacks `%s` of %s", key, typ.Name())
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[model.Model]())
	walk(reflect.TypeFor[model.Source]())
}

// TestEnd checks that a function ends before the next one begins, even if compilers shared code
// so that lines of one are in code of the other.
func TestEnd(t *testing.T) {
	t.Parallel()
	in := sources(t)
	in.Modules[0].Lines.(*code).lines[3] = 31 // of main, which is from line 9 to 11
	for _, f := range model.Build(in).Model.Functions {
		if f.Key == "main" && (f.Line != 9 || f.End != 11) {
			t.Errorf("main is from line %d to %d", f.Line, f.End)
		}
	}
}

// TestTimes checks that lines have the executions of a profile in mode edge: of the block that ran most often, and of all
// copies that were inlined.
func TestTimes(t *testing.T) {
	t.Parallel()
	in := sources(t)
	m := in.Modules[0].Module
	m.Funcs[0].Mode, m.Funcs[0].Calls = prof.ModeEdge, nil
	m.Funcs[0].Flow = []prof.Flow{{Next: []uint32{1}, Entered: true, Leaves: true}, {Next: []uint32{1}, Leaves: true}}
	m.Counts[0] = prof.Counts{Runs: 2, Calls: 2, Blocks: []uint64{1}, Times: []uint64{4000}}
	r := model.Build(in)
	var got strings.Builder
	for blob := range r.Data() {
		if strings.HasPrefix(blob.Path, "source/") {
			if err := blob.Write(&got); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := `"times":[[3,4000],[10,2],[11,2],[12,4000]]`; !strings.Contains(got.String(), want) {
		t.Errorf("the source has no %s:\n%s", want, got.String())
	}
}
