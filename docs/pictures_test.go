package docs

import (
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/report/webpage/browsertest"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// pictured are the pages whose picture is that of a report: whether their own blocks make what is reported, the
// commands that make page.html then, and the view in the picture.
var pictured = map[string]struct {
	blocks bool
	script string
	view   string
}{
	"start": {true, `cp report.html page.html`, "function?f=longest"},
	"guide": {false, sampledProgram + `
cairn cc --mode full gcc -O1 -g -o app app.c
CAIRN_DIR=raws ./app
cairn report raws app -o page.html`, "functions"},
	"detours": {true, `cairn report raws app -o page.html`, "overview"},
	"hooks":   {true, `cairn report raws app -o page.html`, "spikes"},
	"samples": {false, sampledProgram + `
gcc -O2 -g -fno-omit-frame-pointer -o app app.c
cairn record -o app.perf --every 101 -- ./app
cairn report app app.perf -o page.html`, "flame"},
	"timeline": {false, timedProgram + `
cairn cc --mode trace gcc -O1 -g -pthread -o app app.c
CAIRN_DIR=logs CAIRN_TRACE=file ./app
cairn report logs app -o page.html`, "timeline"},
	"fleet": {false, sampledProgram + `
for opt in -O0 -O1 -O2; do
  cairn cc --mode full gcc $opt -g -o app app.c
  for run in 1 2 3; do CAIRN_DIR=raws ./app >out.txt; done
  cp app app$opt
done
cairn collect data --listen 127.0.0.1:17474 >collect.txt 2>&1 &
trap "kill $!" EXIT
until curl -sf http://127.0.0.1:17474/ >page.html; do sleep 0.1; done
cairn push raws app-O0 app-O1 app-O2 --to http://127.0.0.1:17474
curl -sf "http://127.0.0.1:17474$(curl -sf http://127.0.0.1:17474/ | grep -o 'href="/[^"]*app-O2[^"]*"' | head -n 1 | cut -d '"' -f 2)" >page.html`, ""},
}

const sampledProgram = `cat > app.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#define OWN __attribute__((noipa))
struct node { int key; struct node *less, *more; };
OWN int compare(int a, int b) { return a < b ? -1 : a > b; }
OWN struct node *insert(struct node *n, int key) {
  if (!n) { n = calloc(1, sizeof *n); n->key = key; return n; }
  if (compare(key, n->key) < 0) n->less = insert(n->less, key);
  else n->more = insert(n->more, key);
  return n;
}
OWN int hash(int n) { for (int i = 0; i < 20; i++) n = n * 31 + i; return n & 0xffff; }
OWN long sum(struct node *n) { return n ? n->key + sum(n->less) + sum(n->more) : 0; }
OWN int unused(int n) { return hash(n) + 1; }
OWN int parse(int n) { return hash(n) + compare(n, 7); }
OWN int read_all(int n) { return parse(n); }
int main(int argc, char **argv) {
  struct node *top = 0;
  for (int i = 0; i < 4000; i++) top = insert(top, argc > 3 ? unused(i) : read_all(i));
  printf("%ld\n", sum(top));
  return argv[0] == 0;
}
END
`

const timedProgram = `cat > app.c <<'END'
#include <pthread.h>
#include <time.h>
#define OWN __attribute__((noipa))
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
OWN void nap(int us) { struct timespec t = {0, us * 1000L}; nanosleep(&t, 0); }
OWN void decode(int i) { nap(3000 + i % 3 * 2000); }
OWN void filter(int i) { nap(2000 + i % 5 * 700); }
OWN void store(int i) { pthread_mutex_lock(&lock); nap(2500 + i % 2 * 3000); pthread_mutex_unlock(&lock); }
OWN void frame(int i) { decode(i); filter(i); store(i); }
OWN void reload(int i) { for (int k = 0; k < 4; k++) decode(i + k); }
OWN void *worker(void *of) {
  long n = (long)of;
  for (int i = 0; i < 8; i++) i == 3 + n ? reload(i) : frame(i + (int)n);
  return 0;
}
int main(void) {
  pthread_t t[3];
  for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, worker, (void *)i);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
}
END
`

// TestPictures makes the pictures of pages anew, with -pictures: each is of a report that cairn made.
func TestPictures(t *testing.T) {
	if !*pictures {
		t.Skip("it writes files; -pictures makes them")
	}
	bin, cache := binOf(t), t.TempDir()
	for name, of := range pictured {
		t.Run(name, func(t *testing.T) {
			script := "set -eu -o pipefail\n"
			if of.blocks {
				text, err := os.ReadFile(name + ".md")
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range blocks.FindAllSubmatch(text, -1) {
					script += string(m[1])
				}
			}
			cmd := exec.Command("bash", "-c", script+of.script)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "CAIRN_CACHE="+shorttest.Cache(cache), "CAIRN_DIR=")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			html, err := os.ReadFile(filepath.Join(cmd.Dir, "page.html"))
			if err != nil {
				t.Fatal(err)
			}
			browsertest.Screenshot(t, string(html), of.view, name+".png", image.Pt(1100, 560))
		})
	}
}

// pictureless are pages that are looked up, not read: tables, formats, the words of a field, and what is decided for
// those who work on cairn.
var pictureless = regexp.MustCompile(`-reference|-why|^(README|apple|architecture|contract|database|environment|formats|glossary|json|languages|limits|lto|markup|rationale|rationale-time|releasing|report-model|rust|schema|targets|troubleshooting|windows|wrap)\.md$`)

// TestPictured checks that each page that is read has a picture.
func TestPictured(t *testing.T) {
	t.Parallel()
	for _, page := range pagesOf(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(string(text), "!["); !has && !pictureless.MatchString(page) {
			t.Errorf("%s has no picture", page)
		}
	}
}
