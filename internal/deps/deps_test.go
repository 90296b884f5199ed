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

	"prof":                    {pure: true},
	"internal/bytecur":        {pure: true},
	"trace":                   {pure: true},
	"internal/binary/domtree": {pure: true}, "internal/samples/flowcount": {pure: true},
	"internal/calls/sketch": {pure: true},
	"internal/binary/x86":   {pure: true},

	"internal/binary/debuginfod": {},

	"internal/binary/ehframe":        {ours: "internal/bytecur", pure: true},
	"internal/instrument/detour":     {ours: "internal/binary/x86 internal/binary/ehframe", pure: true},
	"internal/instrument/detourfile": {ours: "internal/instrument/detour internal/binary/ehframe internal/binary/objfile"},
	"sample":                         {pure: true},

	"format/unsymbolized": {ours: "sample", pure: true},
	"format/perfscript":   {ours: "sample", pure: true},

	"internal/samples/survey":      {ours: "sample", pure: true},
	"format/perfdata":              {ours: "sample", others: "github.com/klauspost/compress/zstd", pure: true},
	"format/perfdata/perfdatatest": {ours: "sample", others: "github.com/klauspost/compress/zstd", pure: true},

	"format/xray":          {ours: "trace", others: "go.yaml.in/yaml/v3", pure: true},
	"format/xray/xraytest": {ours: "trace", pure: true},

	"format/tracelog":              {ours: "format/tracelog/wire trace internal/bytecur", pure: true},
	"format/tracelog/tracelogtest": {ours: "format/tracelog format/tracelog/wire", pure: true},

	"format/pseudoprobe": {ours: "internal/bytecur", pure: true},

	"internal/calls/calltrie": {ours: "trace internal/calls/sketch", pure: true},
	"internal/calls/account":  {ours: "trace internal/calls/calltrie", pure: true},

	"format/chrometrace": {ours: "trace", pure: true},
	"format/perfetto":    {ours: "trace", pure: true},
	"format/xrayyaml":    {ours: "trace", pure: true},
	"format/speedscope":  {pure: true},
	"format/folded":      {pure: true},

	"format/mip":              {ours: "format/mip/wire prof internal/bytecur", others: "go.yaml.in/yaml/v3", pure: true},
	"format/sampleprof":       {ours: "internal/bytecur", pure: true},
	"format/fdata":            {pure: true},
	"internal/binary/objfile": {ours: "prof internal/bytecur internal/binary/debuginfod"},
	"format/orderfile":        {pure: true},
	"format/xraymap":          {pure: true},
	"format/profdata":         {ours: "prof", pure: true},

	"format/calls":           {others: "github.com/parquet-go/parquet-go github.com/parquet-go/parquet-go/compress/zstd", pure: true},
	"format/calls/callstest": {ours: "format/calls", others: "github.com/parquet-go/parquet-go", pure: true},

	"format/mippack": {ours: "format/mip format/mip/wire prof internal/bytecur", pure: true},

	"internal/profile/merge":      {ours: "prof format/mip/wire", pure: true},
	"internal/profile/sourcefunc": {ours: "prof", pure: true},

	"internal/profile/coverage":  {ours: "prof internal/binary/domtree internal/profile/sourcefunc internal/binary/x86", pure: true},
	"internal/profile/callgraph": {ours: "prof", pure: true},
	"internal/profile/compare":   {ours: "prof", pure: true},
	"internal/layout/order":      {ours: "prof", pure: true},
	"internal/profile/resolve":   {ours: "prof", pure: true},
	"internal/binary/symbolize":  {ours: "trace format/xraymap internal/binary/objfile"},
	"internal/layout/linkorder":  {pure: true},
	"internal/instrument/catch":  {pure: true},
	"internal/layout/pages":      {ours: "prof", pure: true},

	"internal/export": {ours: "prof trace internal/calls/calltrie internal/profile/callgraph internal/profile/coverage format/sampleprof format/fdata", others: "github.com/google/pprof/profile", pure: true},

	"internal/profile/join":     {ours: "prof format/mip/wire internal/profile/merge", pure: true},
	"internal/profile/rawfiles": {ours: "prof format/mip format/mip/wire internal/profile/merge"},

	"internal/calls/logfile": {others: "github.com/klauspost/compress/zstd"},

	"internal/spikes/marklog": {ours: "format/tracelog/wire"},
	"internal/spikes/control": {},
	"mark":                    {ours: "internal/spikes/marklog format/tracelog/wire"},

	"internal/instrument/native":   {ours: "prof internal/binary/domtree format/mip/wire format/tracelog/wire", others: "github.com/ianlancetaylor/demangle", pure: true},
	"internal/instrument/nativert": {ours: "prof format/mip/wire format/tracelog/wire"},
	"internal/instrument/driver":   {pure: true},
	"internal/watch/lbr":           {ours: "sample internal/bytecur internal/binary/objfile internal/binary/x86", pure: true},
	"internal/watch/ptrace":        {ours: "prof internal/binary/objfile internal/binary/x86"},
	"internal/layout/heatmap":      {pure: true},
	"internal/report/webpage":      {pure: true},
	"internal/instrument/prove":    {ours: "internal/bytecur internal/binary/objfile internal/binary/x86", pure: true},
	"internal/instrument/wrap":     {ours: "internal/binary/objfile", others: "github.com/ianlancetaylor/demangle", pure: true},
	"internal/calls/flamegraph":    {ours: "trace internal/calls/calltrie internal/report internal/report/webpage", pure: true},
	"internal/spikes/spikes":       {ours: "trace format/tracelog internal/calls/sketch internal/report internal/report/webpage", pure: true},
	"internal/calls/tracedb":       {ours: "trace internal/calls/calltrie internal/calls/account format/calls", others: "modernc.org/sqlite modernc.org/sqlite/vtab"},
	"internal/calls/stackdiff":     {ours: "trace internal/calls/calltrie internal/calls/account", pure: true},
	"internal/report":              {ours: "prof", others: "github.com/ianlancetaylor/demangle", pure: true},

	"internal/binary/machinecode": {ours: "internal/binary/domtree internal/binary/objfile internal/binary/x86 format/pseudoprobe", pure: true},
	"internal/samples/unwind":     {ours: "sample internal/binary/machinecode", pure: true},
	"internal/samples/tailtruth":  {ours: "sample internal/binary/machinecode internal/samples/unwind internal/samples/tailcall", pure: true},
	"internal/samples/tailcall":   {ours: "trace internal/binary/machinecode internal/samples/unwind", pure: true},
	"internal/samples/tailguests": {ours: "sample format/perfscript internal/binary/machinecode internal/binary/objfile internal/samples/profgen internal/samples/tailtruth"},

	"internal/samples/profgen": {ours: "format/sampleprof format/pseudoprobe trace internal/calls/calltrie internal/samples/flowcount internal/binary/machinecode internal/binary/objfile internal/samples/tailcall internal/samples/unwind", pure: true},

	"internal/watch/attach": {ours: "internal/instrument/detour internal/instrument/detourfile internal/binary/ehframe internal/binary/objfile"},

	"internal/verb":                 {ours: "*", others: "github.com/spf13/cobra github.com/spf13/pflag golang.org/x/term"},
	"internal/instrument/toolchain": {ours: "*", others: "github.com/spf13/cobra github.com/spf13/pflag"},
	"internal/cli/build":            {ours: "*", others: "github.com/spf13/cobra github.com/spf13/pflag"},
	"internal/cli/calls":            {ours: "*", others: "github.com/spf13/cobra github.com/spf13/pflag"},
	"internal/cli/diff":             {ours: "*", others: "github.com/spf13/cobra github.com/spf13/pflag"},
	"internal/cli/flame":            {ours: "*", others: "github.com/spf13/cobra github.com/spf13/pflag"},
	"internal/cli/info":             {ours: "*", others: "github.com/spf13/cobra github.com/spf13/pflag"},
	"internal/cli/layout":           {ours: "*", others: "github.com/spf13/cobra github.com/spf13/pflag"},
	"internal/cli/profile":          {ours: "*", others: "github.com/spf13/cobra github.com/spf13/pflag"},
	"internal/cli/samples":          {ours: "*", others: "github.com/spf13/cobra github.com/spf13/pflag"},
	"internal/cli/spikes":           {ours: "*", others: "github.com/spf13/cobra github.com/spf13/pflag"},

	"cmd/cairn": {ours: "*", others: "github.com/spf13/cobra"},
	"bench":     {ours: "format/mip format/xray internal/watch/ptrace internal/samples/tailcall internal/samples/tailguests internal/samples/tailtruth"},
	"corpus":    {},
	"torture":   {ours: "format/mip"},
	"docs":      {},

	"internal/deps":   {},
	"internal/oracle": {},
}

// impure are the packages, and those below them, that a pure one may not have.
var impure = []string{"os", "net", "log", "time", "syscall", "io/ioutil", "math/rand", "crypto/rand", "unsafe", "plugin"}

// owners are packages of the standard library that one package of ours wraps.
var owners = map[string]string{
	"debug/elf": "internal/binary/objfile", "debug/dwarf": "internal/binary/objfile", "debug/gosym": "internal/binary/objfile",
	"debug/macho": "internal/binary/objfile", "debug/pe": "internal/binary/objfile",
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
				if strings.HasPrefix(imp, module+"/internal/cli/") && imp != module+"/"+pkg && pkg != "cmd/cairn" {
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
		{"internal/profile/merge", "net/http", "is pure and may not import net/http"},
		{"internal/profile/merge", "ostrich", ""},
		{"internal/profile/coverage", module + "/prof", ""},
		{"internal/profile/coverage", module + "/internal/binary/objfile", "may not import internal/binary/objfile"},
		{"internal/profile/coverage", "example.org/x", "may not import example.org/x"},
		{"internal/cli/profile", module + "/internal/profile/coverage", ""},
		{"internal/cli/profile", "debug/elf", "may not import debug/elf, which is for internal/binary/objfile"},
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
