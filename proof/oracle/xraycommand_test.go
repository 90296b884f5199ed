//go:build linux && amd64

package oracle

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// onLog runs a verb of cairn on a log, with its maps.
func onLog(t *testing.T, l *xrayLog, verb string, args ...string) string {
	t.Helper()
	return onLogWith(t, l, verb, nil, args...)
}

// onLogWith is onLog with arguments after the log.
func onLogWith(t *testing.T, l *xrayLog, verb string, behind []string, args ...string) string {
	t.Helper()
	argv := append(append([]string{verb, l.file}, behind...), args...)
	for _, m := range l.maps {
		argv = append(argv, "--map", m)
	}
	return output(t, command(t, cairn, argv...))
}

// functionCost is what verbs say in JSON of a function, or of an edge.
type functionCost struct {
	ID, Func           uint32
	Name               string
	Calls, Total, Self uint64
	Sum, Min, Max      uint64
}

// TestXRayCommands compares the commands with what the traced programs say of themselves.
func TestXRayCommands(t *testing.T) {
	t.Parallel()
	eachXRayLog(t, func(t *testing.T, l *xrayLog) {
		var doc struct{ Functions []functionCost }
		decodeJSON(t, onLog(t, l, "account", "--json"), &doc)
		counts, times := map[string]uint64{}, map[string]uint64{}
		self := uint64(0)
		for _, f := range doc.Functions {
			counts[f.Name] += f.Calls
			times[f.Name] += f.Total
			self += f.Self
		}
		checkXRayCalls(t, l, counts, times)
		checkXRayStacks(t, l, parseFolded(t, onLog(t, l, "stacks", "--folded", "--by", "count")))
		if got := sum(parseFolded(t, onLog(t, l, "stacks", "--folded"))); got != self {
			t.Errorf("the self times of all stacks add up to %d, those of functions to %d", got, self)
		}
	})
}

// TestXRayQuery compares what the database has of threads with what the traced programs say,
// and its sums with those of the other verbs.
func TestXRayQuery(t *testing.T) {
	t.Parallel()
	for i := range xrayRecordings {
		l := xrayRecordings[i].fixture(t)
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			var doc struct{ Rows []map[string]uint64 }
			decodeJSON(t, onLogWith(t, l, "query", []string{`SELECT count(*) AS threads, ifnull(sum(orphans), 0) AS orphans,
				ifnull(sum(deduced), 0) AS deduced, ifnull(sum(open), 0) AS open, ifnull(sum(tail_exits), 0) AS tailexits,
				ifnull(max(max_depth), 0) AS depth, ifnull(sum(enters), 0) AS enters, ifnull(sum(busy), 0) AS busy,
				(SELECT ifnull(sum(calls), 0) FROM functions) AS calls, (SELECT ifnull(sum(self), 0) FROM functions) AS self,
				(SELECT ifnull(sum(calls), 0) FROM stacks) AS stackcalls, (SELECT ifnull(sum(self), 0) FROM stacks) AS stackself,
				(SELECT ifnull(sum(calls), 0) FROM edges) AS edgecalls
				FROM threads`}, "--json"), &doc)
			if len(doc.Rows) != 1 {
				t.Fatalf("%d rows", len(doc.Rows))
			}
			got := doc.Rows[0]
			for fact, want := range l.truth.facts {
				if n, ok := got[fact]; ok && n != want {
					t.Errorf("%s: %d, want %d", fact, n, want)
				}
			}
			for _, sums := range [][2]string{
				{"calls", "enters"}, {"calls", "stackcalls"}, {"calls", "edgecalls"}, {"self", "stackself"}, {"self", "busy"},
			} {
				if got[sums[0]] != got[sums[1]] {
					t.Errorf("%s are %d, %s %d", sums[0], got[sums[0]], sums[1], got[sums[1]])
				}
			}
		})
	}
}

// TestXRayOutputs writes all outputs of a log, also of the unusual logs. Tests of the formats
// check their contents.
func TestXRayOutputs(t *testing.T) {
	t.Parallel()
	for i := range xrayRecordings {
		if testing.Short() && i%8 != 0 {
			continue
		}
		l := xrayRecordings[i].fixture(t)
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			for _, name := range []string{
				"calls.json", "calls.perfetto-trace", "calls.speedscope.json", "calls.pb.gz", "calls.folded", "calls.parquet", "calls.yaml.zst",
			} {
				onLog(t, l, "convert", "-o", filepath.Join(out, name))
			}
			onLog(t, l, "flame", "-o", filepath.Join(out, "flame.html"))
			onLog(t, l, "flame", "-o", filepath.Join(out, "flame.svg"))
			onLog(t, l, "callgraph", "-o", filepath.Join(out, "graph.dot"))
			onLog(t, l, "callgraph", "--format", "mermaid", "-o", filepath.Join(out, "graph.mmd"))
			onLog(t, l, "query", "--save", filepath.Join(out, "trace.db"))
			onLog(t, l, "stacks", "--per-thread")
			output(t, command(t, cairn, "dump", l.file))
			for _, file := range mustGlob(t, filepath.Join(out, "*")) {
				info, err := os.Stat(file)
				if err != nil {
					t.Fatal(err)
				}
				// Where calls have no end, stacks have no time.
				mayBeEmpty := l.program() == "empty" || l.program() == "entries" && filepath.Ext(file) == ".folded"
				if info.Size() == 0 && !mayBeEmpty {
					t.Errorf("%s is empty", file)
				}
			}
		})
	}
}

