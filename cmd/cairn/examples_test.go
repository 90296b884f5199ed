package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/internal/verb"
)

// notRun are the examples that no test can run as they stand, and why.
var notRun = map[string]string{
	"cairn collect /var/lib/cairn":                                                         "a server; collect_push.txtar runs one",
	"cairn push app raws --to http://127.0.0.1:7474":                                       "needs that server",
	"cairn order --format auto http://127.0.0.1:7474/app -o order.txt":                     "needs that server",
	"cairn push app --to https://collector:7474":                                           "needs a server of that name",
	"cairn push /var/lib/app/raws --watch --after delete --to https://collector:7474":      "needs a server of that name",
	"cairn serve http://collector:7474/app app":                                            "needs a server of that name; collect_serve.txtar has one",
	"cairn export http://collector:7474/app app --otlp http://localhost:4318":              "needs servers; export_stores.txtar has some",
	"cairn export http://collector:7474 --parquet fleet":                                   "needs a server; collect_push.txtar has one",
	`duckdb -c "SELECT function, sum(runs) FROM 'fleet/functions.parquet' GROUP BY ALL"`:   "needs DuckDB; format/profiletables has a test with it",
	"cairn pack -o - raws/ | ssh host 'cat > monday.mippack'":                              "needs another machine",
	"cairn watch attach --threshold 5ms 4711":                                              "needs the process; watch_attach.txtar has one",
	"cairn watch attach --background --dir /tmp/raws $(pidof redis-server)":                "needs the process; watch_attach.txtar has one",
	"cairn watch open raws":                                                                "needs running programs; spikes_open.txtar has some",
	"cairn watch open --pid 4711 --json":                                                   "needs running programs; spikes_open.txtar has some",
	"cairn watch detach 4711":                                                              "needs the process; watch_attach.txtar has one",
	"cairn watch set --dir raws threshold=5ms":                                             "needs running programs; watch_set.txtar has some",
	"cairn watch set --pid 4711 off":                                                       "needs running programs; watch_set.txtar has some",
	"cairn watch set -- -net +ai":                                                          "needs running programs; watch_set.txtar has some",
	"cairn watch show":                                                                     "needs running programs; watch_set.txtar has some",
	"CAIRN_DIR=raws CAIRN_SPIKE=control ./app &":                                           "needs running programs; watch_set.txtar has some",
	"cairn watch show --dir raws":                                                          "needs running programs; watch_set.txtar has some",
	`cairn convert ./app log -o app.pb.gz && go tool pprof -http : app.pb.gz`:              "a server; convert_stacks.txtar has go tool pprof read it",
	"perf script -F ip,brstack --show-mmap-events | cairn samples app -":                   "needs a processor with branch records",
	`CC="cairn cc gcc" go build -ldflags=-extldflags=-no-pie`:                              "compiles Go's runtime/cgo; cc_cgo.txtar does that",
	`cmake -DCMAKE_C_COMPILER_LAUNCHER="cairn;cc" -DCMAKE_C_LINKER_LAUNCHER="cairn;cc" ..`: "the tree has no parent; cc_cmake.txtar does that",
}

// beforeExample is what to do before an example, where files of the setup are in its way.
var beforeExample = map[string]string{
	"cairn build --mode full -- make":                                      "rm -r app app.mip raws",
	"cairn build -- make -j2":                                              "rm app",
	"cairn build --mode full -- sh -c './configure && make'":               "rm app",
	"cairn create -p app.mip app.mipmap libfoo.so":                         "rm app.mip",
	"cairn unpack monday.mippack -C raws":                                  "rm -r raws",
	"cairn header -o include/cairn.h":                                      "mkdir include",
	"cairn watch run --threshold 5ms --dir raws -- ./app args":             "gcc -O1 -pg -mfentry -o app app.c",
	"cairn watch run --detours ./app":                                      "gcc -O1 -g -o app app.c",
	"cairn watch --attach-by-preload ./app args":                           "gcc -O1 -g -o app app.c",
	"perf script | cairn flame -":                                          "perf record -q -e cpu-clock -o perf.data true",
	"cairn flame --kernel-frames one -o - --format folded out.perf":        "perf script -i perf.data >out.perf",
	"cairn flame ./app perf.data":                                          "cp app.old app",
	"cairn record -o app.perf --dso libx.so --dso ./plugins/y.so -- ./app": "gcc -O1 -o app app.c -Wl,--no-as-needed,-rpath,. -L. libx.so",
	"cairn wrap deflate --from libz.so.debug -- gcc -o app main.o -lz":     "export LIBRARY_PATH=.; gcc -c -o main.o -Dfrob=strlen src/main.c",
}

