package page_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/page"
	"github.com/cairnprof/cairn/internal/report/webpage/browsertest"
)

// sample returns a page with the golden model of package model. Change changes the model.
func sample(t *testing.T, change func(m map[string]any)) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("model", "testdata", "model.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(m)
	}
	if data, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	loaded, err := os.ReadFile(filepath.Join("model", "testdata", "data.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, source, _ := strings.Cut(string(loaded), "\n")
	code := make([]string, 40)
	for i := range code {
		code[i] = fmt.Sprintf("int line%d(void); // </script>", i+1)
	}
	lines, err := json.Marshal(strings.Join(code, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	source = strings.Replace(source, `"one\ntwo\n"`, string(lines), 1)
	var b bytes.Buffer
	d := &page.Document{Title: "app", Model: text(string(data)), Data: slices.Values([]page.Blob{{Path: "source/0.json", Write: text(source)}})}
	if err := page.WriteHTML(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// views lists addresses of the page and what is shown there.
var views = map[string][]string{
	"overview":             {"Functions that ran", "66.7", "What is uncertain", "sample of 2 of 3 runs", "Against", "Longest spike", `href="#spikes?n=1">work() has run for at least 3.900 s and has not ended`, `href="#function?f=_Z4workv">work()</a> <a href="#spikes?n=0">waited up to 4.000 ms</a> for a lock that <a href="#spikes?n=0">thread 8</a> held in <a href="#function?f=main">main</a>.`},
	"functions":            {"work()", `title="only inlined"`, `aria-sort="descending"`, "3 functions, 1 only inlined, 2 without probes", ">700<"},
	"functions?q=/^id/":    {"1 of 6", ">idle<"},
	"functions?q=/(/":      {`aria-invalid="true"`, "Invalid regular expression"},
	"functions?only=ran":   {"2 of 6"},
	"function?f=_Z4workv":  {"split by the compiler", "_Z4workv.part.0", `class="edge observed restored"`, "line21", "4 restored", "2 of 3"},
	"function?f=nothing":   {"There is no function nothing in this report."},
	"function?f=next":      {"only inlined", "Inlined into", "1 copy"},
	"source":               {"a.c", "72.7"},
	"source?file=/src/a.c": {`class="line missed"`, "The compiler inlined next here", "&lt;/script&gt;", `class="tk-t"`},
	"graph?f=main":         {`class="node ran self"`, "600 ns", `class="link observed restored"`},
	"graph?f=nothing":      {"There is no function nothing in this report."},
	"pages":                {"by cairn order", "predicted", "as linked"},
	"spikes":               {"4.00..5.00 ms", "CAIRN_THRESHOLD(9);", "Threshold 1 ms.", "2 more in the logs", "HAS NOT ENDED", "waits in futex for at least 3.90 s", "lock_wait", "2 more threads", "The rows explain 75.0 % of the 8.000 ms in which calls took too long."},
	"spikes?n=0":           {"4.00..5.00 ms in", "the peak: the first call to take too long"},
	"samples":              {`class="graph-of-samples"`, "Total samples", `<i class="restored">`},
	"samples?as=list":      {`class="frame restored"`, "44.4"},
	"nothing":              {"Functions that ran", "This report has no view \u201cnothing\u201d"},
}

// TestSamplesGraph checks that samples open as a flame graph, without a choice of calls, with the unit of all numbers,
// and with a colour of its own for restored frames.
func TestSamplesGraph(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	browsertest.Check(t, sample(t, nil), "samples", `
    while (!document.querySelector("[data-ready=samples]")) await pause();
    const buttons = [...document.querySelectorAll("main button, .view button")].filter(function (b) { return b.offsetWidth > 0; }).map(function (b) { return b.textContent; });
    equal("choice of calls", buttons.includes("Calls") || buttons.includes("Time"), false);
    const card = document.querySelector(".tl-card").textContent;
    equal("unit", / samples/.test(card), true);
    const canvas = document.querySelector(".graph-of-samples canvas");
    const g = canvas.getContext("2d"), wanted = getComputedStyle(document.documentElement).getPropertyValue("--bar-restored").trim();
    const rgb = [1, 3, 5].map(function (i) { return parseInt(wanted.slice(i, i + 2), 16); }).join();
    const found = function () {
      const pixels = g.getImageData(0, 0, canvas.width, canvas.height).data;
      for (let i = 0; i < pixels.length; i += 4) if (pixels[i] + "," + pixels[i + 1] + "," + pixels[i + 2] === rgb) return true;
      return false;
    };
    while (!canvas.parentElement.closest("[data-bars]")) await pause(); // until it is drawn
    equal("restored bars are drawn", found(), true);
`)
}

// TestTreemap checks the picture of the overview: a box for each function with code, as large as that, in the colour of
// its state, which leads to the function.
func TestTreemap(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	browsertest.Check(t, sample(t, nil), "", `
    const model = [1, 9, 4, 700, 60, 60, 3, 88].map(function (n) { return { value: n }; }).sort(function (a, b) { return b.value - a.value; });
    const placed = cairn.treemap.squarify(model, [10, 20, 300, 100]);
    const all = model.reduce(function (a, i) { return a + i.value; }, 0);
    equal("boxes", placed.length, model.length);
    for (const [item, [x, y, w, h]] of placed) {
      equal("area of " + item.value, Math.abs(w * h - item.value / all * 30000) < 1e-6, true);
      equal("inside", x >= 10 && y >= 20 && x + w <= 310 + 1e-6 && y + h <= 120 + 1e-6, true);
      for (const [other, [a, b, c, d]] of placed) {
        if (other !== item) equal("apart", x + w <= a + 1e-6 || a + c <= x + 1e-6 || y + h <= b + 1e-6 || b + d <= y + 1e-6, true);
      }
    }
    equal("functions", document.querySelectorAll(".treemap g.ran").length + " " + document.querySelectorAll(".treemap g.missed").length, "2 1");
    equal("caption", document.querySelector(".treemap figcaption").textContent.includes("of code is in functions that ran"), true);
    const missed = document.querySelector(".treemap g.missed");
    equal("title", missed.querySelector("title").textContent.startsWith("idle: "), true);
    missed.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    await pause();
    equal("address", location.hash, "#function?f=idle");
`)
}

// TestLead checks that the overview begins with the picture of the call that took too long, or without spikes with the
// flame graph of samples, and that the other pictures follow.
func TestLead(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	const classes = `[...document.querySelectorAll("figure")].map(function (e) { return e.className + (e.closest(".lead") ? "" : " below"); }).join()`
	browsertest.Check(t, sample(t, nil), "overview", `
    equal("pictures", `+classes+`, "leading of-spike,leading of-stacks below,treemap below");
    equal("the call that has not ended", document.querySelector(".of-spike figcaption a").textContent, "3900..4000 ms in work()");
    equal("late time", document.querySelector(".of-spike figcaption").textContent.replaceAll(" ", " ").includes("explain 75.0 % of the 8.000 ms"), true);
    document.querySelector(".of-spike .picture").click();
    await pause();
    equal("address", location.hash, "#spikes?n=1");
`)
	browsertest.Check(t, sample(t, func(m map[string]any) { delete(m, "spikes") }), "overview", `
    equal("pictures", `+classes+`, "leading of-stacks,treemap below");
    for (let i = 0; i < 50 && !Number(document.querySelector(".of-stacks").dataset.bars); i++) await pause();
    equal("bars", document.querySelector(".of-stacks").dataset.bars, "4");
    equal("caption", document.querySelector(".of-stacks figcaption").textContent, "Samples: each function below its callers, as wide as its samples.");
`)
}

// TestTimes checks the histogram of a function's calls: it has all of them, and where the clock does not tell them apart
// it and the percentiles say so.
func TestTimes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	set := func(step int) func(m map[string]any) {
		return func(m map[string]any) {
			m["calls"].(map[string]any)["step"] = step
			time := m["functions"].([]any)[1].(map[string]any)["time"].(map[string]any)
			time["calls"], time["median"], time["p99"] = 12, 300, 5000
			time["histogram"] = map[string]any{"first": 27, "counts": []int{4, 0, 3, 0, 0, 2, 1, 0, 1}}
		}
	}
	const said = `
    const text = function (q) { return document.querySelector(q).textContent.replaceAll(" ", " "); };
    const stat = [...document.querySelectorAll(".stat")].map(function (e) { return e.textContent.replaceAll(" ", " "); }).find(function (t) { return t.startsWith("A call"); });
    const titles = [...document.querySelectorAll(".histogram title")].map(function (e) { return e.textContent.replaceAll(" ", " "); });
    const heights = [...document.querySelectorAll(".histogram .tower")].map(function (e) { return Number(e.getAttribute("height")); });
`
	browsertest.Check(t, sample(t, set(0)), "function?f=_Z4workv", said+`
    equal("percentiles", stat, "A call300 nsp99 5.000 µs, max 350 ns");
    equal("bars", titles.join("; "), "4 calls of 224 ns to 256 ns; 0 calls of 256 ns to 320 ns; 3 calls of 320 ns to 384 ns; 0 calls of 384 ns to 448 ns; 0 calls of 448 ns to 512 ns; 2 calls of 512 ns to 640 ns; 1 call of 640 ns to 768 ns; 0 calls of 768 ns to 896 ns; 1 call of 896 ns to 1.024 µs");
    equal("heights", heights.join(), "120,0,90,0,0,60,30,0,30");
    equal("not known", text(".times figcaption").includes("Of 1 more call the time is not known."), true);
`)
	browsertest.Check(t, sample(t, set(250)), "function?f=_Z4workv", said+`
    equal("percentiles", stat, "A call< 550 nsp99 5.000 µs, max < 600 ns");
    equal("bars", titles.join("; "), "7 calls recorded as less than 512 ns; 2 calls of 512 ns to 640 ns; 1 call of 640 ns to 768 ns; 0 calls of 768 ns to 896 ns; 1 call of 896 ns to 1.024 µs");
`)
}

// TestPages checks that the view of pages has all of its state in the address, and that Back undoes a choice.
func TestPages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	browsertest.Check(t, sample(t, nil), "pages?scenario=two&at=1.0", `
    const head = function () { const h = document.querySelector(".pageinfo h3"); return h && h.textContent; };
    const current = function () { return document.querySelector(".scenarios tr.current td").textContent; };
    equal("scenario", current(), "two");
    equal("page of the address", head(), "0x1000, by cairn order");
    equal("nothing but functions", document.querySelector(".pageinfo").textContent.includes("null"), false);
    const map = document.querySelector(".pagemap");
    map.focus();
    map.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true }));
    await pause();
    equal("chosen", location.hash, "#pages?scenario=two&at=0.0");
    equal("its functions", head(), "0x1000, as linked");
    document.querySelectorAll(".scenarios a")[0].click();
    await pause();
    equal("another scenario keeps the page", current() + " " + head(), "one 0x1000, as linked");
    history.back();
    await pause();
    equal("back", current() + " " + head(), "two 0x1000, as linked");
    equal("address", location.hash, "#pages?scenario=two&at=0.0");
`)
}

// TestPolicy opens the page under its own security policy.
func TestPolicy(t *testing.T) {
	t.Parallel()
	const hash = "source?file=/src/a.c"
	checkView(t, hash, browsertest.Browse(t, sample(t, nil), hash))
}

func checkView(t *testing.T, hash, dom string) {
	t.Helper()
	dom, _, _ = strings.Cut(dom, "<noscript>")
	dom = strings.ReplaceAll(dom, "\u202f", " ")
	for _, want := range views[hash] {
		if !strings.Contains(dom, want) {
			t.Errorf("#%s: the page lacks %q", hash, want)
		}
	}
	if strings.Contains(dom, "This cannot be shown") {
		t.Errorf("#%s: a view failed", hash)
	}
}

// TestViews checks that each view shows its data.
func TestViews(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	list := slices.Sorted(maps.Keys(views))
	for _, said := range browsertest.Probe(t, sample(t, nil), "", walk(list, `wrong(hash + "\n" + document.body.innerHTML);`)) {
		hash, dom, found := strings.Cut(said, "\n")
		if !found {
			t.Error(said)
		}
		checkView(t, hash, dom)
	}
}

// walk is a script that goes from view to view and runs another one in each.
func walk(hashes []string, script string) string {
	return "for (const hash of [\"" + strings.Join(hashes, "\", \"") + "\"]) {\n location.hash = \"#\" + hash;\n await pause();\n" + script + "\n}\n"
}

// TestAbsent checks that data that was not recorded is not shown.
func TestAbsent(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	html := sample(t, func(m map[string]any) {
		for _, key := range []string{"pages", "spikes", "samples", "calls", "changes"} {
			delete(m, key)
		}
		m["edges"], m["figures"] = []any{}, []any{}
	})
	browsertest.Check(t, html, "", `
    equal("tabs", [...document.querySelectorAll("#tabs a")].map(function (a) { return a.textContent; }).join(" "), "Overview Functions Source");
`)
}

// TestLogsOnly checks that a report of logs without a profile says of no function that it has no probes or did not run, and
// shows the source of its functions.
func TestLogsOnly(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	html := sample(t, func(m map[string]any) {
		for _, key := range []string{"pages", "spikes", "samples", "changes", "findings"} {
			delete(m, key)
		}
		m["modules"], m["figures"] = []any{}, []any{}
		for _, f := range m["functions"].([]any) {
			f := f.(map[string]any)
			for _, key := range []string{"mode", "runs", "of_runs", "calls", "blocks", "bits", "lines", "parts", "inlined", "absent", "spikes", "samples", "change"} {
				delete(f, key)
			}
		}
		for _, f := range m["files"].([]any) {
			f := f.(map[string]any)
			f["lines"], f["functions"], f["blocks"] = []int{0, 0, 0}, []int{0, 0}, []int{0, 0}
			delete(f, "branches")
		}
	})
	browsertest.Check(t, html, "", walk([]string{"functions", "function?f=_Z4workv", "source", "source?file=/src/a.c", "graph?f=main"}, `
    const text = document.getElementById("view").textContent;
    for (const said of ["no probes", "without probes", "did not run", "Did not run", "null", "Most missed"]) if (text.includes(said)) wrong(hash + ": " + said + " in " + text);
    if (hash === "functions") equal(hash, document.querySelector(".tally").textContent, "6 functions");
    if (hash.includes("?f=_Z") || hash.includes("file=")) equal(hash + ": source", text.includes("line21"), true);
`))
}

// TestHostile checks that names are shown as text and never become elements of the page.
func TestHostile(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	const evil = `</script><img src=x onerror='document.title="pwned"'><b onclick=x>`
	html := sample(t, func(m map[string]any) {
		m["title"] = evil
		for _, f := range m["functions"].([]any) {
			f.(map[string]any)["name"] = evil
		}
		m["files"].([]any)[0].(map[string]any)["path"] = evil
		m["uncertain"], m["limits"] = []string{evil}, []string{evil}
	})
	browsertest.Check(t, html, "", walk(plainViews, `
    equal(hash + ": images", document.images.length, 0);
    equal(hash + ": bold", document.querySelectorAll("b").length, 0);
    equal(hash + ": shown", document.body.textContent.includes("onerror"), true);
    if (document.title === "pwned") wrong(hash + ": a name became a script");
`))
}

// plainViews lists an address for each view.
var plainViews = []string{"overview", "functions", "function?f=_Z4workv", "source", "graph?f=main", "pages", "spikes", "samples"}

// TestUse uses the page with the keyboard and the mouse.
func TestUse(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	browsertest.Check(t, sample(t, nil), "", useScript)
}

const useScript = `
    const press = async function (key, on) { (on || document.body).dispatchEvent(new KeyboardEvent("keydown", { key: key, bubbles: true })); await pause(); };
    const heading = function () { return document.querySelector("#view h1").textContent; };
    equal("begins with", heading(), "app");
    await press("g"); await press("f");
    equal("g f", heading(), "Functions");
    equal("focus", document.activeElement.id, "view");
    equal("title", document.title, "Functions · app");
    await press("/");
    equal("search", document.activeElement.type, "search");
    document.activeElement.value = "WORK";
    document.activeElement.dispatchEvent(new Event("input"));
    await pause();
    equal("address", location.hash, "#functions?q=WORK");
    equal("rows", document.querySelectorAll(".grid-body .grid-row").length, 1);
    await press("Enter", document.activeElement);
    equal("enter", heading(), "work()");
    equal("address of a function", location.hash, "#function?f=_Z4workv");
    history.back();
    await pause();
    equal("back", heading(), "Functions");
    document.querySelector("#view .search").value = "";
    document.querySelector("#view .search").dispatchEvent(new Event("input"));
    await pause();
    const grid = document.querySelector(".grid");
    grid.focus();
    await press("ArrowDown", grid);
    equal("row", grid.querySelector("[aria-selected=true] .fn").textContent, "main");
    document.querySelectorAll("[role=columnheader] button")[0].click();
    await pause();
    equal("sorted", [...grid.querySelectorAll(".grid-body .fn")].map(function (a) { return a.textContent; }).join(" "), "idle main memcpy next puts work");
    equal("sort is said", grid.querySelector("[role=columnheader]").getAttribute("aria-sort"), "ascending");
    await press("?");
    equal("help", document.getElementById("help").open, true);
    equal("help lists", document.querySelectorAll("#help dt").length > 8, true);
    document.getElementById("help").close();
    const was = document.documentElement.dataset.theme;
    await press("t");
    equal("theme", document.documentElement.dataset.theme !== was, true);
    location.hash = "#graph?f=main";
    await pause();
    await press("ArrowRight");
    equal("walk", document.activeElement.querySelector(".label").textContent, "work");
    location.hash = document.activeElement.getAttribute("href");
    await pause();
    equal("walked", document.querySelector(".self .label").textContent, "work");
    location.hash = "#source?file=/src/a.c&line=22";
    await pause();
    equal("line", document.querySelector(".line.marked .no").textContent, "22");
    await press("n");
    equal("next missed", document.querySelector(".line.marked .no").textContent, "30");
    await press("p");
    equal("missed before", document.querySelector(".line.marked .no").textContent, "22");
    document.querySelectorAll(".steps button")[1].click();
    await pause();
    equal("button of the next missed", document.querySelector(".line.marked .no").textContent, "30");
    location.hash = "#pages";
    await pause();
    const map = document.querySelector(".pagemap");
    map.focus();
    await press("ArrowRight", map);
    equal("page", document.querySelector(".pageinfo h3").textContent, "0x1000, as linked");
    equal("its functions", document.querySelectorAll(".pageinfo .fn").length, 3);
`

// TestLarge checks that a table of fifty thousand functions can be used.
func TestLarge(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	const many = 50_000
	html := sample(t, func(m map[string]any) {
		list := m["functions"].([]any)
		for i := len(list); i < many; i++ {
			f := maps.Clone(list[1].(map[string]any))
			f["key"] = fmt.Sprintf("f%d", i)
			f["symbol"], f["name"] = f["key"], fmt.Sprintf("ns::f<int>(%d)", i)
			list = append(list, f)
		}
		m["functions"] = list
	})
	browsertest.Check(t, html, "functions", `
    for (let i = 0; i < 100 && document.documentElement.dataset.ready === undefined; i++) await pause();
    const grid = document.querySelector(".grid");
    equal("said", document.querySelector(".tally").textContent, "49,997 functions, 1 only inlined, 2 without probes");
    equal("few rows are elements", grid.querySelectorAll(".grid-row").length < 100, true);
    grid.scrollTop = 28 * 40000;
    grid.dispatchEvent(new Event("scroll"));
    await pause();
    equal("rows below", Number(grid.querySelector(".grid-body .grid-row").getAttribute("aria-rowindex")) > 39000, true);
    cairn.go({ view: "functions", q: "/f4999\\d\\b/" }, { replace: true });
    await pause();
    equal("found", document.querySelector(".tally").textContent, "10 of 50,000");
`)
}

// TestMore checks that all callees of a function can be drawn.
func TestMore(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	const many = 60
	html := sample(t, func(m map[string]any) {
		list, edges := m["functions"].([]any), []any{}
		at := slices.IndexFunc(list, func(f any) bool { return f.(map[string]any)["symbol"] == "main" })
		for i := range many {
			f := maps.Clone(list[1].(map[string]any))
			f["key"], f["symbol"], f["name"] = fmt.Sprintf("f%d", i), fmt.Sprintf("f%d", i), fmt.Sprintf("f%d", i)
			edges = append(edges, map[string]any{"from": at, "to": len(list), "calls": i + 1})
			list = append(list, f)
		}
		m["functions"], m["edges"] = list, edges
	})
	browsertest.Check(t, html, "graph?f=main", `
    const boxes = function () { return document.querySelectorAll(".graph .node").length; };
    const more = function () { return document.querySelector(".morelink"); };
    equal("some", boxes(), 10);
    equal("said", more().textContent, "51 more");
    location.hash = more().getAttribute("href").slice(1);
    await pause();
    equal("all", boxes(), 61);
    equal("no more", more(), null);
    history.back();
    await pause();
    equal("back", boxes(), 10);
`)
}

// TestPhone checks that a table shows a name and a number at once on the screen of a phone, says that it scrolls, and
// that its rows are in a known order where numbers are equal.
func TestPhone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	browsertest.CheckWidth(t, sample(t, nil), "functions?sort=calls-", `
    const grid = document.querySelector(".grid");
    equal("narrow", innerWidth <= 720, true); // a browser without a screen may not be narrower than 500
    grid.style.width = "366px";
    await pause();
    const cells = [...grid.querySelector(".grid-body .grid-row").children], edge = grid.getBoundingClientRect().right;
    const numbers = cells.filter(function (c) { return c.classList.contains("num") && c.getBoundingClientRect().right <= edge + 1; });
    if (!numbers.length) wrong("no number is on the screen: " + cells.map(function (c) { return Math.round(c.getBoundingClientRect().right); }).join());
    if (cells[0].getBoundingClientRect().right > edge) wrong("the name is not on the screen");
    equal("it scrolls", grid.scrollWidth > grid.clientWidth, true);
    equal("shadow", getComputedStyle(grid).backgroundAttachment.includes("local"), true);
    const rows = [...grid.querySelectorAll(".grid-body .grid-row")].map(function (r) { return [...r.children].map(function (c) { return c.textContent; }); });
    const same = rows.filter(function (r) { return r.slice(1).join() === rows[rows.length - 1].slice(1).join(); }).map(function (r) { return r[0]; });
    equal("ties are in the order of names", same.join(), same.slice().sort().join());
`, 390)
	// Names are short, and those of methods in Go have their type.
	browsertest.Check(t, sample(t, func(m map[string]any) {
		m["functions"].([]any)[0].(map[string]any)["symbol"] = "main.(*list[...]).fill"
		m["functions"].([]any)[0].(map[string]any)["name"] = ""
	}), "functions", `
    equal("method", [...document.querySelectorAll(".grid-row")].some(function (r) { return r.firstElementChild.textContent.trim() === "main.(*list[...]).fill"; }), true);
`)
	// Figures fill their rows, whatever their number.
	browsertest.CheckWidth(t, sample(t, nil), "overview", `
    const figures = document.querySelector(".figures"), width = figures.clientWidth;
    while (figures.children.length > 0) {
      const last = figures.lastElementChild.getBoundingClientRect(), area = figures.getBoundingClientRect();
      if (area.right - last.right > 3) wrong(figures.children.length + " figures leave " + Math.round(area.right - last.right) + " of " + width + " pixels empty");
      figures.lastElementChild.remove();
    }
`, 390)
}

// TestColumns checks that the columns of all rows are below their titles, also where the table is too narrow for them and
// names are long.
func TestColumns(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	html := sample(t, func(m map[string]any) {
		m["functions"].([]any)[0].(map[string]any)["name"] = "ns::" + strings.Repeat("long", 40) + "()"
	})
	browsertest.Check(t, html, "functions", `
    const grid = document.querySelector(".grid");
    const left = function (row) { return [...row.children].map(function (c) { return Math.round(c.getBoundingClientRect().left); }).join(" "); };
    for (const width of [1300, 900, 500, 350]) {
      grid.style.width = width + "px";
      await pause();
      const head = left(grid.querySelector(".grid-head"));
      for (const row of grid.querySelectorAll(".grid-body .grid-row")) equal("columns at " + width, left(row), head);
    }
`)
}

// TestAccessible checks that axe finds no serious error for screen readers in any view, in
// light and dark mode.
func TestAccessible(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("axe is installed from npm")
	}
	script := browsertest.Axe(t)
	for _, theme := range []string{"light", "dark"} {
		for _, complaint := range browsertest.Probe(t, sample(t, nil), "", script+`
    document.documentElement.dataset.theme = "`+theme+`";
`+walk(append([]string{"source?file=/src/a.c"}, plainViews...), `
    await examine(hash);
`)) {
			t.Errorf("%s: %s", theme, complaint)
		}
	}
}
