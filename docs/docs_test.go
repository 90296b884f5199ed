// Package docs keeps the manual true: it runs what it tells readers to run.
package docs

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// blocks matches the text between ```sh and ```: commands that a reader can copy. Commands that
// are not to be run are marked ```console.
var blocks = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// TestBlocks runs the blocks of a page, in order, as one shell script.
func TestBlocks(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	for _, tool := range []string{"gcc", "bash", "objcopy"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	clang, noClang := exec.LookPath("clang-22")
	bin := binOf(t)
	if noClang == nil {
		if err := os.Symlink(clang, filepath.Join(bin, "clang")); err != nil {
			t.Fatal(err)
		}
	}
	cache := t.TempDir() // of runtimes, which are the same for all pages
	for _, page := range []string{"start.md", "guide.md", "layout.md", "logs.md", "spikes.md", "markup.md", "wrap.md", "hooks.md", "detours.md", "samples.md", "profgen.md", "flame.md"} {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			if page == "logs.md" && noClang != nil {
				t.Skip(noClang)
			}
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			var script strings.Builder
			script.WriteString("set -eu -o pipefail\n")
			found := blocks.FindAllSubmatch(text, -1)
			if len(found) == 0 {
				t.Fatal("no block to run")
			}
			for _, m := range found {
				script.Write(m[1])
			}
			cmd := exec.Command("bash", "-x", "-c", script.String())
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "CAIRN_CACHE="+shorttest.Cache(cache), "CAIRN_DIR=")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

// pagesOf lists the pages of this directory.
func pagesOf(t *testing.T) []string {
	t.Helper()
	var pages []string
	for _, pattern := range []string{"*.md", "doors/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	return pages
}

var (
	links    = regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)]*))?\)`)
	fences   = regexp.MustCompile("(?ms)^```.*?^```")
	headings = regexp.MustCompile(`(?m)^#+ (.*)$`)
	linked   = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	unslug   = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// sectionsOf lists the anchors that GitHub and the site give to the headings of a page.
func sectionsOf(text []byte) map[string]bool {
	sections := map[string]bool{}
	for _, m := range headings.FindAllSubmatch(fences.ReplaceAll(text, nil), -1) {
		title := linked.ReplaceAllString(strings.ToLower(string(m[1])), "$1")
		sections[strings.ReplaceAll(unslug.ReplaceAllString(title, ""), " ", "-")] = true
	}
	return sections
}

// TestLinks checks that the files exist that the pages link to, and the sections of pages.
func TestLinks(t *testing.T) {
	t.Parallel()
	found := 0
	for _, page := range append(pagesOf(t), "../README.md", "../CHANGELOG.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range links.FindAllSubmatch(text, -1) {
			found++
			target := page
			if len(m[1]) > 0 {
				target = filepath.Join(filepath.Dir(page), string(m[1]))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: a link to %s: %v", page, m[1], err)
				continue
			}
			if len(m[2]) == 0 || filepath.Ext(target) != ".md" {
				continue
			}
			text, err := os.ReadFile(target)
			if err != nil {
				t.Fatal(err)
			}
			if !sectionsOf(text)[string(m[2])] {
				t.Errorf("%s: a link to %s#%s, which has no such section", page, m[1], m[2])
			}
		}
	}
	if found == 0 {
		t.Error("no links at all")
	}
}

var (
	costs   = regexp.MustCompile(`(?m)^\| .(cover|count|block|full|gcc --coverage)\b.*\|$`)
	figures = regexp.MustCompile(`\+[0-9.]+ %|[0-9]\.[0-9]{3}`)
)

