// Package browsertest opens HTML pages in a browser, for the tests of all packages that write
// some. Tests are skipped where there is no browser.
package browsertest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"image"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// program returns the browser, and skips the test if there is none.
func program(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no browser (apt-get install chromium)")
	return ""
}

// arguments are those of a browser without a screen, which asks nothing of the network.
func arguments(t *testing.T) []string {
	return []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir=" + t.TempDir(),
	}
}

// Browse opens a page in a browser and returns what became of it. The hash is that of the
// address.
func Browse(t *testing.T, page, hash string) string {
	t.Helper()
	return browse(t, page, hash, 1400)
}

// browse is Browse in a window so many pixels wide.
func browse(t *testing.T, page, hash string, width int) string {
	t.Helper()
	browser := program(t)
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	// Time in the page runs as fast as it can, so that nothing is waited for.
	return run(t, browser, fmt.Sprintf("--window-size=%d,900", width), "--virtual-time-budget=100000", "--dump-dom", address(file, hash))
}

// Screenshot writes a picture of a page, of a window of that size, to the PNG file at path.
func Screenshot(t *testing.T, page, hash, path string, window image.Point) {
	t.Helper()
	browser := program(t)
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	size, err := json.Marshal([2]int{window.X, window.Y})
	if err != nil {
		t.Fatal(err)
	}
	run(t, browser, "--hide-scrollbars", "--window-size="+strings.Trim(string(size), "[]"), "--virtual-time-budget=100000", "--screenshot="+path, address(file, hash))
}

func address(file, hash string) string {
	u := (&url.URL{Scheme: "file", Path: file}).String()
	if hash != "" {
		u += "#" + hash
	}
	return u
}

// run runs the browser and returns what it prints.
func run(t *testing.T, browser string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, append(arguments(t), args...)...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", browser, err)
	}
	return string(out)
}

var (
	policy  = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>\n`)
	results = regexp.MustCompile(`(?s)<pre id="results">(.*?)</pre>`)
)

// WithoutPolicy returns a page without its policy, so that scripts can be added to it.
func WithoutPolicy(page string) string { return policy.ReplaceAllString(page, "") }

// Check runs a script in a page as Probe does, and fails the test for each complaint.
func Check(t *testing.T, page, hash, script string) {
	t.Helper()
	for _, complaint := range Probe(t, page, hash, script) {
		t.Error(complaint)
	}
}

// Probe runs a script in a page, after the page's own, and returns what it says:
// the complaints that it passes to the function "wrong" or has "equal" find. "pause" waits. The
// policy of the page would not let it run, and is taken out.
func Probe(t *testing.T, page, hash, script string) []string {
	t.Helper()
	return probe(t, page, hash, script, 1400)
}

// CheckWidth is Check in a window so many pixels wide, such as that of a phone.
func CheckWidth(t *testing.T, page, hash, script string, width int) {
	t.Helper()
	for _, complaint := range probe(t, page, hash, script, width) {
		t.Errorf("%d px: %s", width, complaint)
	}
}

func probe(t *testing.T, page, hash, script string, width int) []string {
	t.Helper()
	page = WithoutPolicy(page)
	// A browser without a screen draws frames when it likes.
	page = strings.Replace(page, "<body>", `<body><script>
window.requestAnimationFrame = function (f) { return setTimeout(function () { f(performance.now()); }, 16); };
window.cancelAnimationFrame = clearTimeout;</script>`, 1)
	at := strings.LastIndex(page, "</body>")
	page = page[:at] + `<script>(async function () {
  const complaints = [];
  const wrong = function () { complaints.push([...arguments].join(" ")); };
  const equal = function (what, got, want) { if (got !== want) wrong(what + ": " + JSON.stringify(got) + ", want " + JSON.stringify(want)); };
  const pause = function () { return new Promise(function (r) { setTimeout(r, 400); }); };
  try {
    await pause();
    // Data are decompressed in the time of the machine, which a page's own time does not wait for.
    for (let i = 0; i < 50 && window.cairn && document.documentElement.dataset.ready === undefined; i++) await pause();
` + script + `
  } catch (e) { wrong(e.stack); }
  const pre = document.createElement("pre");
  pre.id = "results";
  pre.textContent = JSON.stringify(complaints);
  document.body.append(pre);
})();</script>` + page[at:]
	dom := browse(t, page, hash, width)
	found := results.FindStringSubmatch(dom)
	if found == nil {
		t.Fatalf("the script did not end; the page is\n%.3000s", dom)
	}
	var complaints []string
	if err := json.Unmarshal([]byte(html.UnescapeString(found[1])), &complaints); err != nil {
		t.Fatal(err)
	}
	return complaints
}

var axe = flag.String("axe", "", "the file axe.min.js of npm's axe-core; without it, it is installed with npm")

// axeExamine holds the page against the rules of axe: what is wrong and serious is a complaint.
const axeExamine = `
const still = document.createElement("style");
still.textContent = "* { transition: none !important }";
document.head.append(still);
const examine = async function (what) {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  if (found.passes.length < 10) wrong(what + ": axe examined nothing");
  for (const v of found.violations) if (v.impact === "serious" || v.impact === "critical") {
    wrong(what + ": " + v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(function (n) { return n.html.slice(0, 160) + " " + n.failureSummary.replace(/\s+/g, " ").slice(0, 220); }).join(" | "));
  }
};
`

// Axe returns the beginning of a script for Probe, which has the function examine(what): it
// complains about what is hard to use with a screen reader or to see. It needs axe-core, which npm
// has.
func Axe(t *testing.T) string {
	t.Helper()
	file := *axe
	if file == "" {
		npm, err := exec.LookPath("npm")
		if err != nil {
			t.Skip("there is no npm to install axe-core with")
		}
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir, "axe-core@4.14.1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("axe-core cannot be installed: %v: %.300s", err, out)
		}
		file = filepath.Join(dir, "node_modules", "axe-core", "axe.min.js")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data) + "\n" + axeExamine
}
