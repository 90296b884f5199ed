package flamegraph

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/golden"
)

// small returns a trie that can be checked by hand: main calls f, which calls itself, and g,
// one of whose calls has no exit.
func small() *Profile {
	t := calltrie.New()
	add := func(at calltrie.NodeID, fn calllog.FuncID, times ...uint64) calltrie.NodeID {
		id := t.Child(at, fn)
		for i := 0; i < len(times); i += 2 {
			t.Node(id).Add(times[i], times[i+1])
		}
		return id
	}
	m := add(calltrie.Root, 1, 100_000, 10_000)
	f := add(m, 2, 20_000, 10_000, 40_000, 10_000)
	add(f, 2, 40_000, 40_000)
	g := add(m, 3, 10_000, 10_000, 20_000, 20_000)
	t.Node(g).Deduced++
	names := []string{"", "main", "f(std::vector<int>&)", "g"}
	return &Profile{
		Title: "small.log", Unit: "ns", Notes: []string{"A log for tests.", "It is small."},
		Groups: []Group{{Trie: t}}, Name: func(id calllog.FuncID) string { return names[id] },
	}
}

func smallDiff() *Diff {
	stats := func(times ...uint64) (s calltrie.Stats) {
		t := calltrie.New()
		id := t.Child(calltrie.Root, 1)
		for i := 0; i < len(times); i += 2 {
			t.Node(id).Add(times[i], times[i+1])
		}
		return t.Node(id).Stats
	}
	return &Diff{
		Title: "a.log and b.log", Unit: "ns", Before: "a.log", After: "b.log",
		Names: []string{"main", "slower", "faster", "gone", "new"},
		Nodes: []DiffNode{
			{Func: 0, Parent: -1, A: stats(1000, 100), B: stats(1200, 100)},
			{Func: 1, Parent: 0, A: stats(300, 300), B: stats(700, 700)},
			{Func: 2, Parent: 0, A: stats(200, 200, 200, 200), B: stats(100, 100)},
			{Func: 3, Parent: 0, A: stats(200, 200)},
			{Func: 4, Parent: 0, B: stats(300, 300)},
		},
	}
}

func write(t testing.TB, to func(io.Writer, Document, Options) (Summary, error), doc Document, o Options) (string, Summary) {
	t.Helper()
	var b bytes.Buffer
	s, err := to(&b, doc, o)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), s
}

func TestGolden(t *testing.T) {
	t.Parallel()
	threads := small()
	threads.Groups = []Group{{"thread 7", small().Groups[0].Trie}, {"thread 9", small().Groups[0].Trie}}
	for name, doc := range map[string]Document{"small": small(), "threads": threads, "diff": smallDiff(), "sampled": sampled()} {
		page, _ := write(t, WriteData, doc, Options{})
		picture, _ := write(t, WriteSVG, doc, Options{})
		for file, got := range map[string]string{name + ".json": page, name + ".svg": picture} {
			golden.Compare(t, "testdata/"+file, []byte(got))
		}
	}
}

// TestNothingIsLoaded checks that data and pictures load nothing else.
func TestNothingIsLoaded(t *testing.T) {
	t.Parallel()
	page, _ := write(t, WriteData, sampleDiff(50), Options{})
	picture, _ := write(t, WriteSVG, sampleDiff(50), Options{})
	for _, text := range []string{page, strings.Replace(picture, ` xmlns="http://www.w3.org/2000/svg"`, "", 1)} {
		for _, word := range []string{"http:", "https:", "//www", "src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest", "WebSocket", "import("} {
			if strings.Contains(text, word) {
				t.Errorf("there is %q", word)
			}
		}
	}
}

// TestHostileNames checks names as a compiler or a malicious file may contain them.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	evil := []string{
		"</script><script>alert(1)</script>", "<!--<script>", "]]></title><b onclick=x>\"'&", "\u2028\u2029", "\x00\x1b[31m\xff\xfe\n\r",
		"", "__proto__", "constructor", "\U0001F98A\u4f60\u597d\u202e", "%s%d", `\u003c/script>`, "all", "-1", strings.Repeat("x<y", 3000),
	}
	trie := calltrie.New()
	at := calltrie.Root
	for i := range evil {
		at = trie.Child(at, calllog.FuncID(i))
		trie.Node(at).Add(100, 1)
	}
	doc := &Profile{
		Title: evil[0], Notes: evil, Unit: evil[0], Groups: []Group{{evil[0], trie}},
		Name: func(id calllog.FuncID) string { return evil[id] },
	}
	diff := &Diff{Title: evil[0], Notes: evil, Unit: evil[2], Before: evil[0], After: evil[1], Names: evil}
	for i := range evil {
		diff.Nodes = append(diff.Nodes, DiffNode{Func: i, Parent: i - 1, B: trie.Node(calltrie.NodeID(i + 1)).Stats})
	}
	for _, doc := range []Document{doc, diff} {
		picture, _ := write(t, WriteSVG, doc, Options{})
		dec := xml.NewDecoder(strings.NewReader(picture))
		for {
			tok, err := dec.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := tok.(xml.StartElement); ok && (e.Name.Local == "script" || e.Name.Local == "b") {
				t.Errorf("a name became an element %s", e.Name.Local)
			}
		}
		page, _ := write(t, WriteData, doc, Options{})
		text := page
		if strings.ContainsAny(text, "<>&\u2028\u2029\x00\x1b") {
			t.Error("the data are not escaped")
		}
		var data struct{ Names []string }
		if err := json.Unmarshal([]byte(text), &data); err != nil {
			t.Fatal(err)
		}
		if want := "</script><script>alert(1)</script>"; !strings.Contains(strings.Join(data.Names, "\n"), want) {
			t.Errorf("the names %q lack %q", data.Names, want)
		}
	}
}