// comment is what follows an example in the help of the root.
var comment = regexp.MustCompile(`\s{3,}.*$`)

// ofXRay matches examples with logs of XRay, whose program has a map of its own.
var ofXRay = regexp.MustCompile(`\./app .*(xray-log| log( |$))`)

// examples returns the examples of c, one command line each.
func examples(c *cobra.Command) (lines []string) {
	for line := range strings.Lines(c.Example) {
		if line = comment.ReplaceAllString(strings.TrimSpace(line), ""); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// commandsOf calls visit for c and all commands below it that help lists.
func commandsOf(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			commandsOf(sub, visit)
		}
	}
}

// tools are programs that examples start and that not every machine has.
var tools = regexp.MustCompile(`\b(dot|genhtml|jq|ssh|flamegraph\.pl|stackcollapse-perf\.pl|perf|cmake|clang\+\+|clang|llvm-profgen|make)(?: |$)`)

// inShort are the commands whose examples the short tests run as well.
var inShort = map[string]bool{"cairn": true, "merge": true, "covered": true, "show": true, "info": true, "yaml": true}

// TestExamples runs the examples of every command in a directory with the files that they name,
// in the order in which help has them.
func TestExamples(t *testing.T) {
	t.Parallel()
	dir := exampleDir(t)
	seen := map[string]bool{}
	commandsOf(newRoot(&verb.Streams{}), func(c *cobra.Command) {
		lines := examples(c)
		if len(lines) == 0 && c.Name() != "help" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for _, line := range lines {
			seen[line] = true
		}
		if testing.Short() && !inShort[c.Name()] {
			return
		}
		t.Run(strings.TrimPrefix(c.CommandPath(), "cairn "), func(t *testing.T) {
			t.Parallel()
			runExamples(t, dir, lines)
		})
	})
	for line := range notRun {
		if !seen[line] {
			t.Errorf("notRun has %q, which is no example", line)
		}
	}
}

func runExamples(t *testing.T, from string, lines []string) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if notRun[line] != "" {
			continue
		}
		if missing := missingTool(line); missing != "" {
			t.Logf("not run, as %s is not installed: %s", missing, line)
			continue
		}
		before := beforeExample[line]
		if ofXRay.MatchString(line) {
			before = "cp app.xray app"
		}
		if out, err := runShell(dir, before+"\nset -o pipefail; "+line); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}

func missingTool(line string) string {
	for _, m := range tools.FindAllStringSubmatch(line, -1) {
		_, err := exec.LookPath(m[1])
		if err != nil {
			_, err = exec.LookPath(m[1] + "-22") // the setup links it
		}
		if err != nil {
			return m[1]
		}
	}
	return ""
}

// exampleDir makes the files that examples name.
func exampleDir(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"bash", "gcc", "g++", "make", "git", "zstd", "clang-22"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s", tool)
		}
	}
	archive, err := txtar.ParseFile(filepath.Join("testdata", "examples.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range archive.Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := runShell(dir, string(archive.Comment)); err != nil {
		t.Fatalf("setup: %v\n%s", err, out)
	}
	return dir
}

// runShell runs a script of bash in dir, whose bin is first on PATH.
func runShell(dir, script string) ([]byte, error) {
	cmd := exec.Command("bash", "-e", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "CAIRN_CACHE="+shorttest.Cache(filepath.Join(dir, "cache")), "DEBUGINFOD_URLS=",
		"PATH="+filepath.Join(dir, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return cmd.CombinedOutput()
}

// TestExamplesShape checks that examples consist of lines that a reader can paste.
func TestExamplesShape(t *testing.T) {
	t.Parallel()
	commandsOf(newRoot(&verb.Streams{}), func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			if !strings.HasPrefix(line, "  ") || strings.Contains(line, "\t") {
				t.Errorf("%s: example %q must begin with two spaces and have no tabs", c.CommandPath(), line)
			}
		}
	})
}
