package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/internal/verb"
)

// notRun are the examples that no test can run as they stand, and why.
var notRun = map[string]string{
	"cairn collect s3://fleet/cairn --tokens tokens --listen 0.0.0.0:7474":               "needs an object store; export_stores.txtar has one",
	"cairn order --from https://collector:7474 --program app --build 1f3c -o app.order":  "needs a server of that name; collect_push.txtar has one",
	"cairn push app --to https://collector:7474":                                         "needs a server of that name",
	"cairn push /var/lib/app/raws --watch --after delete --to https://collector:7474":    "needs a server of that name",
	"cairn serve http://collector:7474/app app":                                          "needs a server of that name; collect_serve.txtar has one",
	"cairn export http://collector:7474/app app --otlp http://localhost:4318":            "needs servers; export_stores.txtar has some",
	"cairn export http://collector:7474 --parquet fleet":                                 "needs a server; collect_push.txtar has one",
	`duckdb -c "SELECT function, sum(runs) FROM 'fleet/functions.parquet' GROUP BY ALL"`: "needs DuckDB; format/profiletables has a test with it",
	"cairn pack -o - raws/ | ssh host 'cat > monday.mippack'":                            "needs another machine",
	"cairn watch attach --threshold 5ms 4711":                                            "needs the process; watch_attach.txtar has one",
	"cairn watch attach --background --dir /tmp/raws $(pidof redis-server)":              "needs the process; watch_attach.txtar has one",
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

// servers are the examples that run until they are ended.
var servers = map[string]bool{
	"cairn collect /var/lib/cairn":                    true,
	"cairn serve raws/ app":                           true,
	"cairn serve --listen 127.0.0.1:8080 app.mip app": true,
}

// collector starts the collector that an example needs, in a directory of its own, and ends it with the shell.
const collector = "start cairn collect --listen 127.0.0.1:0 --min-free 1B collected"

// stored makes the directory that a collector leaves.
const stored = collector + `
cairn push app raws --to $(cat url)
stop`

// beforeExample is what to do before an example, where files of the setup are in its way.
var beforeExample = map[string]string{
	"cairn run -- make check":                                              "cairn cc gcc -O1 -o app app.c",
	"cairn run --dir raws -o raws/report.html -- ./app":                    "rm -r raws",
	"cairn create -o app.mip app libfoo.so":                                "rm app.mip",
	"cairn push app raws --to http://127.0.0.1:7474":                       collector,
	"cairn order --format auto http://127.0.0.1:7474/app -o order.txt":     collector + "; cairn push app raws --to $(cat url)",
	"cairn collect backup http://127.0.0.1:7474 /backup/cairn.2026-11-28":  "mkdir backup; " + collector,
	"cairn collect repair /var/lib/cairn":                                  stored,
	"cairn collect verify /var/lib/cairn":                                  stored,
	"cairn build --mode full -- make":                                      "rm -r app app.mip raws",
	"cairn build -- make -j2":                                              "rm app",
	"cairn build --mode full -- sh -c './configure && make'":               "rm app",
	"cairn unpack monday.mippack -C raws":                                  "rm -r raws",
	"cairn header -o include/cairn.h":                                      "mkdir include",
	"cairn watch run --threshold 5ms --dir raws -- ./app args":             "gcc -O1 -pg -mfentry -o app app.c",
	"cairn watch run --detours ./app":                                      "gcc -O1 -g -o app app.c",
	"cairn watch plan -o app.plan app.exe":                                 "x86_64-w64-mingw32-gcc -O1 -o app.exe app.c",
	"cairn watch --attach-by-preload ./app args":                           "gcc -O1 -g -o app app.c",
	"perf script | cairn flame -":                                          "perf record -q -e cpu-clock -o perf.data true",
	"cairn flame --kernel-frames one -o - --format folded out.perf":        "perf script -i perf.data >out.perf",
	"cairn flame ./app perf.data":                                          "cp app.old app",
	"cairn record -o app.perf --dso libx.so --dso ./plugins/y.so -- ./app": "gcc -O1 -o app app.c -Wl,--no-as-needed,-rpath,. -L. libx.so",
	"cairn wrap deflate --from libz.so.debug -- gcc -o app main.o -lz":     "export LIBRARY_PATH=.; gcc -c -o main.o -Dfrob=strlen src/main.c",
}

// dirOf is where the examples of a command run, if not among the files of a program in C.
var dirOf = map[string]string{"cairn go": "gomodule"}

// comment is what follows an example in the help of the root.
var comment = regexp.MustCompile(`\s{3,}.*$`)

// ofXRay matches examples with logs of XRay, whose program has a map of its own.
var ofXRay = regexp.MustCompile(`\./app (.* )?(xray-log\S*|log)( |$)`)

// prelude has the commands start and stop of a server, whose address is in the file url.
const prelude = `set -o pipefail
start() {
  rm -f url
  "$@" >url & server=$!
  trap 'kill $server 2>/dev/null || true' EXIT
  until [ -s url ]; do kill -0 $server; sleep .02; done
}
stop() { kill $server; wait $server; trap - EXIT; }
`

// hereFor gives examples that name places of a machine such places of the test.
var hereFor = strings.NewReplacer("/var/lib/cairn", "collected", "/backup/", "backup/", "http://127.0.0.1:7474", "$(cat url)",
	"127.0.0.1:8080", "127.0.0.1:0")

// shellOf returns what bash runs for an example.
func shellOf(line string) string {
	before, here := beforeExample[line], hereFor.Replace(line)
	switch {
	case ofXRay.MatchString(line):
		before = "cp app.xray app"
	case servers[line]:
		here = "start " + here + "\nstop"
	}
	return prelude + before + "\n" + here
}

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
			runExamples(t, filepath.Join(dir, dirOf[c.CommandPath()]), lines)
		})
	})
	for _, list := range []map[string]string{notRun, beforeExample} {
		for line := range list {
			if !seen[line] {
				t.Errorf("%q is no example", line)
			}
		}
	}
	for line := range servers {
		if !seen[line] {
			t.Errorf("%q is no example", line)
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
		if out, err := runShell(dir, shellOf(line)); err != nil {
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

// goCache is the go command's, which depends on HOME.
var goCache = sync.OnceValue(func() string {
	out, _ := exec.Command("go", "env", "GOCACHE").Output()
	return "GOCACHE=" + strings.TrimSpace(string(out))
})

// runShell runs a script of bash in dir, whose bin is first on PATH. What hangs it ends.
func runShell(dir, script string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-e", "-c", script)
	cmd.WaitDelay = time.Second // for what it started, which has its output
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "CAIRN_CACHE="+shorttest.Cache(filepath.Join(dir, "cache")), "DEBUGINFOD_URLS=", goCache(),
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
