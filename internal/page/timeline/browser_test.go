package timeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/calls/stackdiff"
	"github.com/cairnprof/cairn/internal/page"
	"github.com/cairnprof/cairn/internal/page/model"
	"github.com/cairnprof/cairn/internal/page/timeline"
	"github.com/cairnprof/cairn/internal/report/webpage/browsertest"
	"github.com/cairnprof/cairn/internal/spikes"
)

// keep writes the page of the harness to a file, to look at it and to measure how fast it draws.
var keep = flag.String("page", "", "write the page of a program with `calls=N` to page.html, such as 500000; 0 is the small one of the tests")

func functionName(fn calllog.FuncID) string {
	return "function_" + string(rune('a'+fn%26)) + strings.Repeat("x", int(fn/26))
}

// harness is a report of a log alone.
func harness(t testing.TB, log calllog.Log, marks *timeline.Marks) string {
	t.Helper()
	name := functionName
	var index bytes.Buffer
	src := &timeline.Source{Logs: []calllog.Log{log}, Name: name}
	if marks != nil {
		src.End = marks.End()
	}
	if err := timeline.Build(t.Context(), &index, src); err != nil {
		t.Fatal(err)
	}
	x, err := timeline.Open(bytes.NewReader(index.Bytes()), int64(index.Len()))
	if err != nil {
		t.Fatal(err)
	}
	res, err := account.Run(context.Background(), log, account.Options{})
	if err != nil {
		t.Fatal(err)
	}
	flames := timeline.NewFlames()
	graph := func(title string, doc flamegraph.Document) page.Blob {
		var data bytes.Buffer
		if _, err := flamegraph.WriteData(&data, doc, flamegraph.Options{}); err != nil {
			t.Fatal(err)
		}
		return flames.Add(title, data.Bytes())
	}
	whole := graph("All calls", &flamegraph.Profile{Unit: "ns", Step: log.Info().Clock.Step, Name: name, Groups: []flamegraph.Group{{Trie: res.Merged()}}})
	flames.Graphs[0].Whole = true
	diff := stackdiff.Tries(stackdiff.Side{Trie: res.Threads[0].Trie, Name: name}, stackdiff.Side{Trie: res.Merged(), Name: name})
	compared := &flamegraph.Diff{Unit: "ns", Before: "before", After: "after", Names: diff.Names}
	for i := range diff.Nodes {
		n := &diff.Nodes[i]
		of := func(s *calltrie.Stats) calltrie.Stats {
			if s == nil {
				return calltrie.Stats{}
			}
			return *s
		}
		compared.Nodes = append(compared.Nodes, flamegraph.DiffNode{Func: n.Func, Parent: n.Parent, A: of(n.StatsA), B: of(n.StatsB)})
	}
	changed := graph("Difference", compared)
	r := model.Build(&model.Sources{
		Title: "a <program>",
		Views: model.Views{Timeline: x.Summary(false, []string{"a.log"}, marks), Flame: flames, Blobs: append(x.Packs(), whole, changed)},
		Show:  func(s string) string { return s },
	})
	var html bytes.Buffer
	if err := page.WriteHTML(&html, &page.Document{Title: "test", Model: r.WriteModel, Data: r.Data()}); err != nil {
		t.Fatal(err)
	}
	return html.String()
}

// TestKeep writes a page if it is asked to.
func TestKeep(t *testing.T) {
	if *keep == "" {
		t.Skip("-page is not given")
	}
	var calls int
	if err := json.NewDecoder(strings.NewReader(*keep)).Decode(&calls); err != nil {
		t.Fatal(err)
	}
	html := harness(t, timeline.Small(), spike())
	if calls > 0 {
		html = harness(t, timeline.NewProgram(calls, 4), nil)
	}
	if err := os.WriteFile("page.html", []byte(html), 0o644); err != nil {
		t.Fatal(err)
	}
}

