package flamegraph

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/report/webpage/browsertest"
)

// TestBrowserPolicy checks that the script runs under the page's own security policy, and that
// the page shows what its address selects.
func TestBrowserPolicy(t *testing.T) {
	t.Parallel()
	page, _ := write(t, WriteHTML, small(), Options{})
	dom := browsertest.Browse(t, page, "q=g&at=2")
	for _, want := range []string{
		`<h1 id="title">small.log</h1>`, `A log for tests. It is small.`, "g: 30.0 % of the time in or below 1 bar",
		`aria-current="location"`, "Stack, outermost first",
	} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestBrowserHostile checks that names are shown as text and never become elements of the page.
func TestBrowserHostile(t *testing.T) {
	t.Parallel()
	p := small()
	evil := `</script><script>document.title="pwned"</script><img src=x onerror='document.title="pwned"'>`
	p.Title, p.Notes = evil, []string{evil}
	p.Name = func(id calllog.FuncID) string { return fmt.Sprint(evil, id) }
	page, _ := write(t, WriteHTML, p, Options{})
	browsertest.Check(t, page, "", `
    const canvas = document.getElementById("canvas"), box = canvas.getBoundingClientRect();
    for (const kind of ["mousemove", "mousedown", "mouseup"]) canvas.dispatchEvent(new MouseEvent(kind, { clientX: box.left + 50, clientY: box.top + 50, bubbles: true }));
    await pause();
    equal("title", document.title.startsWith("<" + "/script>"), true);
    equal("images", document.images.length, 0);
    equal("scripts", document.scripts.length, 4);
    equal("details", document.querySelector("#details h2").textContent.startsWith("<" + "/script>"), true);
`)
}

// TestBrowserUse zooms, searches, sorts and inverts the graph, with the mouse and with keys.
func TestBrowserUse(t *testing.T) {
	t.Parallel()
	page, _ := write(t, WriteHTML, small(), Options{})
	browsertest.Check(t, page, "", useScript)
}

const useScript = `
    const $ = function (s) { return document.querySelector(s); };
    const canvas = $("#canvas"), ctx = canvas.getContext("2d");
    const at = function (share, row) {
      const box = canvas.getBoundingClientRect();
      return { clientX: box.left + share * box.width, clientY: box.top + 20 * row + 9, bubbles: true, button: 0 };
    };
    const pixel = function (share, row) {
      const r = devicePixelRatio;
      return [...ctx.getImageData(Math.round(share * canvas.width), Math.round((20 * row + 3) * r), 1, 1).data].slice(0, 3).join();
    };
    const colour = function (name) {
      const v = getComputedStyle(document.documentElement).getPropertyValue(name);
      return [1, 3, 5].map(function (i) { return parseInt(v.slice(i, i + 2), 16); }).join();
    };
    const move = function (share, row) { canvas.dispatchEvent(new MouseEvent("mousemove", at(share, row))); };
    const click = async function (share, row) {
      canvas.dispatchEvent(new MouseEvent("mousedown", at(share, row)));
      canvas.dispatchEvent(new MouseEvent("mouseup", at(share, row)));
      await pause();
    };
    const key = async function (k) {
      canvas.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true }));
      await pause();
    };
    const press = async function (s) {
      $(s).click();
      await pause();
    };
    const row = function (n) { return [...document.querySelectorAll("#body tr")[n].children].map(function (c) { return c.textContent; }).join(" | "); };

    // Bars: main is all, f 60 %, g 30 %, 10 % are main itself.
    equal("bar of main", pixel(0.5, 1), colour("--c16"));
    equal("bar of f", pixel(0.3, 2), colour("--c22"));
    equal("bar of g", pixel(0.75, 2), colour("--c18"));
    equal("own time of main", pixel(0.95, 2), "0,0,0");
    move(0.3, 2);
    equal("tip", $("#tip").hidden, false);
    const tip = $("#tip").innerText.replace(/\s+/g, " ").trim();
    equal("tip's text", tip, "f(std::vector<int>&) total 60.00 µs 60.0 % self 20.00 µs 20.0 % calls 2 mean 30.00 µs min 20.00 µs median 40.00 µs 90 % 40.00 µs 99 % 40.00 µs max 40.00 µs");
    move(0.95, 2);
    equal("tip beside bars", $("#tip").hidden, true);
    move(0.75, 2);
    if (!$("#tip").innerText.includes("1 of 2 calls has no exit in the log")) wrong("the tip of g does not say that a call has no exit");
    canvas.dispatchEvent(new MouseEvent("mouseleave"));

    // Zoom.
    await click(0.75, 2);
    equal("path", $("#path").textContent, "all›main›g");
    equal("zoomed to g", pixel(0.02, 2) + " " + pixel(0.98, 2), colour("--c18") + " " + colour("--c18"));
    equal("details", $("#details h2").textContent, "g");
    equal("stack", [...document.querySelectorAll(".stack li")].map(function (l) { return l.textContent; }).join(), "main,g");
    await key("Escape");
    equal("path after Escape", $("#path").textContent, "all");
    equal("bar of f again", pixel(0.3, 2), colour("--c22"));
    canvas.dispatchEvent(new WheelEvent("wheel", Object.assign(at(0.75, 2), { deltaY: -400, ctrlKey: true, cancelable: true })));
    await pause();
    equal("wheel", pixel(0.65, 2), colour("--c18"));
    await press("#reset");

    // Keys.
    for (const k of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"]) await key(k);
    equal("arrows", $("#details h2").textContent, "g");
    equal("said", $("#live").textContent, "g, total 30.00 µs, self 30.00 µs, calls 2");
    await key("ArrowUp");
    equal("up", $("#details h2").textContent, "main");
    await key("ArrowDown");
    await key("Enter");
    equal("Enter", $("#path").textContent, "all›main›f(std::vector<int>&)");
    await press("#reset");

    // Search: f is below f, and counts once.
    const search = async function (text) {
      $("#query").value = text;
      $("#query").dispatchEvent(new Event("input"));
      await pause();
      return $("#found").textContent;
    };
    equal("search", await search("VECTOR"), "VECTOR: 60.0 % of the time in or below 2 bars");
    equal("marked", pixel(0.3, 2), colour("--mark"));
    equal("not marked", pixel(0.75, 2), colour("--c18"));
    equal("rows found", document.querySelectorAll("#body tr").length, 1);
    equal("regexp", await search("/^[gm]/"), "/^[gm]/: 100.0 % of the time in or below 2 bars");
    equal("root is no function", await search("all"), "all: no bar");
    if (!/regular expression/i.test(await search("/(/"))) wrong("a wrong expression is not called so: " + $("#found").textContent);
    await press("#reset");
    equal("nothing found", $("#found").textContent, "4 stacks");

    // The table: recursion counts once.
    equal("first row", row(0), "f(std::vector<int>&) | 60.00 µs | 60.00 µs | 3");
    await press("[data-sort=total]");
    equal("by total", row(0), "main | 10.00 µs | 100.0 µs | 1");
    await press("[data-sort=name]");
    equal("by name", row(0).slice(0, 2), "f(");
    await press("[data-sort=name]");
    equal("by name, from the end", row(0).slice(0, 4), "main");
    await press("#body tr:first-child button");
    equal("picked", pixel(0.5, 1), colour("--mark"));
    equal("share of picked", $("#found").textContent, "main: 100.0 % of the time in or below 1 bar");
    await press("#body tr:first-child button");
    equal("no longer picked", pixel(0.5, 1), colour("--c16"));

    // Measures: 6 calls, of which 2 + 1 are f and 2 g.
    await press("#by [data-value=calls]");
    equal("f by calls", pixel(0.49, 2), colour("--c22"));
    equal("g by calls", pixel(0.51, 2) + " " + pixel(0.82, 2), colour("--c18") + " " + colour("--c18"));
    equal("main's own call", pixel(0.9, 2), "0,0,0");
    await press("#by [data-value=total]");

    // Turned round: f 60, g 30, main 10; below f main, then f again.
    await press("#view [data-value=up]");
    equal("own time of f", pixel(0.59, 1), colour("--c22"));
    equal("own time of g", pixel(0.61, 1), colour("--c18"));
    equal("own time of main", pixel(0.95, 1), colour("--c16"));
    equal("callers of f", pixel(0.2, 2) + " " + pixel(0.5, 2), colour("--c22") + " " + colour("--c16"));
    await click(0.5, 2);
    equal("path upward", $("#path").textContent, "all‹f(std::vector<int>&)‹main");
    equal("search upward", await search("vector"), "vector: 60.0 % of the time in or below 2 bars");
    equal("address", location.hash.split("&").slice(0, 2).join("&"), "#view=up&q=vector");
    await press("#reset");

    // Themes.
    const before = document.documentElement.dataset.theme;
    await press("#theme");
    equal("theme", document.documentElement.dataset.theme, before === "dark" ? "light" : "dark");
    equal("bar in the other theme", pixel(0.59, 1), colour("--c22"));
    equal("nothing was loaded", performance.getEntriesByType("resource").length, 0);
`

// sampled is a profile of samples, with a function of each kind.
func sampled() *Profile {
	trie := calltrie.New()
	at := calltrie.Root
	names := []string{"", "main", "f [inferred]", "in [inlined]", "read [kernel]"}
	left := uint64(12)
	for i, self := range []uint64{5, 2, 1, 4} {
		at = trie.Child(at, calllog.FuncID(i+1))
		trie.Node(at).Total, trie.Node(at).Self = left, self
		left -= self
	}
	return &Profile{
		Title: "app", Unit: Samples, Sampled: true, Groups: []Group{{Trie: trie}},
		Name: func(id calllog.FuncID) string { return names[id] },
		Kind: func(id calllog.FuncID) Kind { return []Kind{Plain, Plain, Restored, Inlined, Kernel}[id] },
	}
}

// TestBrowserSamples checks that a page of samples shows neither calls nor times, names the unit, and gives restored,
// inlined and kernel's functions colours of their own.
func TestBrowserSamples(t *testing.T) {
	t.Parallel()
	page, sum := write(t, WriteHTML, sampled(), Options{})
	if sum.Stacks != 4 {
		t.Errorf("%+v", sum)
	}
	browsertest.Check(t, page, "", `
    const shown = [...document.querySelectorAll("#by button")].filter(function (b) { return b.offsetWidth > 0; });
    equal("widths", shown.map(function (b) { return b.textContent; }).join(), "Total,Self");
    const heads = [...document.querySelectorAll("thead button")].filter(function (b) { return b.offsetWidth > 0; });
    equal("heads", heads.map(function (b) { return b.textContent; }).join(), "Function,Self samples,Total samples");
    equal("table", [...document.querySelectorAll("#body tr")].map(function (r) { return [...r.children].map(function (c) { return c.textContent; }).join(); }).join(";"), "main,5,12;read [kernel],4,4;f [inferred],2,7;in [inlined],1,5");
    equal("legend", document.querySelector("#legend").textContent, "kernelrestoredinlined");
    const seen = ["k1", "k2", "k3"].map(function (k) { return getComputedStyle(document.documentElement).getPropertyValue("--" + k); });
    equal("colours", new Set(seen).size, 3);
    const canvas = document.getElementById("canvas"), g = canvas.getContext("2d"), ratio = canvas.width / canvas.clientWidth;
    const at = function (row) { return "#" + [...g.getImageData(6 * ratio, (row * 20 + 2) * ratio, 1, 1).data].slice(0, 3).map(function (v) { return v.toString(16).padStart(2, "0"); }).join(""); };
    equal("restored", at(2), seen[1]);
    equal("inlined", at(3), seen[2]);
    equal("kernel", at(4), seen[0]);
    document.querySelectorAll("#body button")[2].click();
    await pause();
    equal("found", document.querySelector("#found").textContent, "f [inferred]: 58.3 % of the samples in or below 1 bar");
`)
}

// TestBrowserSampledTime checks that samples of a clock are times, still without calls.
func TestBrowserSampledTime(t *testing.T) {
	t.Parallel()
	doc := sampled()
	doc.Unit, doc.Kind = "ns", nil
	page, _ := write(t, WriteHTML, doc, Options{})
	browsertest.Check(t, page, "", `
    const heads = [...document.querySelectorAll("thead button")].filter(function (b) { return b.offsetWidth > 0; });
    equal("heads", heads.map(function (b) { return b.textContent; }).join(), "Function,Self,Total");
    equal("row", document.querySelector("#body tr").textContent, "main5 ns12 ns");
    equal("legend", document.querySelector("#legend").textContent, "");
`)
}

// TestBrowserLayouts checks the invariants of every layout with the page's own code: bars are
// within those above them, and the inverted tree has the same sums.
func TestBrowserLayouts(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]Document{"threads": sampleThreads(3000), "diff": sampleDiff(2000)} {
		page, _ := write(t, WriteHTML, doc, Options{MaxNodes: 1500})
		for _, complaint := range browsertest.Probe(t, page, "", treeScript+`
    const up = upward(), slack = 1e-6;
    for (const t of [downward, up]) {
      for (const by of ["total", "self", "calls"]) {
        for (const side of isDiff ? ["both", "0", "1"] : ["both"]) {
          const l = layout(t, by, side), what = [t.view, by, side].join(" ");
          let bars = 0;
          for (const row of l.rows) bars += row.length;
          for (let i = 1; i < t.n; i++) {
            const p = t.parent[i];
            if (l.x[i] < l.x[p] - slack || l.x[i] + l.w[i] > l.x[p] + l.w[p] + slack) wrong(what + ": bar " + i + " reaches out of " + p);
            if (l.w[i] === 0) bars++;
          }
          equal(what + " bars", bars, t.n);
          for (const row of l.rows) for (let k = 1; k < row.length; k++) if (l.x[row[k]] < l.x[row[k - 1]] + l.w[row[k - 1]] - slack) wrong(what + ": bars overlap");
        }
      }
    }
    for (let k = 0; k < sides; k++) {
      const sum = function (list) { return list.reduce(function (a, b) { return a + b; }, 0); };
      equal("self of side " + k, up.sides[k].self[0], sum(downward.sides[k].self));
      equal("calls of side " + k, up.sides[k].calls[0], sum(downward.sides[k].calls));
      let tops = 0;
      for (let i = 0; i < up.n; i++) if (up.depth[i] === 1) tops += up.sides[k].self[i];
      equal("own times of side " + k, tops, up.sides[k].self[0]);
    }
    // A search, against a walk from every bar to the root.
    const hit = matcher("sqlite3page"), l = layout(downward, "self", "both");
    let want = 0;
    for (let i = 0; i < downward.n; i++) {
      let found = false;
      for (let k = i; k >= 0; k = downward.parent[k]) found = found || (downward.name[k] >= 0 && hit[downward.name[k]]);
      if (found) for (const s of downward.sides) want += s.self[i];
    }
    if (Math.abs(covered(l, hit).share * l.whole - want) > 1) wrong("a search covers " + covered(l, hit).share * l.whole + ", not " + want);
`) {
			t.Errorf("%s: %s", name, complaint)
		}
	}
}

// TestBrowserLarge checks that a page with a hundred thousand bars is smaller than 10 MB and
// opens at once.
func TestBrowserLarge(t *testing.T) {
	t.Parallel()
	page, _ := write(t, WriteHTML, sampleProfile(100_000), Options{MaxNodes: 100_000})
	if len(page) > 10_000_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
	page = strings.Replace(page, "<body>", "<body><script>var opened = performance.now();</script>", 1)
	page = strings.Replace(page, "</body>", `<script>document.title = "ready after " + Math.round(performance.now() - opened) + " ms";</script></body>`, 1)
	dom := browsertest.Browse(t, browsertest.WithoutPolicy(page), "")
	found := regexp.MustCompile(`<title>ready after (\d+) ms</title>`).FindStringSubmatch(dom)
	if found == nil {
		t.Fatalf("the page did not open:\n%.2000s", dom)
	}
	t.Logf("%d bytes, ready after %s ms", len(page), found[1])
}
