package gobuild_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/runtime/goruntime"
)

// toldSpikes are what the program of TestMarks is told, by OnSpike, and says of its channels.
var toldSpikes = []string{
	`(?m)^\d+ parent false main\.strict \d+\.\.\d+/5 ms recent true label "game" desc "" messages \[\] stack main\.strict\(section false, \d+\.\.\d+ ms\) main\.tick\(.*\) main\.main\(.*\) runtime\.main$`,
	`stack main\.work\(section false, \d+\.\.\d+ ms\) main\.script\(.*\) scripts\(section true, \d+\.\.\d+ ms\) main\.tick\(`,
	`(?m)^\d+ parent true main\.script \d+\.\.\d+/20 ms recent true label "game" desc "script door.lua" messages \["ran for 40 ms"\] stack$`,
	`(?m)^\d+ parent true scripts `,
	`(?m)^\d+ parent false main\.channel \d+\.\.\d+/2 ms .* desc "of a channel"`,
	`(?m)^channels true false true$`,
}

// TestMarks builds a program with package mark in mode spike, and checks that marks set
// thresholds, suppress spikes and have texts in the log of the probes.
func TestMarks(t *testing.T) {
	src, err := os.ReadFile("testdata/marks.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cairn, _ := needsGo(t)
	dir := t.TempDir()
	mod := "module example.com/game\n\ngo 1.25\n\nrequire github.com/cairnprof/cairn v0.0.0\n\nreplace github.com/cairnprof/cairn => " + root + "\n"
	for name, text := range map[string][]byte{"go.mod": []byte(mod), "main.go": src} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"CGO_ENABLED=0", "GOFLAGS=-mod=mod", "CAIRN_DIR=raws", "CAIRN_SPIKE=channels=loud,budget=1.5ms"}
	do(t, dir, "", env, cairn, "go", "--mode", "spike", "build", "-o", "app", ".")
	told := do(t, dir, "", env, "./app")
	for _, want := range toldSpikes {
		if !regexp.MustCompile(want).MatchString(told) {
			t.Errorf("no %s in\n%s", want, told)
		}
	}
	checkHalf(t, told)
	if strings.Contains(told, "main.waits") || strings.Contains(told, "main.told") {
		t.Error(told)
	}
	type entry struct {
		Function string
		Section  string
	}
	var peaks []string
	var texts string
	dec := json.NewDecoder(strings.NewReader(do(t, dir, "", env, cairn, "spikes", "--jsonl", "raws")))
	for dec.More() {
		var s struct {
			Thread string
			Frame  uint64
			Parent bool
			Peak   entry
			Stack  []entry
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		if s.Peak.Function != "" {
			peaks = append(peaks, s.Peak.Function)
			texts += string(raw)
		}
	}
	slices.Sort(peaks)
	// A busy machine can have other calls take so long, but none that is ignored, and not load.
	for _, want := range []string{"main.strict", "main.work", "main.half", "main.channel"} {
		if !slices.Contains(peaks, want) {
			t.Errorf("%s is not in %v", want, peaks)
		}
	}
	for _, never := range []string{"main.load", "main.expected", "main.waits", "main.told"} {
		if slices.Contains(peaks, never) {
			t.Errorf("%s is in %v", never, peaks)
		}
	}
	for _, want := range []string{"script door.lua", "ran for 40 ms", `"thread":"game"`, "scripts"} {
		if !strings.Contains(strings.ReplaceAll(texts, `": "`, `":"`), want) {
			t.Errorf("no %q in %s", want, texts)
		}
	}
	// One was asked for; that of the handler of spikes is none.
	if out := do(t, dir, "", env, cairn, "spikes", "raws"); strings.Count(out, "\nsnapshot  thread game ") != 1 ||
		!regexp.MustCompile(`main\.looks \[around\] .* so far [2-9]`).MatchString(out) {
		t.Error(out)
	}
	if out := do(t, dir, "", env, cairn, "spikes", "--frames", "raws"); !regexp.MustCompile(`(?m)^.*\b5 frames: .* longer than 1\.5 ms `).MatchString(out) {
		t.Error(out)
	}
	// With the tag the package measures by itself, and writes a log of its own.
	do(t, dir, "", append(env, "CAIRN_DIR=both"), cairn, "go", "--mode", "spike", "build", "-tags", "cairn", "-o", "app", ".")
	do(t, dir, "", append(env, "CAIRN_DIR=both"), "./app")
	if logs, err := filepath.Glob(filepath.Join(dir, "both", "*.cairnlog")); err != nil || len(logs) != 2 {
		t.Errorf("%v, %v", logs, err)
	}
}

// checkHalf compares the interval of main.half, which has a pause of 150 ms, with what it measured
// of itself: at least the 60 ms of its sleep, and at most its time without the pause. The handler
// runs in the latter as well.
func checkHalf(t *testing.T, told string) {
	t.Helper()
	var lo, hi, ran int
	m := regexp.MustCompile(`(?m)^\d+ parent false main\.half (\d+)\.\.(\d+)/`).FindStringSubmatch(told)
	r := regexp.MustCompile(`(?m)^half ran for (\d+) ms$`).FindStringSubmatch(told)
	if m == nil || r == nil {
		t.Fatalf("main.half is not in\n%s", told)
	}
	for i, p := range []*int{&lo, &hi, &ran} {
		n, err := strconv.Atoi([]string{m[1], m[2], r[1]}[i])
		if err != nil {
			t.Fatal(err)
		}
		*p = n
	}
	if lo > ran || hi < 60 {
		t.Errorf("main.half took %d..%d ms: it slept for 60 ms, and ran for %d ms", lo, hi, ran)
	}
}

// TestMarkAPI compares what the file that takes the place of off.go declares with off.go.
func TestMarkAPI(t *testing.T) {
	t.Parallel()
	off, err := os.ReadFile("../../mark/off.go")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := exported(t, goruntime.Mark()), exported(t, off); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// exported returns the exported declarations of a file, without bodies and the fields of types.
func exported(t *testing.T, src []byte) (list []string) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "x.go", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() {
				d.Body, d.Doc = nil, nil
				var b bytes.Buffer
				if err := format.Node(&b, fset, d); err != nil {
					t.Fatal(err)
				}
				list = append(list, b.String())
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() {
					list = append(list, "type "+s.Name.Name)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}