// spike is a spike on the time line.
func spike() *timeline.Marks {
	o := &spikes.Object{
		PID: 10, TID: 11, Thread: "worker", Number: 1, At: 2900, Interval: spikes.Range{700, 800}, Limit: 500, Seen: 3,
		Peak: spikes.Site{Function: "slow</script>"}, Stack: []spikes.StackObject{{Site: spikes.Site{Function: "main"}}, {Site: spikes.Site{Function: "slow</script>"}}},
		Children: []spikes.ChildObject{{Site: spikes.Site{Function: "disk"}, Interval: spikes.Range{600, 600}}},
	}
	return &timeline.Marks{
		Spikes: []timeline.Spike{timeline.NewSpike(o, 1000, 1000)},
		Frames: []timeline.Frames{{PID: 10, Count: 3, Mean: 3000, Worst: 5000, Budget: 4000, Over: 1, End: 9000, Each: 1, Bars: []uint64{1000, 5000, 3000}, Late: []uint32{0, 1, 0}, Longest: []timeline.Frame{{Number: 2, Start: 1000, End: 6000}}}},
	}
}

// script has what the probes share: texts, keys, pointers.
const script = `
const text = function (q) { const e = document.querySelector(q); return e ? e.textContent.replaceAll("\u202f", " ") : null; };
const key = function (k, target) { (target || document.body).dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true, cancelable: true })); };
const settle = async function () { for (let i = 0; i < 2; i++) await pause(); };
const pointer = function (q, type, x, y, more) {
  const e = document.querySelector(q), box = e.getBoundingClientRect();
  e.setPointerCapture = function () {};
  e.dispatchEvent(new PointerEvent(type, Object.assign({ pointerId: 1, button: 0, clientX: box.left + x, clientY: box.top + y, bubbles: true }, more)));
};
const rows = function () { return [...document.querySelectorAll(".tl-table tbody tr")].map(function (r) { return [...r.cells].map(function (c) { return c.textContent.replaceAll("\u202f", " "); }).join("|"); }); };
await settle();
`

func TestTimelinePage(t *testing.T) {
	t.Parallel()
	browsertest.Check(t, harness(t, timeline.Small(), spike()), "timeline", script+`
const root = document.getElementById("view");
if (!(Number(root.dataset.bars) > 5)) wrong("bars", root.dataset.bars);
equal("lanes", document.querySelectorAll(".tl-labels button").length, 2);
equal("whole", rows()[0], "function_b|1|9.000 µs|4.990 µs|9.000 µs");
// A part is selected in the axis, and its table is of it.
const width = document.querySelector(".tl-lanes").clientWidth;
pointer(".tl-axis", "pointerdown", 0, 10);
pointer(".tl-axis", "pointermove", width * 4000 / 9000, 10);
pointer(".tl-axis", "pointerup", width * 4000 / 9000, 10);
await settle();
if (!text(".tl-say").includes("selected: 4.000 µs") && !text(".tl-say").includes("selected: 4.001 µs")) wrong("selection", text(".tl-say"));
if (!location.hash.includes("z=400")) wrong("address", location.hash);
equal("part", rows().find(function (r) { return r.startsWith("function_f"); }), "function_f|1|1.000 µs|1.000 µs|1.000 µs");
key("Escape");
// A click shows a call, arrows go on, Enter zooms in.
const y = 20 + 12 + 8; // head, events
pointer(".tl-lanes", "pointerdown", width / 2, y);
pointer(".tl-lanes", "pointerup", width / 2, y);
equal("call", text(".tl-card h2"), "function_b");
key("ArrowDown", document.querySelector(".tl-lanes"));
equal("callee", text(".tl-card h2"), "function_c");
key("ArrowUp", document.querySelector(".tl-lanes"));
equal("caller", text(".tl-card h2"), "function_b");
pointer(".tl-lanes", "pointermove", width / 2, y);
equal("tip", text(".tl-tip b"), "function_b");
// Spikes.
key("]");
await settle();
equal("spike", text(".tl-card h2"), "Spike in slow" + "<" + "/script>");
if (!text(".tl-card").includes("disk") || !text(".tl-card").includes("3 times")) wrong("card", text(".tl-card"));
if (!text(".tl-say").startsWith("1.760 µs")) wrong("spike's part", text(".tl-say"));
// Zooming in has an end, and all of it can be seen again.
for (let i = 0; i < 60; i++) key("w");
await settle();
if (!/^(2\d|3\d) ns/.test(text(".tl-say"))) wrong("closest", text(".tl-say"));
key("0");
await settle();
equal("all", text(".tl-say").slice(0, 8), "9.000 µs");
history.back();
await settle();
if (!/^(2\d|3\d) ns/.test(text(".tl-say"))) wrong("back to what was zoomed", text(".tl-say"));
history.forward();
await settle();
equal("forward", text(".tl-say").slice(0, 8), "9.000 µs");
// Search.
const search = document.querySelector("input[type=search]");
search.value = "function_e";
search.dispatchEvent(new Event("input"));
await settle();
if (!text(".tl-say").includes("1 function found")) wrong("search", text(".tl-say"));
equal("filtered", rows().length, 1);
if (document.querySelector("#view .failure")) wrong(text("#view .failure"));
`)
}

