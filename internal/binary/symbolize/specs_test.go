package symbolize

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
)

func TestParseSpec(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Spec{
		"app":             {Path: "app"},
		"0=app":           {Numbered: true, Path: "app"},
		"3=libx.so":       {Object: 3, Numbered: true, Path: "libx.so"},
		"255=/a b/c=d.so": {Object: 255, Numbered: true, Path: "/a b/c=d.so"},
		"./3=x":           {Path: "./3=x"},
		"a=b":             {Path: "a=b"},
		"map.yaml":        {Path: "map.yaml"},
	} {
		if got, err := ParseSpec(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                         "has no name",
		"3=":                       "3=: no file given for object 3",
		"256=x":                    "256=x: objects have numbers from 0 to 255, not 256",
		"9999999999999999999999=x": "objects have numbers from 0 to 255",
	} {
		if _, err := ParseSpec(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// yamlMap is a map of two functions.
func yamlMap(first, second string) string {
	return fmt.Sprintf(`---
- { id: 1, address: 0x10, function: 0x10, kind: function-enter, always-instrument: true, function-name: %s, version: 2 }
- { id: 2, address: 0x20, function: 0x20, kind: function-enter, always-instrument: true, function-name: %s, version: 2 }
...
`, first, second)
}

func TestLoadAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	app := write(t, dir, "app.yaml", yamlMap("main", "f"))
	lib := write(t, dir, "lib.yaml", yamlMap("g", "''"))
	list := write(t, dir, "list", "# a run\n  0   app.yaml 0x400000\n\n3 "+lib+"\r\n")
	want := calllog.Funcs{
		1:                        {Name: "main", Addr: 0x10, Object: "app.yaml"},
		2:                        {Name: "f", Addr: 0x20, Object: "app.yaml"},
		calllog.MakeFuncID(3, 1): {Name: "g", Addr: 0x10, Object: "lib.yaml"},
		calllog.MakeFuncID(3, 2): {Addr: 0x20, Object: "lib.yaml"},
	}
	for _, specs := range [][]Spec{
		{{Path: app}, {3, true, lib}},
		{{3, true, lib}, {0, true, app}},
		{{Path: list}},
	} {
		p, err := LoadAll(specs)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(p.Funcs) != fmt.Sprint(want) || len(p.Notes) != 0 || len(p.Objects) != 2 || p.Objects[1].Number != 3 {
			t.Errorf("%v: %+v", specs, p)
		}
	}
	p, err := LoadAll([]Spec{{Path: app}, {16, true, lib}})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "logs of the flight data recorder distinguish only 16 objects") {
		t.Errorf("notes of 16 objects: %q", p.Notes)
	}
	if p, err := LoadAll([]Spec{{Path: app}, {15, true, lib}}); err != nil || len(p.Notes) != 0 {
		t.Errorf("notes of 15 objects: %v, %v", p, err)
	}
	if p, err := LoadAll(nil); err != nil || len(p.Funcs) != 0 {
		t.Errorf("no specs: %v, %v", p, err)
	}
}

func TestLoadAllErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	app := write(t, dir, "app.yaml", yamlMap("main", "f"))
	for text, want := range map[string]string{
		"0 x\n3\n":          "line 2: not the number and the path of an object: \"3\"",
		"0 x\n\n300 x\n":    "line 3: objects have numbers from 0 to 255, not 300",
		"0 app.yaml\n0 y\n": "and y are both object 0",
		"1 gone.yaml\n":     "gone.yaml",
	} {
		path := write(t, dir, "list", text)
		if _, err := LoadAll([]Spec{{Path: path}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := LoadAll([]Spec{{Path: app}, {Path: app}}); err == nil || !strings.Contains(err.Error(), "give shared objects as NUMBER=FILE") {
		t.Errorf("twice the same: %v", err)
	}
	if _, err := LoadAll([]Spec{{Path: filepath.Join(dir, "gone")}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestLoadErrors loads files that have no map.
func TestLoadErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "p.c", "int main(void) { return 0; }\n")
	run(t, dir, "gcc p.c -o plain")
	run(t, dir, "objcopy --add-section xray_instr_map=p.c plain short")
	for path, want := range map[string]string{
		filepath.Join(dir, "plain"):           "plain: no instrumentation map (xray_instr_map): it was not built with -fxray-instrument",
		filepath.Join(dir, "short"):           "the last 29 bytes are not a complete entry of 32 (truncated file?)",
		write(t, dir, "text", "hello\n"):      "text: not an ELF file nor Mach-O, nor an instrumentation map in YAML",
		write(t, dir, "empty", ""):            "empty: not an ELF file nor Mach-O, nor",
		write(t, dir, "bad.yaml", "---\nx\n"): "bad.yaml: line 2: not a row of an instrumentation map",
		write(t, dir, "big.yaml", "- { id: 0x1000000, address: 1, function: 1, kind: function-exit }\n"): "big.yaml: function 16777216: function ids within an object go up to 16777215",
		dir: "is a directory",
	} {
		if _, err := Load(path, 0); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
		if Holds(path) != strings.HasSuffix(path, ".yaml") && filepath.Base(path) != "short" {
			t.Errorf("%s: Holds is %v", path, Holds(path))
		}
	}
	if _, err := Load(filepath.Join(dir, "plain"), 0); !errors.Is(err, ErrNoMap) {
		t.Errorf("%v is not ErrNoMap", err)
	}
}

// BenchmarkLoad loads a program of 4000 functions with debug information.
func BenchmarkLoad(b *testing.B) {
	const functions = 4000
	var source strings.Builder
	for i := range functions {
		fmt.Fprintf(&source, "int f%d(int x, int y) { int z = x + y; for (int i = 0; i < y; i++) z ^= x * %d; return z; }\n", i, i)
	}
	source.WriteString("int main() {}\n")
	bin := compile(b, source.String(), "-O1 -g -fxray-instrument -fxray-instruction-threshold=1")
	for b.Loop() {
		if o := load(b, bin, 0); len(o.Funcs) < functions {
			b.Fatal(len(o.Funcs))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/functions, "ns/function")
}