// TestCosts compares the table of costs with what was measured.
func TestCosts(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("costs.md")
	if err != nil {
		t.Fatal(err)
	}
	results, err := os.ReadFile("../bench/RESULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := costs.FindAllSubmatch(page, -1)
	if len(rows) != 5 {
		t.Errorf("%d rows in the table of costs, want 5", len(rows))
	}
	for _, row := range rows {
		mode := string(row[1])
		if mode != "gcc --coverage" {
			mode = "cairn " + mode + ", gcc"
		}
		measured := regexp.MustCompile(`(?m)^\| ` + mode + ` +\|.*$`).Find(results)
		found := figures.FindAllString(string(row[0]), -1)
		if len(found) != 3 {
			t.Errorf("%s: %d figures, want 3", mode, len(found))
		}
		for _, f := range found {
			if !strings.Contains(string(measured), f) {
				t.Errorf("%s: %s is not in bench/RESULTS.md:\n%s", mode, f, measured)
			}
		}
	}
}

// starts are the rows of the table of starts.
var starts = regexp.MustCompile(`(?m)^\| (sqlite3|git|python) \|.*$`)

// TestStarts compares the table of starts with what was measured.
func TestStarts(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("costs.md")
	if err != nil {
		t.Fatal(err)
	}
	results, err := os.ReadFile("../bench/STARTUP.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := starts.FindAllSubmatch(page, -1)
	if len(rows) != 3 {
		t.Errorf("%d rows in the table of starts, want 3", len(rows))
	}
	for _, row := range rows {
		_, measured, _ := strings.Cut(string(results), "\n## "+string(row[1])+"\n")
		measured, _, _ = strings.Cut(measured, "\n## ")
		found := regexp.MustCompile(`\d+\.\d`).FindAllString(string(row[0]), -1)
		if len(found) != 7 {
			t.Errorf("%s: %d figures, want 7", row[1], len(found))
		}
		for _, f := range found {
			if !strings.Contains(measured, " "+f+" |") {
				t.Errorf("%s: %s is not in bench/STARTUP.md", row[1], f)
			}
		}
	}
}

// claims are the figures of the README that are measured, and benches the reports that rows of its table link to.
var (
	claims  = regexp.MustCompile(`\d+\.\d+|\d{3,}`)
	benches = regexp.MustCompile(`\[bench\]\(([^)]+)\)`)
)

// TestClaims compares the figures of the README's table with the reports that its rows link to.
func TestClaims(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(readme)) {
		m := benches.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		results, err := os.ReadFile(filepath.Join("..", m[1]))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range claims.FindAllString(line, -1) {
			found++
			if !regexp.MustCompile(`(^|[^\d.])` + regexp.QuoteMeta(f) + `($|\D)`).Match(results) {
				t.Errorf("%s is not in %s", f, m[1])
			}
		}
	}
	const least = 15
	if found < least {
		t.Errorf("%d figures with a report, want at least %d", found, least)
	}
}

// variables are those of the environment page; own are those that cairn's processes set for
// each other.
var (
	variables = regexp.MustCompile("(?m)^\\| `([A-Z_]+)`")
	read      = regexp.MustCompile(`(?:(?:env|[gG]etenv|LookupEnv)\(|keep\([\w.]+, |GetEnvironmentVariableW\(u)"([A-Z_]+)"[,)]`)
	named     = regexp.MustCompile(`Variable = "([A-Z_]+)"`) // a constant that holds its name
	// The C runtime takes the common prefix for granted.
	readByRuntime = regexp.MustCompile(`\benv\(envp, "([A-Z_]+)"\)`)
)

// foreign variables belong to other programs and are documented there.
var foreign = map[string]bool{
	"CAIRN_TESTS": true, "CAIRN_TEST_CACHE": true, "CAIRN_TEST_STORE": true, "GOMAXPROCS": true, "HOME": true, "PATH": true, "TERM": true, "TMPDIR": true, "XDG_CACHE_HOME": true,
	"CAIRN_HOOK_SUMMARY":   true,                                              // set by cairn watch run for the program
	"CCC_OVERRIDE_OPTIONS": true,                                              // of clang
	"JOURNALTEST_DIR":      true,                                              // of the tests of journals
	"GOOS":                 true, "GOARCH": true, "TOOLEXEC_IMPORTPATH": true, // set by the go command for the programs of -toolexec
}

// TestEnvironment compares the environment page with the sources.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("environment.md")
	if err != nil {
		t.Fatal(err)
	}
	sources := []string{".go", ".c", ".txt"} // .txt: added to package runtime of Go programs
	documented, used := map[string]bool{}, map[string]bool{}
	for _, m := range variables.FindAllSubmatch(text, -1) {
		documented[string(m[1])] = true
	}
	for _, dir := range []string{"../internal", "../mark"} {
		if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			name := d.Name()
			if err == nil && d.IsDir() && name == "testdata" {
				return fs.SkipDir // programs that tests trace
			}
			if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") || !slices.Contains(sources, filepath.Ext(name)) {
				return err
			}
			src, err := os.ReadFile(path)
			for _, re := range []*regexp.Regexp{read, named} {
				for _, m := range re.FindAllSubmatch(src, -1) {
					used[string(m[1])] = true
				}
			}
			for _, m := range readByRuntime.FindAllSubmatch(src, -1) {
				used["CAIRN_"+string(m[1])] = true
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	for name := range used {
		if !documented[name] && !foreign[name] {
			t.Errorf("%s is read and not in environment.md", name)
		}
	}
	for name := range documented {
		if !used[name] {
			t.Errorf("%s is in environment.md and nothing reads it", name)
		}
	}
}

// binOf returns a directory for PATH with the command.
func binOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	program, err := shorttest.Cairn(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(dir, "cairn")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// maxTasks is how many words a page of tasks has that has pages for reference and for reasons beside it.
const maxTasks = 2000

// TestPurposes checks that subjects with several pages have one for each purpose, and that readers find the others.
func TestPurposes(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*-reference.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%v %v", pages, err)
	}
	for _, reference := range pages {
		tasks := strings.Replace(reference, "-reference", "", 1)
		reasons := strings.Replace(reference, "-reference", "-why", 1)
		text := textOf(t, tasks)
		for _, other := range []string{reference, reasons} {
			if !strings.Contains(text, "]("+other) || !strings.Contains(textOf(t, other), "]("+tasks) {
				t.Errorf("%s and %s have no links to each other", tasks, other)
			}
		}
		if n := len(strings.Fields(text)); n > maxTasks {
			t.Errorf("%s: %d words, at most %d", tasks, n, maxTasks)
		}
	}
}

// TestWords checks that the words that are on every page are explained on one, and that pages of tasks lead there.
func TestWords(t *testing.T) {
	t.Parallel()
	sections := sectionsOf([]byte(textOf(t, "glossary.md")))
	for _, word := range []string{"probe", "mode", "raw-file", "map", "profile", "log"} {
		if !sections[word] {
			t.Errorf("glossary.md has no section %s", word)
		}
	}
	for _, page := range []string{"start.md", "guide.md", "go.md", "layout.md", "spikes.md", "logs.md", "fleet.md", "ci.md", "troubleshooting.md"} {
		if !strings.Contains(textOf(t, page), "](glossary.md") {
			t.Errorf("%s does not lead to the glossary", page)
		}
	}
}