func TestDeterminism(t *testing.T) {
	t.Parallel()
	for _, to := range []func(io.Writer, Document, Options) (Summary, error){WriteData, WriteSVG} {
		a, _ := write(t, to, sampleThreads(3000), Options{MinShare: 0.001})
		b, _ := write(t, to, sampleThreads(3000), Options{MinShare: 0.001})
		if a != b {
			t.Error("the same data gave other bytes")
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for want, doc := range map[string]Document{
		`flame graph: group "x" has no trie`:                           &Profile{Groups: []Group{{Label: "x"}}},
		"flame graph: node 0 refers to function 0 of 0":                &Diff{Nodes: []DiffNode{{Parent: -1}}},
		"flame graph: node 0 has parent 0, which does not precede it":  &Diff{Names: []string{"f"}, Nodes: []DiffNode{{}}},
		"flame graph: node 1 has parent -2, which does not precede it": &Diff{Names: []string{"f"}, Nodes: []DiffNode{{Parent: -1}, {Parent: -2}}},
		"flame graph: node 0 refers to function -1 of 1":               &Diff{Names: []string{"f"}, Nodes: []DiffNode{{Func: -1, Parent: -1}}},
	} {
		for _, to := range []func(io.Writer, Document, Options) (Summary, error){WriteData, WriteSVG} {
			if _, err := to(io.Discard, doc, Options{}); err == nil || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
		}
	}
}

// TestShapes checks that documents of any shape give well-formed pictures.
func TestShapes(t *testing.T) {
	t.Parallel()
	deep := calltrie.New()
	at := calltrie.Root
	for i := range 5000 {
		at = deep.Child(at, calllog.FuncID(i%3))
		deep.Node(at).Add(uint64(6000-i), 1)
	}
	zero := calltrie.New()
	zero.Node(zero.Child(calltrie.Root, 1)).Add(0, 0)
	huge := calltrie.New()
	top := huge.Child(calltrie.Root, 1)
	huge.Node(top).Add(math.MaxUint64, math.MaxUint64)
	huge.Node(huge.Child(top, 2)).Add(math.MaxUint64, math.MaxUint64)
	for name, trie := range map[string]*calltrie.Trie{"empty": calltrie.New(), "deep": deep, "zero": zero, "huge": huge} {
		p := &Profile{Groups: []Group{{Trie: trie}}, Name: sampleName, Unit: "ticks"}
		for _, o := range []Options{{}, {By: ByCalls, Width: 1}, {By: BySelf, MinShare: 1, MaxNodes: 1}} {
			picture, _ := write(t, WriteSVG, p, o)
			if err := xml.Unmarshal([]byte(picture), new(struct{})); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			page, _ := write(t, WriteData, p, o)
			if !json.Valid([]byte(page)) {
				t.Errorf("%s: the data are no JSON", name)
			}
		}
	}
}

// drawProfile makes a profile in which callees may be longer than their callers, as in a
// damaged log.
func drawProfile(t *rapid.T) *Profile {
	p := &Profile{Name: sampleName, Unit: "ns"}
	labels := rapid.SampledFrom([]string{"", "x"}).Draw(t, "label")
	for range rapid.IntRange(1, 3).Draw(t, "groups") {
		trie := calltrie.New()
		for range rapid.IntRange(0, 60).Draw(t, "calls") {
			at := calltrie.NodeID(rapid.IntRange(0, trie.Len()-1).Draw(t, "parent"))
			id := trie.Child(at, calllog.FuncID(rapid.IntRange(1, 6).Draw(t, "func")))
			total := rapid.Uint64Range(0, 1000).Draw(t, "total")
			trie.Node(id).Add(total, rapid.Uint64Range(0, total).Draw(t, "self"))
		}
		p.Groups = append(p.Groups, Group{labels, trie})
	}
	return p
}

// TestPrune checks that pruning keeps the sums, and that each bar is within the one above it.
func TestPrune(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawProfile(t)
		o := Options{
			By:       rapid.SampledFrom(Measures()).Draw(t, "by"),
			MinShare: rapid.Float64Range(0, 0.5).Draw(t, "share"),
			MaxNodes: rapid.IntRange(1, 100).Draw(t, "most"),
		}
		tree, err := p.tree()
		if err != nil {
			t.Fatal(err)
		}
		d, err := tree.prune(&o, []int{total, self, calls})
		if err != nil {
			t.Fatal(err)
		}
		var want, got calltrie.Stats
		outermost := uint64(0)
		for _, g := range p.Groups {
			for _, n := range g.Trie.Nodes() {
				want.Self += n.Self
				want.Calls += n.Calls
				if n.Parent == calltrie.Root {
					outermost += n.Total
				}
			}
		}
		merged := 0
		for i := range d.bars {
			got.Self += d.bars[i].side[0].Self
			got.Calls += d.bars[i].side[0].Calls
			merged += d.bars[i].merged
		}
		if got.Self != want.Self || got.Calls != want.Calls || d.bars[0].side[0].Total != outermost || merged != d.Merged {
			t.Fatalf("self %d, calls %d, total %d, merged %d of bars; want %d, %d, %d, %d",
				got.Self, got.Calls, d.bars[0].side[0].Total, merged, want.Self, want.Calls, outermost, d.Merged)
		}
		checkNesting(t, d)
	})
}