// TestOverview checks that logs of calls lead the overview with their time line, and that the flame graph of all calls
// follows.
func TestOverview(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	browsertest.Check(t, harness(t, timeline.Small(), nil), "overview", script+`
for (const name of ["of-time", "of-stacks"]) for (let i = 0; i < 50 && !Number(document.querySelector("." + name).dataset.bars); i++) await pause();
equal("pictures", [...document.querySelectorAll(".leading")].map(function (e) { return e.className; }).join(), "leading of-time,leading of-stacks");
if (!(Number(document.querySelector(".of-time").dataset.bars) > 5)) wrong("bars of the time line");
equal("bars of the flame graph", document.querySelector(".of-stacks").dataset.bars, "5");
equal("caption", text(".of-time figcaption"), "Time line: the calls of 2 threads in 9.000 µs.");
const canvas = document.querySelector(".of-stacks canvas"), box = canvas.getBoundingClientRect();
canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + 30, clientY: box.top + 19 + 8, bubbles: true }));
equal("tip", text(".of-stacks .tl-tip b"), "function_b");
canvas.dispatchEvent(new MouseEvent("click", { clientX: box.left + 30, clientY: box.top + 19 + 8, bubbles: true }));
await settle();
equal("address", location.hash, "#flame?what=calls0&zoom=0");
history.back();
await settle();
document.querySelector(".of-time canvas[role=img]").click();
await settle();
equal("address", location.hash, "#timeline");
`)
}

// TestClockStep checks that times below the step of the clock are written as bounds.
func TestClockStep(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	log := timeline.Small()
	log.About.Clock.Step = 3000
	browsertest.Check(t, harness(t, log, nil), "flame", script+`
const card = function () { return Object.fromEntries([...document.querySelectorAll(".tl-card dt")].map(function (r) { return [r.textContent, r.nextElementSibling.textContent.replaceAll("\u202f", " ")]; })); };
location.hash = "#flame?what=calls0&zoom=0.0";
await settle();
const c = card();
equal("calls", c.Calls, "3");
equal("median, of 2 ns", c.Median, "< 3.002 µs");
equal("longest, of 4 µs", c.Longest, "< 7.000 µs");
equal("a sum is not rounded", c.Total.split(",")[0], "4.003 µs");
const longest = rows().map(function (r) { return r.split("|"); });
for (const r of longest) if (r[0] === "function_d") equal("longest of the table", r[r.length - 1], "< 3.007 µs");
`)
}

