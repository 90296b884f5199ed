package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/orderfile"
	"github.com/cairnprof/cairn/prof"
)

// saysWhatRuns is a program whose functions print their names when they start, with their file
// where another function has the same name.
var saysWhatRuns = map[string]string{
	"a.c": `#include <stdio.h>
#define SAY(name) do { static int said; if (!said++) printf("%s\n", name); } while (0)
int work(int);
static __attribute__((noinline)) int setup(int x) { SAY("a.c;setup"); return x + 1; }
static __attribute__((noinline)) int finish(int x) { SAY("finish"); return x * 2; }
__attribute__((noinline)) int never(void) { SAY("never"); return 9; }
static int tiny(int x) { return x ^ 5; }
int tiny2(int x);
int main(int argc, char **argv) {
  SAY("main");
  int r = work(setup(argc)) + work(argc + 1) + tiny(argc) + tiny2(argc);
  if (argc > 1) r += never();
  return finish(r) == 12345;
}
`,
	"b.c": `#include <stdio.h>
#define SAY(name) do { static int said; if (!said++) printf("%s\n", name); } while (0)
static __attribute__((noinline)) int setup(int x) { SAY("b.c;setup"); return x + 1; }
__attribute__((noinline)) int leaf(int x) { SAY("leaf"); return x * 3; }
__attribute__((noinline)) int work(int x) { SAY("work"); return leaf(setup(x)) + leaf(x); }
__attribute__((weak)) int tiny2(int x) { SAY("tiny2"); return x; }
`,
}

func runIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "LLVM_PROFILE_FILE=run.profraw")
	var talk bytes.Buffer
	cmd.Stderr = &talk
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, &talk)
	}
	return string(out)
}

func writeProgram(t *testing.T, dir string) {
	t.Helper()
	for name, text := range saysWhatRuns {
		writeTestFile(t, filepath.Join(dir, name), []byte(text))
	}
}

// traceNames returns the one module's traces in the profile at path, in the
// program's own words.
func traceNames(t *testing.T, path string) (traces [][]string, m prof.Module) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := mip.ReadProfile(data)
	if err != nil || len(p.Modules) != 1 {
		t.Fatalf("%d modules: %v", len(p.Modules), err)
	}
	for _, tr := range p.Modules[0].Traces {
		var names []string
		for _, fn := range tr.Funcs {
			f := &p.Modules[0].Funcs[fn]
			name := f.Name
			if name == "setup" {
				name = f.File + ";" + name
			}
			names = append(names, name)
		}
		traces = append(traces, names)
	}
	return traces, p.Modules[0]
}

// TestImportTemporalProfile compares what import makes of a profile of LLVM's
// with what the program itself said.
func TestImportTemporalProfile(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"clang-22", "llvm-profdata-22"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	writeProgram(t, dir)
	runIn(t, dir, "clang-22", "-O1", "-fprofile-generate", "-mllvm", "-pgo-temporal-instrumentation", "a.c", "b.c", "-o", "traced")
	runIn(t, dir, "clang-22", "-O1", "-Wl,--build-id", "a.c", "b.c", "-o", "app")
	said := strings.Fields(runIn(t, dir, "./traced"))
	if len(said) < 6 {
		t.Fatal(said)
	}
	runIn(t, dir, "llvm-profdata-22", "merge", "run.profraw", "-o", "run.profdata")
	runIn(t, dir, "llvm-profdata-22", "merge", "--text", "run.profdata", "-o", "run.proftext")
	for _, file := range []string{"run.proftext", "run.profdata", "run.profraw"} {
		code, _, talk := cairn(t, dir, "import", "--binary", "$W/app", "-o", "$W/app.mip", "--scenario", "plain", "--weight", "3", "$W/"+file)
		if code != 0 {
			t.Fatal(talk)
		}
		got, m := traceNames(t, filepath.Join(dir, "app.mip"))
		if len(got) != 1 || strings.Join(got[0], " ") != strings.Join(said, " ") {
			t.Errorf("%s: %v, the program said %v", file, got, said)
		}
		if tr := m.Traces[0]; tr.Scenario != "plain" || tr.Weight != 3 || tr.Cut || m.Raws != 1 {
			t.Errorf("%s: %+v of %d runs", file, tr, m.Raws)
		}
		for i, f := range m.Funcs {
			if f.Name == "never" && m.Counts[i].Runs != 0 || f.Name == "main" && (m.Counts[i].Runs != 1 || m.Counts[i].OrderSum != 1) {
				t.Errorf("%s: %+v", f.Name, m.Counts[i])
			}
		}
	}
	// A second import adds to the profile.
	if code, _, talk := cairn(t, dir, "import", "--binary", "$W/app", "-p", "$W/app.mip", "$W/run.profdata"); code != 0 {
		t.Fatal(talk)
	}
	if got, m := traceNames(t, filepath.Join(dir, "app.mip")); len(got) != 2 || m.Raws != 2 {
		t.Errorf("%d traces of %d runs", len(got), m.Raws)
	}
}

