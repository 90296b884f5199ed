package docs

import (
	"flag"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairnprof/cairn/internal/report/webpage/browsertest"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// pictures writes the pictures of the pages, of the reports that these make.
var pictures = flag.Bool("pictures", false, "write the pictures of the pages")

// doors are the pages for those who come with a task: which tools each needs, and the view in its picture.
var doors = map[string]struct {
	tools []string
	view  string
}{
	"game":     {[]string{"gcc", "make"}, "overview"},
	"service":  {[]string{"go", "curl"}, "overview"},
	"phone":    {[]string{"aarch64-linux-gnu-gcc", "qemu-aarch64"}, "overview"},
	"compiler": {[]string{"gcc", "make", "clang-22"}, "overview"},
	"ci":       {[]string{"gcc", "make", "git"}, "function?f=clamp"},
}

// firstHour is how long what a page has to type may take in all, on any machine: it is minutes less on a quiet one.
const firstHour = 10 * time.Minute

// maxDoor is how many words a page has.
const maxDoor = 800

// TestDoors runs each page of doors from its first line, in a copy of their directory, and holds it to its length.
func TestDoors(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	bin := binOf(t)
	if clang, err := exec.LookPath("clang-22"); err == nil {
		if err := os.Symlink(clang, filepath.Join(bin, "clang")); err != nil {
			t.Fatal(err)
		}
	}
	cache := t.TempDir()
	pages, err := filepath.Glob("doors/*.md")
	if err != nil || len(pages) != len(doors) {
		t.Fatalf("%d pages, want %d (%v)", len(pages), len(doors), err)
	}
	for _, page := range pages {
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			door := doors[name]
			for _, tool := range door.tools {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skip(err)
				}
			}
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(strings.Fields(string(text))); n > maxDoor {
				t.Errorf("%d words, at most %d", n, maxDoor)
			}
			if lines := strings.Split(string(text), "\n"); len(lines) < 4 || lines[2] != "```sh" || !strings.Contains(lines[3], "cairn ") {
				t.Error("does not begin with a command")
			}
			checkout := t.TempDir()
			if err := os.CopyFS(filepath.Join(checkout, "docs", "doors"), os.DirFS("doors")); err != nil {
				t.Fatal(err)
			}
			script := "set -eu -o pipefail\n"
			for _, m := range blocks.FindAllSubmatch(text, -1) {
				script += string(m[1])
			}
			cmd := exec.Command("bash", "-x", "-c", script)
			cmd.Dir = checkout
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "CAIRN_CACHE="+shorttest.Cache(cache), "CAIRN_DIR=", "SDL_VIDEODRIVER=dummy", "GOFLAGS=-mod=mod")
			began := time.Now()
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if took := time.Since(began); took > firstHour {
				t.Errorf("it took %v", took)
			}
			t.Logf("%v\n%s", time.Since(began).Round(time.Second/10), out)
			html, err := os.ReadFile(filepath.Join(checkout, "docs", "doors", name, "report.html"))
			if err != nil {
				t.Fatal(err)
			}
			if *pictures {
				browsertest.Screenshot(t, string(html), door.view, name+".png", image.Pt(1100, 640))
				if err := os.Rename(name+".png", filepath.Join("doors", name+".png")); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
