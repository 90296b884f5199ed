// Package deps holds the import rule of docs/architecture.md as a table. To add
// an edge, add it here and there, and say why in the commit.
package deps

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/cairnprof/cairn"

// rule says what a package may import besides the standard library.
type rule struct {
	ours   string // our packages, parted by blanks; "*" for all
	others string // modules of others
	// pure packages take plain data and give plain data: nothing of the
	// standard library that reaches the machine.
	pure bool
}

// rules has a line for each package. Rows import from rows above.
var rules = map[string]rule{
	"format/mip/wire":      {pure: true},
	"format/tracelog/wire": {pure: true},

	"prof":             {pure: true},
	"internal/bytecur": {pure: true},
	"trace":            {pure: true},
	"internal/domtree": {pure: true}, "internal/flowcount": {pure: true},
	"internal/sketch": {pure: true},
	"internal/x86":    {pure: true},

	"internal/debuginfod": {},

	"internal/ehframe":    {ours: "internal/bytecur", pure: true},
	"internal/detour":     {ours: "internal/x86 internal/ehframe", pure: true},
	"internal/detourfile": {ours: "internal/detour internal/ehframe internal/objfile"},
	"sample":              {pure: true},

	"format/unsymbolized": {ours: "sample", pure: true},
	"format/perfscript":   {ours: "sample", pure: true},

	"internal/survey":              {ours: "sample", pure: true},
	"format/perfdata":              {ours: "sample", others: "github.com/klauspost/compress/zstd", pure: true},
	"format/perfdata/perfdatatest": {ours: "sample", others: "github.com/klauspost/compress/zstd", pure: true},

	"format/xray":          {ours: "trace", others: "go.yaml.in/yaml/v3", pure: true},
	"format/xray/xraytest": {ours: "trace", pure: true},

	"format/tracelog":              {ours: "format/tracelog/wire trace internal/bytecur", pure: true},
	"format/tracelog/tracelogtest": {ours: "format/tracelog format/tracelog/wire", pure: true},

	"format/pseudoprobe": {ours: "internal/bytecur", pure: true},

	"internal/calltrie": {ours: "trace internal/sketch", pure: true},
	"internal/account":  {ours: "trace internal/calltrie", pure: true},

	"format/chrometrace": {ours: "trace", pure: true},
	"format/perfetto":    {ours: "trace", pure: true},
	"format/xrayyaml":    {ours: "trace", pure: true},
	"format/speedscope":  {pure: true},
	"format/folded":      {pure: true},

	"format/mip":        {ours: "format/mip/wire prof internal/bytecur", others: "go.yaml.in/yaml/v3", pure: true},
	"format/sampleprof": {ours: "internal/bytecur", pure: true},
	"format/fdata":      {pure: true},
	"internal/objfile":  {ours: "prof internal/bytecur internal/debuginfod"},
	"format/orderfile":  {pure: true},
	"format/xraymap":    {pure: true},
	"format/profdata":   {ours: "prof", pure: true},

	"format/calls":           {others: "github.com/parquet-go/parquet-go github.com/parquet-go/parquet-go/compress/zstd", pure: true},
	"format/calls/callstest": {ours: "format/calls", others: "github.com/parquet-go/parquet-go", pure: true},

	"format/mippack": {ours: "format/mip format/mip/wire prof internal/bytecur", pure: true},

	"internal/merge":      {ours: "prof format/mip/wire", pure: true},
	"internal/sourcefunc": {ours: "prof", pure: true},

	"internal/coverage":  {ours: "prof internal/domtree internal/sourcefunc internal/x86", pure: true},
	"internal/callgraph": {ours: "prof", pure: true},
	"internal/compare":   {ours: "prof", pure: true},
	"internal/order":     {ours: "prof", pure: true},
	"internal/resolve":   {ours: "prof", pure: true},
	"internal/symbolize": {ours: "trace format/xraymap internal/objfile"},
	"internal/linkorder": {pure: true},
	"internal/catch":     {pure: true},
	"internal/pages":     {ours: "prof", pure: true},

	"internal/export": {ours: "prof trace internal/calltrie internal/callgraph internal/coverage format/sampleprof format/fdata", others: "github.com/google/pprof/profile", pure: true},

	"internal/join":     {ours: "prof format/mip/wire internal/merge", pure: true},
	"internal/rawfiles": {ours: "prof format/mip format/mip/wire internal/merge"},

	"internal/logfile": {others: "github.com/klauspost/compress/zstd"},

	"internal/marklog": {ours: "format/tracelog/wire"},
	"internal/control": {},
	"mark":             {ours: "internal/marklog format/tracelog/wire"},

	"internal/native":     {ours: "prof internal/domtree format/mip/wire format/tracelog/wire", others: "github.com/ianlancetaylor/demangle", pure: true},
	"internal/nativert":   {ours: "prof format/mip/wire format/tracelog/wire"},
	"internal/driver":     {pure: true},
	"internal/lbr":        {ours: "sample internal/bytecur internal/objfile internal/x86", pure: true},
	"internal/ptrace":     {ours: "prof internal/objfile internal/x86"},
	"internal/heatmap":    {pure: true},
	"internal/webpage":    {pure: true},
	"internal/prove":      {ours: "internal/bytecur internal/objfile internal/x86", pure: true},
	"internal/wrap":       {ours: "internal/objfile", others: "github.com/ianlancetaylor/demangle", pure: true},
	"internal/flamegraph": {ours: "trace internal/calltrie internal/report internal/webpage", pure: true},
	"internal/spikes":     {ours: "trace format/tracelog internal/sketch internal/report internal/webpage", pure: true},
	"internal/tracedb":    {ours: "trace internal/calltrie internal/account format/calls", others: "modernc.org/sqlite modernc.org/sqlite/vtab"},
	"internal/stackdiff":  {ours: "trace internal/calltrie internal/account", pure: true},
	"internal/report":     {ours: "prof", others: "github.com/ianlancetaylor/demangle", pure: true},

	"internal/machinecode": {ours: "internal/domtree internal/objfile internal/x86 format/pseudoprobe", pure: true},
	"internal/unwind":      {ours: "sample internal/machinecode", pure: true},
	"internal/tailtruth":   {ours: "sample internal/machinecode internal/unwind internal/tailcall", pure: true},
	"internal/tailcall":    {ours: "trace internal/machinecode internal/unwind", pure: true},
	"internal/tailguests":  {ours: "sample format/perfscript internal/machinecode internal/objfile internal/profgen internal/tailtruth"},

	"internal/profgen": {ours: "format/sampleprof format/pseudoprobe trace internal/calltrie internal/flowcount internal/machinecode internal/objfile internal/tailcall internal/unwind", pure: true},

	"internal/attach": {ours: "internal/detour internal/detourfile internal/ehframe internal/objfile"},

	"internal/cli": {ours: "*", others: "github.com/spf13/cobra github.com/spf13/pflag golang.org/x/term"},
	"cmd/cairn":    {ours: "internal/cli"},
	"bench":        {ours: "format/mip format/xray internal/ptrace internal/tailcall internal/tailguests internal/tailtruth"},
	"corpus":       {},
	"torture":      {ours: "format/mip"},
	"docs":         {},

	"internal/deps":   {},
	"internal/oracle": {},
}