// TestXRayInputs gives a log in all possible ways.
func TestXRayInputs(t *testing.T) {
	t.Parallel()
	l := recording(t, "fdr-threads").fixture(t)
	data, err := os.ReadFile(l.file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	copyFile(t, l.file, filepath.Join(dir, "a.xray"))
	writeTestFile(t, filepath.Join(dir, "b.xray.gz"), output(t, command(t, "gzip", "-c", l.file)))
	counts := func(stdin string, logs ...string) map[string]uint64 {
		cmd := command(t, cairn, append(append([]string{"stacks", "--folded", "--by", "count"}, logs...), "--map", l.maps[0])...)
		cmd.Stdin = strings.NewReader(stdin)
		return parseFolded(t, output(t, cmd))
	}
	want := counts("", l.file)
	checkXRayStacks(t, l, want)
	for how, got := range map[string]map[string]uint64{
		"standard input": counts(string(data), "-"),
		"gzip":           counts("", filepath.Join(dir, "b.xray.gz")),
	} {
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", how, got, want)
		}
	}
	both := counts("", filepath.Join(dir, "*.xray*"))
	for stack, n := range want {
		if both[stack] != 2*n {
			t.Errorf("two logs: %d calls of %s, one has %d", both[stack], stack, n)
		}
	}
}

// TestXRayObjectList names the objects of a program with a file that lists them.
func TestXRayObjectList(t *testing.T) {
	t.Parallel()
	l := recording(t, "basic-objects").fixture(t)
	want := onLog(t, l, "account", "--json")
	var list strings.Builder
	for _, m := range l.maps {
		object, file, ok := strings.Cut(m, "=")
		if !ok {
			object, file = "0", m
		}
		absolute, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&list, object, absolute)
	}
	l.maps = []string{filepath.Join(t.TempDir(), "objects.txt")}
	writeTestFile(t, l.maps[0], list.String())
	if got := onLog(t, l, "account", "--json"); got != want {
		t.Errorf("a list of objects gives\n%s\nwant\n%s", got, want)
	}
}

func mustGlob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return files
}

// TestXRayYAML compares the records as text with llvm-xray's, byte by byte.
func TestXRayYAML(t *testing.T) {
	t.Parallel()
	eachLLVMRight(t, func(t *testing.T, l *xrayLog, big bool) {
		if big || l.program() == "events" {
			t.Skip("llvm-xray needs minutes, or names events by the call before")
		}
		want, err := runLLVM(t, l, "convert", "-f", "yaml", "-symbolize")
		if err != nil {
			t.Fatalf("llvm-xray convert: %v", err)
		}
		got := onLog(t, l, "convert", "--format", "yaml")
		if got == want {
			return
		}
		mine, theirs := withoutTies(got), withoutTies(want)
		if slices.Equal(mine, theirs) {
			return
		}
		for i := range min(len(mine), len(theirs)) {
			if mine[i] != theirs[i] {
				t.Fatalf("line %d is\n%s\nllvm-xray has\n%s", i+1, mine[i], theirs[i])
			}
		}
		t.Errorf("%d lines, llvm-xray has %d", len(mine), len(theirs))
	})
}

// tscOf finds the time of a record in YAML.
var tscOf = regexp.MustCompile(` tsc: \d+,`)

// withoutTies returns the lines of YAML, those of events at the same time in the order
// of their text: llvm-xray has them in any.
func withoutTies(text string) []string {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); {
		tsc, end := tscOf.FindString(lines[i]), i+1
		for tsc != "" && end < len(lines) && tscOf.FindString(lines[end]) == tsc {
			end++
		}
		slices.Sort(lines[i:end])
		i = end
	}
	return lines
}