func TestFlamePage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	browsertest.Check(t, harness(t, timeline.Small(), nil), "flame", script+`
equal("rows", rows()[0], "function_b|1|9.000 µs|4.990 µs|9.000 µs");
equal("all", text(".tl-card h2"), "all");
// A function of the table has its callers and callees.
[...document.querySelectorAll(".tl-table td button")].find(function (b) { return b.textContent === "function_c"; }).click();
await settle();
if (!location.hash.includes("fn=function_c") || !location.hash.includes("mode=sandwich")) wrong("address", location.hash);
equal("chosen", text(".tl-card h2"), "function_c");
if (!text(".tl-card").includes("Calls3")) wrong("calls", text(".tl-card"));
key("Escape");
await settle();
// The bar of the outermost function can be zoomed into.
const canvas = document.querySelector(".tl-scroll canvas");
canvas.dispatchEvent(new MouseEvent("click", { clientX: canvas.getBoundingClientRect().left + 5, clientY: canvas.getBoundingClientRect().top + 25, bubbles: true }));
await settle();
equal("zoomed", text(".tl-card h2"), "function_b");
equal("address of the zoom", new URLSearchParams(location.hash.split("?")[1]).get("zoom"), "0");
[...document.querySelectorAll("[data-by]")].find(function (b) { return b.textContent === "Calls"; }).click();
await settle();
if (!location.hash.includes("by=calls") || !location.hash.includes("zoom=0")) wrong("address of both", location.hash);
history.back();
await settle();
equal("back to time", document.querySelector("[data-by=total]").getAttribute("aria-pressed"), "true");
history.back();
await settle();
if (location.hash.includes("zoom")) wrong("back from the zoom", location.hash);
equal("all again", document.querySelector(".tl-bar button[title^='Show all']").disabled, true);
// What differs.
const select = document.querySelector("select");
select.value = "calls1";
select.dispatchEvent(new Event("change"));
await settle();
if (!text(".tl-note").includes("before is compared with after")) wrong("difference", text(".tl-note"));
if (!rows().some(function (r) { return r.startsWith("function_f") && r.includes("+1"); })) wrong("changes", rows().join(" "));
`)
}

// TestNextSpike steps through spikes: of all of the time the first one comes first, and from the last one on the first
// again.
func TestNextSpike(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	marks := spike()
	first := marks.Spikes[0]
	for _, at := range []uint64{5000, 8000} {
		s := first
		o := *s.Object
		o.Peak.Function = fmt.Sprintf("spike_at_%d", at)
		s.Object, s.Start, s.End = &o, at-500, at
		marks.Spikes = append(marks.Spikes, s)
	}
	browsertest.Check(t, harness(t, timeline.Small(), marks), "timeline", script+`
for (const want of ["slow<" + "/script>", "spike_at_5000", "spike_at_8000", "slow<" + "/script>"]) {
  key("]");
  await settle();
  equal("next", text(".tl-card h2"), "Spike in " + want);
}
key("[");
await settle();
equal("previous", text(".tl-card h2"), "Spike in spike_at_8000");
`)
}

