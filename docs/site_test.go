package docs

import (
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/cairnprof/cairn/internal/report/webpage/browsertest"
)

// TestPaths checks that the paths of the site have each page once.
func TestPaths(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../tools/site/data/paths.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var paths []struct {
		Title string
		Pages []string
	}
	if err := yaml.Unmarshal(text, &paths); err != nil {
		t.Fatal(err)
	}
	var listed, want []string
	for _, p := range paths {
		if p.Title == "" || len(p.Pages) == 0 {
			t.Errorf("path %q has no title or no page", p.Title)
		}
		listed = append(listed, p.Pages...)
	}
	for _, page := range pagesOf(t) {
		if page != "README.md" { // the first page of the site
			want = append(want, strings.TrimSuffix(page, ".md"))
		}
	}
	slices.Sort(listed)
	slices.Sort(want)
	if !slices.Equal(listed, want) {
		t.Errorf("paths.yaml has %v, want each page once: %v", listed, want)
	}
}

var (
	hrefs = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	ids   = regexp.MustCompile(` id="([^"]*)"`)
)

// TestSite builds the site with its generator and follows each link in it. Its search finds pages.
func TestSite(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the generator takes minutes to compile")
	}
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-C", "..", "docs", "SITE="+out)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make docs: %v\n%s", err, text)
	}
	pages := map[string]map[string]bool{} // the anchors of each
	for _, pattern := range []string{"*.html", "doors/*.html"} {
		found, err := filepath.Glob(filepath.Join(out, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range found {
			text := textOf(t, page)
			pages[page] = map[string]bool{"": true}
			for _, m := range ids.FindAllStringSubmatch(text, -1) {
				pages[page][html.UnescapeString(m[1])] = true
			}
		}
	}
	if want := len(pagesOf(t)); len(pages) < want {
		t.Errorf("%d pages, want %d", len(pages), want)
	}
	for page := range pages {
		for _, m := range hrefs.FindAllStringSubmatch(textOf(t, page), -1) {
			link := html.UnescapeString(m[1])
			if strings.Contains(link, "://") {
				continue
			}
			file, anchor, _ := strings.Cut(link, "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", filepath.Base(page), err)
			} else if anchors, ok := pages[target]; ok && !anchors[anchor] {
				t.Errorf("%s: a link to %s, which has no such section", filepath.Base(page), link)
			}
		}
	}
	first := textOf(t, filepath.Join(out, "index.html"))
	for _, script := range []string{"pages.js", "search.js"} { // the page is opened elsewhere
		first = strings.Replace(first, "</body>", "<script>"+strings.ReplaceAll(textOf(t, filepath.Join(out, script)), "</script>", "<\\/script>")+"</script></body>", 1)
	}
	browsertest.Check(t, first, "", `
    const input = document.getElementById("search");
    input.value = "balanced partitioning";
    input.dispatchEvent(new Event("input"));
    const found = [...document.querySelectorAll("#found a")].map(function (a) { return a.textContent + " " + a.getAttribute("href"); });
    if (!found.some(function (f) { return f.endsWith("rationale.html"); })) wrong("found " + found);
    input.value = "qqqq";
    input.dispatchEvent(new Event("input"));
    equal("nothing", document.querySelector("#found").textContent, "No page has all of these words.");
`)
}

func textOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
