package spikes_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/page/single"
	"github.com/cairnprof/cairn/internal/report/webpage/browsertest"
	"github.com/cairnprof/cairn/internal/spikes"
)

// page returns a page with the sample, in which one name contains a script.
func page(t *testing.T) string {
	t.Helper()
	s := sample()
	w := &spikes.Writer{Set: s, Name: name}
	p := &spikes.Page{Title: "Spikes of <game>", Reach: s.Reach().Lines(), Notes: []string{"waited for work, and not ranked:", "  next_client: longest 151 ms"}, Left: 3, Suggestions: s.Suggest(name)}
	for _, g := range s.Ranked(spikes.ByWorst) {
		o := w.Object(g, g.Worst)
		if o.Desc != "" {
			o.Desc += "</script><script>document.title='broken'</script>"
		}
		p.Spikes = append(p.Spikes, o)
		if len(p.Timelines) == 0 { // of the first
			p.Timelines = append(p.Timelines, timelineOf(t, "f(p(5)q(2))", 8000))
		}
	}
	var b bytes.Buffer
	if err := single.Spikes(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPage(t *testing.T) {
	t.Parallel()
	text := page(t)
	if n := strings.Count(text, "<script>"); n != 1 { // others have data: the model, sources
		t.Errorf("%d scripts", n)
	}
	for _, want := range []string{"<title>Spikes of &lt;game&gt;</title>", "default-src 'none'", "mesh=scorpion"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// TestBrowser opens the page in a browser, under its own security policy.
func TestBrowser(t *testing.T) {
	t.Parallel()
	for hash, wants := range map[string][]string{
		"": {
			"11.2..11.4 ms in <", ">CreateMeshes<", "MainThread of process 42", `class="peak" data-bar="4"`, `class="child" data-bar="5"`,
			"CreatePlayerPhase1   14.6..14.8 ms", "of which <", ">SetSkeletalMesh<", "3 more in the logs", "next_client: longest 151 ms", "CAIRN_THRESHOLD(21);",
			"inlined: <", ">Attach<", `fill="url(#blind)"`, "What led to it: 3 calls of the thread, from 7 us before the end of the peak.", `data-call="2"`, `aria-selected="true"`, "&lt;/script&gt;",
		},
		"spikes?n=1":                   {">wait_for_gpu<", "no end seen", "in SpawnCharacter, CreatePlayerPhase1, main"},
		"spikes?n=1&q=spawn&zoom=all":  {`aria-pressed="true">All<`, `class="call found"`},
		"spikes?part=-5000000~1000000": {`aria-pressed="false">Peak<`},
	} {
		out := browsertest.Browse(t, page(t), hash)
		// What is in the data is no proof that it is shown.
		dom, data, _ := strings.Cut(out, `<script type="application/json"`)
		if _, rest, ok := strings.Cut(data, "</script>"); ok {
			dom += rest
		}
		for _, want := range wants {
			if !strings.Contains(strings.NewReplacer("\u00a0", " ", "\u202f", " ").Replace(dom), want) {
				t.Errorf("#%s: the page lacks %q", hash, want)
			}
		}
	}
}

// TestBrowserUse moves in the picture of a spike with the mouse and with keys, and searches.
func TestBrowserUse(t *testing.T) {
	t.Parallel()
	browsertest.Check(t, page(t), "", `
    const $ = function (s) { return document.querySelector(s); };
    const key = async function (k) { document.body.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true })); await pause(); };
    const picture = function () { return $(".picture svg").innerHTML; };
    const params = function () { return new URLSearchParams(location.hash.split("?")[1]); };
    equal("tabs", $("#tabs").children.length, 0);
    equal("nothing was loaded", performance.getEntriesByType("resource").length, 0);
    const peak = picture();
    await key("+");
    if (picture() === peak) wrong("+ does not scale");
    if (!params().get("part")) wrong("the address lacks the part: " + location.hash);
    await key("Escape");
    equal("the peak again", picture(), peak);
    await key("ArrowDown");
    equal("next", params().get("n"), "1");
    equal("chosen", document.querySelectorAll(".spikelist li")[1].getAttribute("aria-selected"), "true");
    await key("ArrowUp");
    const bar = $("[data-bar='4']"), box = $(".picture").getBoundingClientRect();
    bar.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2, clientY: box.top + 100, bubbles: true }));
    equal("tip", $(".tl-tip b").textContent, "CreateMeshes");
    if (!$(".tl-tip").textContent.includes("took 11.2..11.4 ms")) wrong("tip: " + $(".tl-tip").textContent);
    $(".picture").dispatchEvent(new WheelEvent("wheel", { clientX: box.left + 50, deltaY: -200, ctrlKey: true, bubbles: true, cancelable: true }));
    await pause();
    if (picture() === peak) wrong("the wheel does not scale");
    await key("Escape");
    $("input[type=search]").value = "/^SetSkel/";
    $("input[type=search]").dispatchEvent(new Event("input"));
    await pause();
    equal("listed", [...document.querySelectorAll(".spikelist li")].filter(function (l) { return !l.hidden; }).length, 1);
`)
}