func decodeJSON(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// parseFolded reads lines like "main;work 12".
func parseFolded(t *testing.T, text string) map[string]uint64 {
	t.Helper()
	stacks := map[string]uint64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		i := strings.LastIndexByte(line, ' ')
		if i < 0 {
			t.Fatalf("a folded stack is %q", line)
		}
		n, err := strconv.ParseUint(line[i+1:], 10, 64)
		if err != nil {
			t.Fatalf("a folded stack is %q", line)
		}
		stacks[line[:i]] += n
	}
	return stacks
}

// oneStack reports whether llvm-xray account can follow a log: it has one stack
// for all threads, and loses its way where an exit is missing.
func (l *xrayLog) oneStack() bool { return l.program() != "threads" && l.program() != "leaves" }

// TestXRayAccount compares what functions cost with llvm-xray account.
func TestXRayAccount(t *testing.T) {
	t.Parallel()
	eachLLVMRight(t, func(t *testing.T, l *xrayLog, _ bool) {
		if !l.oneStack() {
			t.Skip("llvm-xray account fails")
		}
		text, err := runLLVM(t, l, "account", "-f", "csv")
		if err != nil {
			t.Fatalf("llvm-xray account: %v", err)
		}
		theirs, mine := parseCSV(t, text, "funcid"), parseCSV(t, onLog(t, l, "account", "--csv", "--drop-open"), "id")
		c := tally{t: t}
		for id, want := range theirs {
			got := mine[id]
			c.check(got["calls"] == want["count"], "%s: %s calls, llvm-xray has %s", want["function"], got["calls"], want["count"])
			for mineKey, key := range map[string]string{"min": "min", "max": "max", "sum": "sum", "median": "median", "p90": "90%ile", "p99": "99%ile"} {
				ns := number(t, got[mineKey])
				off := math.Abs(ns-number(t, want[key])*1e9) / max(ns, 1)
				limit := 1e-6 // llvm-xray prints seven digits
				if number(t, want["count"]) > 32 && mineKey[0] != 's' && mineKey != "min" && mineKey != "max" {
					limit = 0.016
				}
				c.check(off <= limit, "%s, %s: %s ns, llvm-xray has %s s", want["function"], key, got[mineKey], want[key])
			}
		}
		c.check(len(mine) == len(theirs), "%d functions, llvm-xray has %d", len(mine), len(theirs))
		c.done("numbers of functions")
	})
}

// parseCSV reads rows by the value in the column key, each by column.
func parseCSV(t *testing.T, text, key string) map[string]map[string]string {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) == 0 {
		t.Fatalf("%v: %.500s", err, text)
	}
	column := slices.Index(records[0], key)
	if column < 0 {
		t.Fatalf("there is no column %s: %q", key, records[0])
	}
	rows := map[string]map[string]string{}
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = record[i]
		}
		rows[record[column]] = row
	}
	return rows
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

var llvmEdge = regexp.MustCompile(`^F(\d+) -> F(\d+) \[label="([^"]*)"\];$`)

// TestXRayGraph compares the edges of the graph of calls with llvm-xray's.
func TestXRayGraph(t *testing.T) {
	t.Parallel()
	eachLLVMRight(t, func(t *testing.T, l *xrayLog, _ bool) {
		if l.program() == "leaves" {
			t.Skip("llvm-xray graph fails where an exit is missing")
		}
		var doc struct {
			Edges []struct {
				From, To uint32 // 0 outside, as llvm-xray has it
				functionCost
			}
		}
		decodeJSON(t, onLog(t, l, "callgraph", "--format", "json", "--drop-open"), &doc)
		for kind, of := range map[string]func(c *functionCost) float64{
			"count": func(c *functionCost) float64 { return float64(c.Calls) },
			"sum":   func(c *functionCost) float64 { return float64(c.Sum) / 1e9 },
			"max":   func(c *functionCost) float64 { return float64(c.Max) / 1e9 },
		} {
			text, err := runLLVM(t, l, "graph", "-e", kind)
			if err != nil {
				t.Fatalf("llvm-xray graph: %v", err)
			}
			theirs := map[string]float64{}
			for line := range strings.Lines(text) {
				if m := llvmEdge.FindStringSubmatch(strings.TrimSpace(line)); m != nil && number(t, m[3]) != 0 {
					theirs[m[1]+" -> "+m[2]] = number(t, m[3])
				}
			}
			c := tally{t: t}
			for i := range doc.Edges {
				e := &doc.Edges[i]
				name := fmt.Sprintf("%d -> %d", e.From, e.To)
				got, want := of(&e.functionCost), theirs[name]
				c.check(math.Abs(got-want) <= 1e-6*want, "%s of %s: %g, llvm-xray has %g", kind, name, got, want)
				delete(theirs, name)
			}
			c.check(len(theirs) == 0, "llvm-xray has edges %v besides", theirs)
			c.done(kind + " of edges")
		}
	})
}
