package docs

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// jsonInputs makes what the commands of TestJSON read.
const jsonInputs = `
set -e
cat > main.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static int last(int n) { volatile int sum = 0; for (int i = 0; i < 9; i++) sum += n; return sum; }
__attribute__((noinline)) static int tail(int n) { return last(n + 1); }
int steps(long n) { int c = 0; for (; n != 1; n = n % 2 ? 3 * n + 1 : n / 2) c++; return c; }
int never(int x) { return x > 3 ? steps(x) : x; }
int slow(int n) { usleep(n); return n; }
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 7;
  if (n == 99) never(n);
  for (int i = 0; i < 50; i++) tail(i);
  printf("%d %d\n", steps(n), n > 20 ? slow(30000) : 0);
  return 0;
}
END
export CAIRN_SCENARIO=one
for mode in full order trace stacks; do
  cairn cc --mode $mode gcc -O1 -g -o $mode main.c
  CAIRN_DIR=$mode.raws ./$mode 27
done
cairn cc --mode spike --threshold 5ms --flight gcc -O1 -g -o spike main.c
CAIRN_DIR=spike.raws ./spike 27
CAIRN_SCENARIO= CAIRN_DIR=full.raws ./full 6
CAIRN_DIR=more.raws ./full 99
CAIRN_DIR=trace2.raws ./trace 6
for p in full order; do cairn merge -o $p.mip $p $p.raws; done
cairn merge -o more.mip full more.raws
cat > frames.c <<'END'
#include <cairn.h>
#include <signal.h>
#include <unistd.h>
__attribute__((noinline)) int slow(int n) { usleep(n); return n; }
int main(int argc, char **argv) {
  for (int i = 0; i < 5; i++) { slow(i == 3 ? 30000 : 100); CAIRN_FRAME(); }
  if (argc > 1) pause();
  return 0;
}
END
cairn header > cairn.h
cairn cc --mode spike --threshold 5ms gcc -O1 -g -I. -o frames frames.c
CAIRN_DIR=frames.raws ./frames
CAIRN_DIR=watched CAIRN_SPIKE=control ./frames stay >/dev/null 2>&1 &
echo $! > frames.pid
cat > waits.c <<'END'
#include <unistd.h>
__attribute__((noinline)) static int waits(int n) { for (int i = 0; i < n; i++) pause(); return n; }
int main(int argc, char **argv) { return argv[0] ? waits(argc) : 1; }
END
gcc -O1 -g -o waits waits.c
./waits >/dev/null 2>&1 &
echo $! | tee waits.pid >> frames.pid
until cairn watch show --dir watched >/dev/null 2>&1; do sleep 0.1; done
clang-22 -O1 -g -fxray-instrument -fxray-instruction-threshold=1 -o traced main.c
clang-22 -O2 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fpseudo-probe-for-profiling -o sampled main.c
cairn record --lbr -o sampled.perf --every 7 -- ./sampled 27
`

// jsonCommands are the commands with --json, and with what they are run.
var jsonCommands = []struct{ name, lines string }{
	{"build", "build --json --mode count -- gcc -O1 -o built main.c"},
	{"build --map", "build --json --map -- gcc -O1 -o mapped main.c"},
	{"merge", "merge --json -o again.mip full full.raws"},
	{"info", "info --json full.mip\ninfo --json full\ninfo --json full.raws\ninfo --json order.mip"},
	{"show", "show --json full.mip --debug full\nshow --json order.mip"},
	{"covered", "covered --json full.mip --debug full\ncovered --json --missed full.mip\ncovered --json --blocks full.mip --debug full\ncovered --json --packages full.mip"},
	{"diff", "diff --json full.mip more.mip\ndiff --json more.mip full.mip"},
	{"diff, of logs", "diff --json --map trace trace.raws trace2.raws"},
	{"callgraph", "callgraph --json full.mip"},
	{"callgraph, of logs", "callgraph --json --map trace trace.raws"},
	{"pages", "pages --json order -p order.mip\npages --json order --before full -p order.mip --latency 1ms\npages --json order -p order.mip --loo"},
	{"order", "order --json -o o.order order.mip --binary order"},
	{"stacks", "stacks --json --map trace trace.raws"},
	{"stacks functions", "stacks functions --json --map trace trace.raws"},
	{"query", "query --json --map trace trace.raws 'SELECT function, calls FROM top_functions'"},
	{"dump", "dump --json trace.raws\ndump --json --map stacks stacks.raws"},
	{"spikes", "spikes --json --debug spike spike.raws"},
	{"spikes --table", "spikes --json --table --debug spike spike.raws"},
	{"spikes --frames", "spikes --json --frames --debug frames frames.raws"},
	{"watch show", "watch show --json --dir watched"},
	{"watch attach", "watch attach --json --background --dir attached $(cat waits.pid)"},
	{"map", "map --json traced"},
	{"stacks calls", "stacks calls --json --map trace trace.raws"},
	{"samples", "samples --json sampled.perf"},
	{"profgen --format callgraph", "profgen --json --binary sampled --format callgraph sampled.perf"},
	{"profgen --explain", "profgen --json --binary sampled --explain sampled.perf"},
	{"version", "version --json"},
}