// TestMerged checks what a file shows of a part of a time line whose short calls are merged: numbers of calls and longest
// calls are lower bounds, or not there, and all of it is exact.
func TestMerged(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	log := timeline.NewProgram(400_000, 2)
	res, err := account.Run(t.Context(), log, account.Options{})
	if err != nil {
		t.Fatal(err)
	}
	truth := map[string][2]uint64{}
	for _, f := range account.Functions(res.Merged()) {
		truth[functionName(f.Func)] = [2]uint64{f.Calls, f.Max}
	}
	want, err := json.Marshal(truth)
	if err != nil {
		t.Fatal(err)
	}
	browsertest.Check(t, harness(t, log, nil), "timeline", script+`
const truth = `+string(want)+`;
const units = { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9 };
const numberOf = function (text) { return Number(text.replace(/[^0-9.]/g, "")); };
const durationOf = function (text) { return numberOf(text) * units[/[a-zµ]+$/.exec(text)[0]]; };
equal("exact rows", rows().length, Object.keys(truth).length);
for (const row of rows()) {
  const cells = row.split("|");
  if (numberOf(cells[1]) !== truth[cells[0]][0]) wrong("all of it", row, truth[cells[0]]);
}
location.hash = "timeline?a=1&z=" + (cairn.model.timeline.end - 1);
await settle();
const said = /Approximate: ([0-9,]+) calls \(/.exec(text("#view"));
if (!said) wrong("it does not say how many calls are merged");
// Of all calls, those in rows, those that are merged and those left out are all.
const lost = / ([0-9,]+) calls? \([^)]*\) more are left out/.exec(text("#view"));
let told = numberOf(said[1]) + (lost ? numberOf(lost[1]) : 0), all = 0;
for (const row of rows()) told += numberOf(row.split("|")[1] || "0");
for (const name in truth) all += truth[name][0];
if (told > all * 1.001 || told < all * 0.9) wrong("calls that are said", told + " of " + all);
let bounds = 0;
for (const row of rows()) {
  const cells = row.split("|"), of = truth[cells[0]];
  if (cells[1] && !(cells[1].startsWith("≥") && numberOf(cells[1]) <= of[0])) wrong("calls", row, of);
  if (cells[4] && !(cells[4].startsWith("≥") && durationOf(cells[4]) <= of[1] * 1.001)) wrong("longest", row, of);
  if (cells[4].includes("0 ns") || cells[1].endsWith(" 0")) wrong("a number that is not known", row);
  if (!cells[2].startsWith("≈") || !cells[3].startsWith("≈")) wrong("times are not marked", row);
  if (cells[1]) bounds++;
}
if (!bounds) wrong("no bounds at all", rows().join(" "));
`)
}

// A part of the time line has a flame graph.
func TestPartPage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	browsertest.Check(t, harness(t, timeline.Small(), nil), "flame?from=1000&to=2000", script+`
equal("part", document.querySelector("select").selectedOptions[0].textContent.replaceAll("\u202f", " "), "Part of the time line, 1.000 µs");
equal("rows", rows().join(" "), "function_b|1|1.000 µs|1.000 µs|1.000 µs function_f|1|1.000 µs|1.000 µs|1.000 µs");
`)
}

// Screen readers: axe finds nothing serious in the views over time, in light and dark.
func TestAccessible(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("axe is installed from npm")
	}
	axe := browsertest.Axe(t)
	for _, theme := range []string{"light", "dark"} {
		for hash, steps := range map[string]string{
			"timeline": `
await examine("time line");
const width = document.querySelector(".tl-lanes").clientWidth;
pointer(".tl-lanes", "pointerdown", width / 2, 40);
pointer(".tl-lanes", "pointerup", width / 2, 40);
await examine("a call");
key("]");
await settle();
await examine("a spike");
pointer(".tl-axis", "pointerdown", 0, 10);
pointer(".tl-axis", "pointermove", width / 2, 10);
pointer(".tl-axis", "pointerup", width / 2, 10);
await settle();
await examine("a part");
key("?");
await pause();
await examine("help");
`,
			"flame": `
await examine("flame graph");
[...document.querySelectorAll(".tl-table td button")].find(function (b) { return b.textContent === "function_c"; }).click();
await settle();
await examine("callers and callees");
key("Escape");
await settle();
const select = document.querySelector("select");
select.value = "calls1";
select.dispatchEvent(new Event("change"));
await settle();
await examine("difference");
`,
		} {
			for _, complaint := range browsertest.Probe(t, harness(t, timeline.Small(), spike()), hash, axe+`document.documentElement.dataset.theme = "`+theme+`";`+script+steps) {
				t.Errorf("%s: %s", theme, complaint)
			}
		}
	}
}