func checkNesting(t *rapid.T, d *drawing) {
	pic := picture{drawing: d}
	pic.layout()
	const slack = 1e-9
	var above []int
	for i := range d.bars {
		above = append(above[:d.bars[i].depth], i)
		if i == 0 {
			continue
		}
		up := above[len(above)-2]
		if pic.x[i] < pic.x[up]-slack || pic.x[i]+pic.w[i] > pic.x[up]+pic.w[up]+slack {
			t.Fatalf("bar %d from %g, %g wide, is below bar %d from %g, %g wide", i, pic.x[i], pic.w[i], up, pic.x[up], pic.w[up])
		}
		if i+1 < len(d.bars) && d.bars[i+1].depth > d.bars[i].depth+1 {
			t.Fatalf("bar %d skips a row", i+1)
		}
	}
}

// TestFunctions checks that the table has the sums that a walk from each node to the root
// gives.
func TestFunctions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawProfile(t)
		type sums struct{ self, total, calls uint64 }
		want := map[string]sums{}
		for _, g := range p.Groups {
			outer := g.Trie.Outermost()
			for id, n := range g.Trie.Nodes() {
				s := want[sampleName(n.Func)]
				s.self += n.Self
				s.calls += n.Calls
				if outer[id] {
					s.total += n.Total
				}
				want[sampleName(n.Func)] = s
			}
		}
		tree, err := p.tree()
		if err != nil {
			t.Fatal(err)
		}
		list := tree.functions()
		for _, f := range list {
			if got := (sums{f.side[0].self, f.side[0].total, f.side[0].calls}); got != want[tree.names[f.name]] {
				t.Fatalf("%s: %+v, want %+v", tree.names[f.name], got, want[tree.names[f.name]])
			}
		}
		if len(list) != len(want) {
			t.Fatalf("%d functions, want %d", len(list), len(want))
		}
	})
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		s     string
		limit int
		want  string
	}{
		{"", 0, ""}, {"a", 0, ""}, {"a", -3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"你好", 4, "你好"}, {"你好", 3, "你…"}, {"ab", 1, "…"},
	} {
		if got := cut(test.s, test.limit); got != test.want {
			t.Errorf("cut(%q, %d) = %q, want %q", test.s, test.limit, got, test.want)
		}
	}
}

func TestBelow(t *testing.T) {
	t.Parallel()
	trie := randomTrie(5, 500, 20)
	match := func(id calllog.FuncID) bool { return id%5 == 1 }
	out := Below(trie, match)
	// All calls that have a match among their callers or are one, by a walk from
	// each of them.
	var want, got uint64
	for id, n := range trie.Nodes() {
		for _, fn := range trie.Stack(id) {
			if match(fn) {
				want += n.Self
				break
			}
		}
	}
	for id, n := range out.Nodes() {
		got += n.Self
		if !match(out.Stack(id)[0]) {
			t.Errorf("stack %v begins with a function that does not match", out.Stack(id))
		}
	}
	if got != want || want == 0 {
		t.Errorf("self %d, want %d", got, want)
	}
}