// TestImportOrderFileDump makes a dump as the runtime of clang 14 does; that
// this is what it does is tested in format/orderfile.
func TestImportOrderFileDump(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeProgram(t, dir)
	runIn(t, dir, "gcc", "-O1", "-Wl,--build-id", "a.c", "b.c", "-o", "app")
	dump := make([]byte, orderfile.DumpSize)
	mapping := ""
	for i, name := range []string{"main", "setup", "work", "setup", "leaf", "gone", "finish"} {
		h := orderfile.Hash(name)
		for k := range 8 {
			dump[8*i+k] = byte(h >> (8 * k))
		}
		if name == "gone" {
			mapping = "MD5 a5ec3f3cbb7e4e8e gone\n"
		}
	}
	writeTestFile(t, filepath.Join(dir, "run.dump"), dump)
	code, _, talk := cairn(t, dir, "import", "--binary", "$W/app", "-o", "$W/app.mip", "$W/run.dump")
	if code != 0 || !strings.Contains(talk, "1 of 7 hashes match no known name") || !strings.Contains(talk, "2 names belong to several functions") {
		t.Errorf("%d: %s", code, talk)
	}
	got, _ := traceNames(t, filepath.Join(dir, "app.mip"))
	if len(got) != 1 || strings.Join(got[0], " ") != "main a.c;setup work b.c;setup leaf finish" {
		t.Errorf("%v", got)
	}
	writeTestFile(t, filepath.Join(dir, "app.map"), []byte(mapping))
	if code, _, talk := cairn(t, dir, "import", "--binary", "$W/app", "-o", "$W/app.mip", "--mapping", "$W/app.map", "$W/run.dump"); code == 0 || !strings.Contains(talk, "app.map: line 1: the hash of") {
		t.Errorf("a wrong hash: %d: %s", code, talk)
	}
}

func TestImportErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeProgram(t, dir)
	runIn(t, dir, "gcc", "-O1", "-Wl,--build-id", "a.c", "b.c", "-o", "app")
	runIn(t, dir, "gcc", "-O1", "-Wl,--build-id=none", "a.c", "b.c", "-o", "noid")
	files := map[string]string{
		"other.proftext": ":ir\n:temporal_prof_traces\n1\n1\n1\nx,y,\n",
		"plain.proftext": ":ir\nmain\n1\n1\n1\n",
		"bad.proftext":   ":ir\n:temporal_prof_traces\n1\nx\n",
		"text":           "hello\n",
		"bad.profdata":   "\xfflprofi\x81garbage",
		"some.proftext":  ":ir\n:temporal_prof_traces\n1\n1\n1\nmain,gone,b.c;inlined,\n",
	}
	for name, text := range files {
		writeTestFile(t, filepath.Join(dir, name), []byte(text))
	}
	for _, test := range []struct {
		want string
		code int
		args []string
	}{
		{"import: no binary given", 2, []string{"-o", "$W/o.mip", "$W/some.proftext"}},
		{"give -o FILE.mip", 2, []string{"--binary", "$W/app", "$W/some.proftext"}},
		{"none of its 2 names is a function of $W/app", 1, []string{"--binary", "$W/app", "-o", "$W/o.mip", "$W/other.proftext"}},
		{"plain.proftext: no temporal traces: compile with", 1, []string{"--binary", "$W/app", "-o", "$W/o.mip", "$W/plain.proftext"}},
		{`bad.proftext: line 4: "x" should be`, 1, []string{"--binary", "$W/app", "-o", "$W/o.mip", "$W/bad.proftext"}},
		{"text: not a profile of LLVM nor an order-file dump", 1, []string{"--binary", "$W/app", "-o", "$W/o.mip", "$W/text"}},
		{"llvm-profdata", 1, []string{"--binary", "$W/app", "-o", "$W/o.mip", "$W/bad.profdata"}},
		{"no build id: link with -Wl,--build-id", 1, []string{"--binary", "$W/noid", "-o", "$W/o.mip", "$W/some.proftext"}},
		{"2 of 3 names are not functions of $W/app (inlined or renamed): gone, inlined", 0, []string{"--binary", "$W/app", "-o", "$W/o.mip", "$W/some.proftext"}},
	} {
		code, _, talk := cairn(t, dir, append([]string{"import"}, test.args...)...)
		if code != test.code || !strings.Contains(talk, test.want) {
			t.Errorf("want %d, %q: %d, %s", test.code, test.want, code, talk)
		}
		if _, err := os.Stat(filepath.Join(dir, "o.mip")); (err == nil) != (code == 0) {
			t.Errorf("%s: the output is there: %v", test.want, err == nil)
		}
	}
}
