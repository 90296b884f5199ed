package flamegraph_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/page/single"
	"github.com/cairnprof/cairn/internal/report/webpage/browsertest"
)

// write returns the page of a document.
func write(t *testing.T, doc flamegraph.Document, o flamegraph.Options) (string, flamegraph.Summary) {
	t.Helper()
	var b bytes.Buffer
	sum, err := single.Flame(&b, doc, o)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), sum
}

// TestBrowserPolicy checks that the script runs under the page's own security policy, and that
// the page shows what its address selects.
func TestBrowserPolicy(t *testing.T) {
	t.Parallel()
	page, _ := write(t, flamegraph.Small(), flamegraph.Options{})
	dom := strings.ReplaceAll(browsertest.Browse(t, page, "flame?q=g&zoom=0.1"), "\u202f", " ")
	for _, want := range []string{
		`<title>Flame graph · small.log</title>`, `A log for tests. It is small.`, "30.0 % of the time in or below 1 bar",
		`aria-current="location">g<`, "Stack, outermost first",
	} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestBrowserHostile checks that names are shown as text and never become elements of the page.
func TestBrowserHostile(t *testing.T) {
	t.Parallel()
	p := flamegraph.Small()
	evil := `</script><script>document.title="pwned"</script><img src=x onerror='document.title="pwned"'>`
	p.Title, p.Notes = evil, []string{evil}
	p.Name = func(id calllog.FuncID) string { return fmt.Sprint(evil, id) }
	page, _ := write(t, p, flamegraph.Options{})
	browsertest.Check(t, page, "", `
    const canvas = document.querySelector(".tl-scroll canvas"), box = canvas.getBoundingClientRect();
    for (const kind of ["pointermove", "pointerdown", "click"]) canvas.dispatchEvent(new PointerEvent(kind, { clientX: box.left + 50, clientY: box.top + 50, bubbles: true }));
    await pause();
    equal("title", document.title.startsWith("Flame graph · <" + "/script>"), true);
    equal("images", document.images.length, 0);
    equal("scripts", document.scripts.length, 5);
    equal("details", document.querySelector(".tl-card h2").textContent.startsWith("<" + "/script>"), true);
`)
}

// TestBrowserUse zooms, searches, sorts and inverts the graph, with the mouse and with keys.
func TestBrowserUse(t *testing.T) {
	t.Parallel()
	page, _ := write(t, flamegraph.Small(), flamegraph.Options{})
	browsertest.Check(t, page, "", common+useScript)
}

const common = `
    const $ = function (s) { return document.querySelector(s); };
    const text = function (e) { return e.textContent.replaceAll("\u202f", " "); };
    const canvas = $(".tl-scroll canvas"), ctx = canvas.getContext("2d");
    const at = function (share, row) {
      const box = canvas.getBoundingClientRect();
      return { clientX: box.left + share * box.width, clientY: box.top + 19 * row + 9, bubbles: true, button: 0 };
    };
    const pixel = function (share, row) {
      const r = devicePixelRatio;
      return [...ctx.getImageData(Math.round(share * canvas.width), Math.round((19 * row + 3) * r), 1, 1).data].slice(0, 3).join();
    };
    const colour = function (name) {
      const v = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
      return [1, 3, 5].map(function (i) { return parseInt(v.length === 4 ? v[(i + 1) / 2].repeat(2) : v.slice(i, i + 2), 16); }).join();
    };
    const press = async function (e) {
      (typeof e === "string" ? $(e) : e).click();
      await pause();
    };
    const button = function (text) { return [...document.querySelectorAll("#view button")].find(function (b) { return b.textContent === text && b.offsetWidth > 0; }); };
    const row = function (n) { return [...document.querySelectorAll(".tl-table tbody tr")[n].children].map(text).join(" | "); };
    const params = function () { return new URLSearchParams(location.hash.split("?")[1]); };
    const visible = function (s) { return [...document.querySelectorAll(s)].filter(function (b) { return b.offsetWidth > 0; }).map(function (b) { return b.textContent; }).join(); };
`

const useScript = `
    const move = function (share, row) { canvas.dispatchEvent(new PointerEvent("pointermove", at(share, row))); };
    const click = async function (share, row) {
      canvas.dispatchEvent(new MouseEvent("click", at(share, row)));
      await pause();
    };
    const key = async function (k) {
      canvas.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true, cancelable: true }));
      await pause();
    };
    const path = function () { return $(".flame-path").hidden ? "all" : $(".flame-path").textContent; };

    // Bars: main is all, f 60 %, g 30 %, 10 % are main itself.
    equal("bar of main", pixel(0.5, 1), colour("--c16"));
    equal("bar of f", pixel(0.3, 2), colour("--c22"));
    equal("bar of g", pixel(0.75, 2), colour("--c18"));
    equal("own time of main", pixel(0.95, 2), colour("--paper"));
    move(0.3, 2);
    equal("tip", $(".tl-tip").hidden, false);
    const tip = [...document.querySelectorAll(".tl-tip b, .tl-tip td")].map(text).join(" ");
    equal("tip's text", tip, "f(std::vector<int>&) Total 60.00 µs, 60.0 % Self 20.00 µs, 20.0 % Calls 2 Mean 30.00 µs Shortest 20.00 µs Median 40.00 µs 90 % 40.00 µs 99 % 40.00 µs Longest 40.00 µs");
    move(0.95, 2);
    equal("tip beside bars", $(".tl-tip").hidden, true);
    move(0.75, 2);
    if (!$(".tl-tip").innerText.includes("1 of 2 calls has no exit in the log")) wrong("the tip of g does not say that a call has no exit");
    canvas.dispatchEvent(new PointerEvent("pointerleave"));

    // Zoom.
    await click(0.75, 2);
    equal("path", path(), "all›main›g");
    equal("zoomed to g", pixel(0.02, 2) + " " + pixel(0.98, 2), colour("--c18") + " " + colour("--c18"));
    equal("details", $(".tl-card h2").textContent, "g");
    equal("stack", [...document.querySelectorAll(".flame-stack li")].map(text).join(), "main,g");
    await press(button("All"));
    equal("path after all", path(), "all");
    equal("bar of f again", pixel(0.3, 2), colour("--c22"));
    history.back();
    await pause();
    equal("back to the zoom", path(), "all›main›g");
    await press(button("All"));
    canvas.dispatchEvent(new WheelEvent("wheel", Object.assign(at(0.75, 2), { deltaY: -400, ctrlKey: true, cancelable: true })));
    await pause();
    equal("wheel", pixel(0.65, 2), colour("--c18"));
    if (!params().get("part")) wrong("the address lacks the part: " + location.hash);
    await press(button("All"));
    equal("bar of f after the wheel", pixel(0.55, 2), colour("--c22"));

    // Keys.
    for (const k of ["Home", "ArrowDown", "ArrowDown", "ArrowRight"]) await key(k);
    equal("arrows", $(".tl-card h2").textContent, "g");
    equal("said", text($("#announce")), "g, Total 30.00 µs, 30.0 %, Self 30.00 µs, 30.0 %, Calls 2");
    equal("address of the chosen", params().get("at"), "0.1");
    await key("ArrowUp");
    equal("up", $(".tl-card h2").textContent, "main");
    await key("ArrowDown");
    await key("Enter");
    equal("Enter", path(), "all›main›f(std::vector<int>&)");
    await press(button("All"));
    await key("+");
    equal("+", pixel(0.8, 2), colour("--c18"));
    if (pixel(0.86, 2) === colour("--paper")) wrong("+ does not scale");
    await press(button("All"));

    // Search: f is below f, and counts once.
    const query = $("input[type=search]");
    const search = async function (what) {
      query.value = what;
      query.dispatchEvent(new Event("input"));
      await pause();
      return text($(".tl-say"));
    };
    equal("search", await search("VECTOR"), "60.0 % of the time in or below 2 bars");
    equal("marked", pixel(0.3, 2), colour("--mark"));
    equal("not marked", pixel(0.75, 2), colour("--bar-dim"));
    equal("rows found", document.querySelectorAll(".tl-table tbody tr").length, 1);
    equal("regexp", await search("/^[gm]/"), "100.0 % of the time in or below 2 bars");
    equal("root is no function", await search("all"), "no bar");
    if (!/regular expression/i.test(await search("/(/"))) wrong("a wrong expression is not called so: " + text($(".tl-say")));
    await press(button("All"));
    equal("nothing found", text($(".tl-say")), "4 stacks");
    equal("nothing searched", query.value, "");

    // The table: recursion counts once.
    equal("first row", row(0), "f(std::vector<int>&) | 3 | 60.00 µs | 60.00 µs | 40.00 µs");
    await press("[data-sort=total]");
    equal("by total", row(0), "main | 1 | 100.0 µs | 10.00 µs | 100.0 µs");
    await press("[data-sort=name]");
    equal("by name", row(0).slice(0, 2), "f(");
    await press("[data-sort=name]");
    equal("by name, from the end", row(0).slice(0, 4), "main");
    await click(0.5, 1);
    await press(button("Find everywhere"));
    equal("found everywhere", pixel(0.5, 1), colour("--mark"));
    equal("share of it", text($(".tl-say")), "100.0 % of the time in or below 1 bar");
    await press(button("All"));
    equal("no longer", pixel(0.5, 1), colour("--c16"));

    // Measures: 6 calls, of which 2 + 1 are f and 2 g.
    await press("[data-by=calls]");
    equal("f by calls", pixel(0.49, 2), colour("--c22"));
    equal("g by calls", pixel(0.51, 2) + " " + pixel(0.82, 2), colour("--c18") + " " + colour("--c18"));
    equal("main's own call", pixel(0.9, 2), colour("--paper"));
    await press("[data-by=self]");
    if (pixel(0.5, 1) === colour("--c16")) wrong("the colour of main does not say how little of the time is its own");
    equal("g is its own", pixel(0.75, 2), colour("--c18").split(",").map(Number).join());
    await press("[data-by=total]");

    // Turned round: f 60, g 30, main 10; below f main, then f again.
    await press("[data-mode=up]");
    equal("own time of f", pixel(0.59, 1), colour("--c22"));
    equal("own time of g", pixel(0.61, 1), colour("--c18"));
    equal("own time of main", pixel(0.95, 1), colour("--c16"));
    equal("callers of f", pixel(0.2, 2) + " " + pixel(0.5, 2), colour("--c22") + " " + colour("--c16"));
    await click(0.5, 2);
    equal("path upward", path(), "all‹f(std::vector<int>&)‹main");
    equal("search upward", await search("vector"), "60.0 % of the time in or below 2 bars");
    equal("address", params().get("mode") + " " + params().get("q"), "up vector");
    await press(button("All"));

    // Themes.
    const before = document.documentElement.dataset.theme;
    await press("#theme");
    equal("theme", document.documentElement.dataset.theme, before === "dark" ? "light" : "dark");
    equal("bar in the other theme", pixel(0.59, 1), colour("--c22"));
    equal("nothing was loaded", performance.getEntriesByType("resource").length, 0);
    equal("tabs", $("#tabs").children.length, 0);
`

// TestBrowserSamples checks that a page of samples shows neither calls nor times, names the unit, and gives restored,
// inlined and kernel's functions colours of their own.
func TestBrowserSamples(t *testing.T) {
	t.Parallel()
	page, sum := write(t, flamegraph.Sampled(), flamegraph.Options{})
	if sum.Stacks != 4 {
		t.Errorf("%+v", sum)
	}
	browsertest.Check(t, page, "", common+`
    equal("widths", visible("[data-by]"), "Total,Self");
    equal("heads", visible("thead button"), "Function,Total samples,Self samples ↓");
    equal("table", [0, 1, 2, 3].map(row).join(";"), "main | 12 | 5;read [kernel] | 4 | 4;f [inferred] | 7 | 2;in [inlined] | 5 | 1");
    equal("legend", $(".tl-legend").textContent, "kernelrestored: tail calls had removed these framesinlined");
    const seen = ["kernel", "restored", "inlined"].map(function (k) { return colour("--bar-" + k); });
    equal("colours", new Set(seen).size, 3);
    equal("restored", pixel(0.01, 2), seen[1]);
    equal("inlined", pixel(0.01, 3), seen[2]);
    equal("kernel", pixel(0.01, 4), seen[0]);
    location.hash = "flame?q=inferred";
    await pause();
    equal("found", text($(".tl-say")), "58.3 % of the samples in or below 1 bar");
`)
}

// TestBrowserSampledTime checks that samples of a clock are times, still without calls.
func TestBrowserSampledTime(t *testing.T) {
	t.Parallel()
	doc := flamegraph.Sampled()
	doc.Unit, doc.Kind = "ns", nil
	page, _ := write(t, doc, flamegraph.Options{})
	browsertest.Check(t, page, "", common+`
    equal("heads", visible("thead button"), "Function,Total,Self ↓");
    equal("row", row(0), "main | 12 ns | 5 ns");
    equal("legend", $(".tl-legend").textContent, "");
`)
}

// TestBrowserDiff checks a page of two logs: widths of either side, colours of either change, new and gone functions.
func TestBrowserDiff(t *testing.T) {
	t.Parallel()
	page, _ := write(t, flamegraph.SmallDiff(), flamegraph.Options{})
	browsertest.Check(t, page, "", common+`
    equal("sides", visible("[data-side]"), "Both,a.log,b.log");
    equal("colours", visible("[data-change]"), "Change of self,of total");
    equal("row", row(0), "slower | 1 | 0 | 700 ns | +400 ns | 700 ns | +400 ns");
    if (!text($(".tl-note")).includes("a.log is compared with b.log")) wrong("note: " + text($(".tl-note")));
    const all = pixel(0.5, 2);
    await press("[data-side='0']");
    if (pixel(0.5, 2) === all) wrong("the sides have the same widths");
    equal("address", params().get("side"), "0");
    await press("[data-side=both]");
    const self = pixel(0.1, 1);
    await press("[data-change=total]");
    if (pixel(0.1, 1) === self) wrong("main changed in total, and not in itself");
    $("canvas").dispatchEvent(new MouseEvent("click", at(0.1, 2)));
    await pause();
    equal("both values", text($(".tl-card")).includes("300 ns → 700 ns (+400 ns)"), true);
`)
}

// TestBrowserLayouts checks the invariants of every layout with the page's own code: bars are
// within those above them, and the inverted tree has the same sums.
func TestBrowserLayouts(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]flamegraph.Document{"threads": flamegraph.SampleThreads(3000), "diff": flamegraph.SampleDiff(2000)} {
		page, _ := write(t, doc, flamegraph.Options{MaxNodes: 1500})
		for _, complaint := range browsertest.Probe(t, page, "", `
    const down = cairn.trees.fromData(await cairn.load("flame/0.json")), up = cairn.trees.turn(down), slack = 1e-9, sides = down.sides.length;
    for (const t of [down, up]) {
      for (const by of ["total", "self", "calls"]) {
        for (const side of sides > 1 ? ["both", "0", "1"] : ["both"]) {
          const state = { tree: t, by: by, side: side, change: "self", zoom: null, part: [0, 1e-9], fn: -1 }, what = [by, side].join(" ");
          cairn.flamebars.arrange(state, 1000);
          const of = new Map(state.boxes.map(function (b) { return [b.node, b]; })), rows = [];
          let nodes = 0;
          (function walk(n) { nodes++; n.children.forEach(walk); })(t.root);
          equal(what + " bars", state.boxes.length <= nodes && state.boxes.length > nodes / 4, true);
          for (const b of state.boxes) {
            const p = of.get(b.node.parent);
            if (p && (b.x < p.x - slack || b.x + b.width > p.x + p.width + slack)) wrong(what + ": a bar reaches out of its caller");
            (rows[b.row] = rows[b.row] || []).push(b);
          }
          for (const row of rows) {
            row.sort(function (a, b) { return a.x - b.x; });
            for (let k = 1; k < row.length; k++) if (row[k].x < row[k - 1].x + row[k - 1].width - slack) wrong(what + ": bars overlap");
          }
        }
      }
    }
    for (let k = 0; k < sides; k++) {
      equal("self of side " + k, up.root.self[k], down.root.inside[k]);
      equal("calls of side " + k, up.root.calls[k], down.root.all[k]);
      equal("own times of side " + k, up.root.children.reduce(function (a, c) { return a + c.self[k]; }, 0), up.root.self[k]);
    }
`) {
			t.Errorf("%s: %s", name, complaint)
		}
	}
}

// TestBrowserLarge checks that a page with a hundred thousand bars is smaller than 10 MB and
// opens at once.
func TestBrowserLarge(t *testing.T) {
	t.Parallel()
	page, _ := write(t, flamegraph.SampleProfile(100_000), flamegraph.Options{MaxNodes: 100_000})
	if len(page) > 10_000_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
	page = strings.Replace(page, "<body>", "<body><script>var opened = performance.now();</script>", 1)
	page = strings.Replace(page, "</body>", `<script>setInterval(function () { if (Number(document.getElementById("view").dataset.bars) > 100 && !document.title.startsWith("ready")) document.title = "ready after " + Math.round(performance.now() - opened) + " ms"; }, 20);</script></body>`, 1)
	dom := browsertest.Browse(t, browsertest.WithoutPolicy(page), "")
	found := regexp.MustCompile(`<title>ready after (\d+) ms</title>`).FindStringSubmatch(dom)
	if found == nil {
		t.Fatalf("the page did not open:\n%.2000s", dom)
	}
	t.Logf("%d bytes, ready after %s ms", len(page), found[1])
}