// impure are the packages, and those below them, that a pure one may not have.
var impure = []string{"os", "net", "log", "time", "syscall", "io/ioutil", "math/rand", "crypto/rand", "unsafe", "plugin"}

// owners are packages of the standard library that one package of ours wraps.
var owners = map[string]string{
	"debug/elf": "internal/objfile", "debug/dwarf": "internal/objfile", "debug/gosym": "internal/objfile",
	"debug/macho": "internal/objfile", "debug/pe": "internal/objfile",
}

// check returns what is wrong with pkg importing imp.
func check(pkg, imp string) string {
	r, ok := rules[pkg]
	name, isOurs := strings.CutPrefix(imp, module+"/")
	first, _, _ := strings.Cut(imp, "/")
	switch {
	case !ok:
		return "is not in the table of internal/deps"
	case isOurs && (r.ours == "*" || slices.Contains(strings.Fields(r.ours), name)):
	case isOurs:
		return "may not import " + name
	case strings.Contains(first, "."):
		if !slices.Contains(strings.Fields(r.others), imp) {
			return "may not import " + imp
		}
	case owners[imp] != "" && owners[imp] != pkg:
		return "may not import " + imp + ", which is for " + owners[imp]
	case r.pure && slices.ContainsFunc(impure, func(p string) bool { return imp == p || strings.HasPrefix(imp, p+"/") }):
		return "is pure and may not import " + imp
	}
	return ""
}

func TestImports(t *testing.T) {
	t.Parallel()
	files := 0
	seen := map[string]bool{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != root && (d.Name() == "testdata" || d.Name() == "out" || strings.HasPrefix(d.Name(), ".") || hasModule(file)) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		pkg := path.Dir(filepath.ToSlash(rel))
		files++
		seen[pkg] = true
		for _, imp := range imports(t, file) {
			complaint := check(pkg, imp)
			if strings.HasSuffix(file, "_test.go") {
				// Tests may reach further, but not up to the command line.
				complaint = ""
				if imp == module+"/internal/cli" && pkg != "internal/cli" {
					complaint = "tests the command line from outside it"
				}
			}
			if complaint != "" {
				t.Errorf("%s: %s %s", rel, pkg, complaint)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Fatal("found no file to check")
	}
	for _, pkg := range slices.Sorted(maps.Keys(rules)) {
		if !seen[pkg] {
			t.Errorf("%s is in the table, but not in the tree", pkg)
		}
	}
}

func hasModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func imports(t *testing.T, file string) []string {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	return paths
}

// The table must forbid what it is there for.
func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct{ pkg, imp, want string }{
		{"prof", "encoding/hex", ""},
		{"prof", "os", "is pure and may not import os"},
		{"internal/merge", "net/http", "is pure and may not import net/http"},
		{"internal/merge", "ostrich", ""},
		{"internal/coverage", module + "/prof", ""},
		{"internal/coverage", module + "/internal/objfile", "may not import internal/objfile"},
		{"internal/coverage", "example.org/x", "may not import example.org/x"},
		{"internal/cli", module + "/internal/coverage", ""},
		{"internal/cli", "debug/elf", "may not import debug/elf, which is for internal/objfile"},
		{"internal/util", "fmt", "is not in the table of internal/deps"},
	}
	for _, test := range tests {
		if got := check(test.pkg, test.imp); got != test.want {
			t.Errorf("%s imports %s: %q, want %q", test.pkg, test.imp, got, test.want)
		}
	}
}

// The page names every package that the table has.
func TestArchitecturePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range slices.Sorted(maps.Keys(rules)) {
		if !strings.Contains(string(page), "`"+pkg+"`") {
			t.Errorf("docs/architecture.md does not mention `%s`", pkg)
		}
	}
}