// jsonKeys adds the paths of all keys of a value.
func jsonKeys(keys map[string]bool, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			at := key
			if path != "" {
				at = path + "." + key
			}
			keys[at] = true
			jsonKeys(keys, at, value)
		}
	case []any:
		for _, x := range v {
			jsonKeys(keys, path+"[]", x)
		}
	}
}

// TestJSON compares the keys of every --json output with those that json.md has.
func TestJSON(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long; make long runs it")
	}
	for _, tool := range []string{"gcc", "bash", "clang-22"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	page, err := os.ReadFile("json.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := readJSONPage(t, string(page))
	bin, dir := binOf(t), t.TempDir()
	shell := func(script string) []byte {
		t.Helper()
		cmd := exec.Command("bash", "-c", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "CAIRN_CACHE="+shorttest.Cache(filepath.Join(dir, "cache")), "CAIRN_DIR=")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", script, err, stderr.String())
		}
		return out
	}
	shell(jsonInputs)
	defer shell("kill $(cat frames.pid)")
	sources := readJSONTags(t)
	commands := shell("cairn -h | awk '/^  [a-z]/ { print $1 }' | while read c; do if cairn $c -h | grep -q -e --json; then echo $c; fi; done")
	for name := range strings.FieldsSeq(string(commands)) {
		if name != "report" && !strings.Contains(string(page), "\n## cairn "+name) {
			t.Errorf("json.md has nothing about cairn %s --json", name)
		}
	}
	for _, c := range jsonCommands {
		keys := map[string]bool{}
		for line := range strings.SplitSeq(c.lines, "\n") {
			var v any // what is printed is one document
			if err := json.Unmarshal(shell("cairn "+line), &v); err != nil {
				t.Fatalf("cairn %s: %v", line, err)
			}
			list, several := v.([]any)
			if !several {
				list = []any{v}
			}
			for _, v := range list {
				jsonKeys(keys, "", v)
			}
		}
		want := documented[c.name]
		delete(documented, c.name)
		sources.check(t, want)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if _, ok := want[key]; !ok {
				t.Errorf("json.md, cairn %s: %s is missing", c.name, key)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if optional := want[key]; !keys[key] && !optional {
				t.Errorf("json.md, cairn %s: the output does not have %s", c.name, key)
			}
		}
	}
	for name := range documented {
		t.Errorf("json.md: nothing is run for cairn %s", name)
	}
}

// jsonTags are the keys that the sources have.
type jsonTags map[string]bool

// readJSONTags reads the tags of all structures.
func readJSONTags(t *testing.T) jsonTags {
	t.Helper()
	tags := jsonTags{}
	pattern := regexp.MustCompile("json:\"([a-z0-9_]+)[\",]")
	for _, root := range []string{"../internal", "../format", "../cmd"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range pattern.FindAllSubmatch(text, -1) {
				tags[string(m[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return tags
}

// check finds optional keys of the page that no structure has.
func (s jsonTags) check(t *testing.T, keys map[string]bool) {
	t.Helper()
	for key, optional := range keys {
		if last := key[strings.LastIndexByte(key, '.')+1:]; optional && !s[strings.TrimSuffix(last, "[]")] {
			t.Errorf("json.md: no output has %s", key)
		}
	}
}

var (
	jsonSection = regexp.MustCompile("(?m)^## cairn (.*)$")
	jsonRow     = regexp.MustCompile("(?m)^\\| (`[^|]*`) \\| (.*) \\|$")
	jsonToken   = regexp.MustCompile("`([^`]+)`")
)

// readJSONPage returns the keys of each section of json.md, and whether they are optional: the
// description begins with "if". A key that begins with a dot has the path of the one before.
func readJSONPage(t *testing.T, page string) map[string]map[string]bool {
	t.Helper()
	sections := map[string]map[string]bool{}
	at := jsonSection.FindAllStringSubmatchIndex(page, -1)
	for i, m := range at {
		end := len(page)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		keys := map[string]bool{}
		for _, row := range jsonRow.FindAllStringSubmatch(page[m[1]:end], -1) {
			before := ""
			for _, token := range jsonToken.FindAllStringSubmatch(row[1], -1) {
				key := token[1]
				if strings.HasPrefix(key, ".") {
					key = before[:strings.LastIndexByte(before, '.')] + key
				}
				keys[key] = strings.HasPrefix(row[2], "if ")
				before = key
			}
		}
		sections[page[m[2]:m[3]]] = keys
	}
	if len(sections) == 0 {
		t.Fatal("json.md has no sections")
	}
	return sections
}
