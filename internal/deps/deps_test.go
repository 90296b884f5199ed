// Package deps holds the import rule of docs/architecture.md: which room of the tree may
// import which, which packages may reach the machine, and which modules of others are used
// where. To add an edge, add it here, say why in the commit, and run
//
//	go test ./internal/deps -update
package deps

import (
	"flag"
	"fmt"
	"go/doc"
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

var update = flag.Bool("update", false, "write the tables of docs/architecture.md anew")

const module = "github.com/cairnprof/cairn"

// room is a part of the tree whose packages may import each other, as far as there is no
// cycle, and those of the rooms that it uses.
type room struct {
	name, holds string
	dirs        string // its packages, and those below them, parted by blanks
	uses        string // names of rooms, parted by blanks
}

// rooms are in the order in which data meets them: each uses only those above it.
var rooms = []room{
	{"ground", "data types shared by all rooms; names of MSVC's C++; the cursor that reads bytes; opening of large inputs; object stores; disks and locks of files", "prof calllog sample internal/bytecur internal/callstack internal/disjoint internal/disk internal/filelock internal/golden internal/jsontext internal/lazyregexp internal/logfile internal/msname internal/objectstore internal/packed internal/prefetch internal/saturate internal/shorttest internal/splitmix internal/stablesort", ""},
	{"format", "readers and writers of files, each with a description of its format", "format", "ground"},
	{"binary", "readers of programs: sections, symbols, lines, instructions", "internal/binary", "ground format"},
	{"report", "tables, JSON, colour and pages", "internal/report", "ground"},
	{"profile", "raw files to profiles; coverage, call graph, differences", "internal/profile", "ground format binary"},
	{"fleet", "files of many machines to profiles: journal, merging, collector, push", "internal/fleet", "ground format binary report profile"},
	{"layout", "layout of programs: orders of functions, and pages", "internal/layout", "ground report"},
	{"calls", "logs of calls to tries, tables, pictures and databases", "internal/calls", "ground format report"},
	{"spikes", "the calls that took too long", "internal/spikes", "ground format report calls"},
	{"mark", "the Go package for marks, which programs import", "mark", "format spikes"},
	{"samples", "samples to restored stacks and profiles for compilers", "internal/samples", "ground format binary report profile calls"},
	{"kind", "what an input is, by its first bytes, and which commands read it", "internal/kind", "ground format binary calls samples"},
	{"page", "the report: its model, its page, and what views load", "internal/page", "ground format binary report profile layout calls spikes samples"},
	{"export", "profiles for compilers, linkers and other profilers", "internal/export", "ground format profile calls"},
	{"instrument", "probes, wrappers and hooks", "internal/instrument", "ground format binary layout"},
	{"runtime", "sources of what runs inside instrumented programs: C and assembly, and files of Go's package runtime", "internal/runtime", "ground format binary instrument"},
	{"gobuild", "probes in Go programs, added while the go command builds them", "internal/gobuild", "ground format binary runtime"},
	{"watch", "unmodified programs, traced from outside or changed while they run", "internal/watch", "ground format binary instrument runtime"},
	{"verb", "code shared by all commands", "internal/verb", "ground format binary report fleet kind export watch"},
	{"toolchain", "replacements of compilers, assemblers and linkers during a build", "internal/toolchain", "ground format binary report profile layout instrument runtime verb"},
	{"inputs", "inputs that several commands read: opens them, and finds what belongs to them", "internal/inputs", "ground format binary report profile layout calls spikes samples kind page export instrument verb toolchain"},
	{"output", "what commands write of their inputs: tables, JSON, and the formats of other tools", "internal/output", "ground format binary report profile fleet layout calls spikes samples kind page export instrument watch verb toolchain inputs"},
	{
		"cli", "the commands: flags, files, and calls of the rooms above", "internal/cli",
		"ground format binary report profile fleet layout calls spikes samples kind page export instrument runtime gobuild watch verb toolchain inputs output",
	},
	{"cmd", "the table of commands", "cmd/cairn", "binary report verb toolchain cli"},
	{
		"proof", "tests against independent programs; benchmarks, real programs, random programs",
		"proof internal/deps docs", "ground format binary samples watch",
	},
}

// reaches are the packages that reach the machine: files, processes, sockets, the clock. All
// others are pure: plain data in, plain data out.
var reaches = strings.Fields(`
	internal/disk internal/filelock internal/golden internal/logfile internal/objectstore internal/objectstore/storetest internal/shorttest internal/instrument/asmtest format/coverprofile/coverprofiletest format/tracelog/tracelogtest format/parquet/parquettest
	internal/binary/debuginfod internal/binary/objfile internal/binary/symbolize
	internal/profile/rawfiles
	internal/report/webpage/browsertest
	internal/fleet/journal internal/fleet/journal/segment internal/fleet/journal/object internal/fleet/journal/journaltest
	internal/fleet/depot internal/fleet/collector internal/fleet/gate internal/fleet/client internal/fleet/push internal/fleet/fleettest
	internal/export/deliver
	internal/spikes/spikecontrol internal/spikes/marklog mark
	internal/toolchain internal/verb
	internal/gobuild
	internal/watch/attach internal/watch/lbrfile internal/watch/ptrace
	internal/page/site
	internal/inputs/gather internal/inputs/linkset internal/inputs/logset internal/inputs/reportset internal/inputs/sampleset internal/inputs/sources internal/inputs/spikeset
	internal/output/callquery internal/output/coverlist internal/output/filesummary internal/output/flamefile internal/output/orderfile internal/output/pagemap internal/output/profilefile internal/output/spikelist
	internal/cli/build internal/cli/calls internal/cli/collect internal/cli/gocmd internal/cli/profile internal/cli/report internal/cli/samples internal/cli/spikes
	cmd/cairn
	proof/oracle proof/tailguests proof/bench proof/corpus proof/torture internal/deps docs`)

// modules are those of others, with the packages that import them.
var modules = map[string]string{
	"github.com/hanwen/go-fuse/v2/fs":               "proof/bench",
	"github.com/hanwen/go-fuse/v2/fuse":             "proof/bench",
	"github.com/ianlancetaylor/demangle":            "internal/instrument/probe internal/instrument/wrap internal/report",
	"github.com/klauspost/compress/zstd":            "format/parquet format/perfdata format/perfdata/perfdatatest internal/binary/objfile internal/packed internal/layout/order internal/logfile internal/page/web internal/fleet/client internal/fleet/collector internal/fleet/gate",
	"github.com/parquet-go/parquet-go":              "format/calls/callstest",
	"github.com/spf13/cobra":                        "cmd/cairn internal/cli internal/output internal/verb",
	"github.com/spf13/cobra/doc":                    "cmd/cairn",
	"github.com/spf13/pflag":                        "internal/cli internal/verb internal/toolchain",
	"google.golang.org/protobuf/encoding/protowire": "internal/export internal/export/deliver format/pprof format/pprofstacks format/simpleperf",
	"github.com/ulikunitz/xz/lzma":                  "internal/binary/objfile",
	"go.yaml.in/yaml/v3":                            "format/mip format/xray",
	"golang.org/x/arch/arm64/arm64asm":              "internal/binary/asmtext",
	"golang.org/x/arch/x86/x86asm":                  "internal/binary/asmtext",
	"golang.org/x/exp/trace":                        "format/gotrace",
	"golang.org/x/sys/unix":                         "internal/fleet/depot proof/bench",
	"golang.org/x/sys/windows":                      "internal/disk internal/filelock internal/profile/rawfiles internal/spikes/spikecontrol internal/verb",
	"golang.org/x/term":                             "internal/verb",
	"modernc.org/sqlite":                            "internal/calls/calldb",
	"modernc.org/sqlite/vtab":                       "internal/calls/calldb",
}

// impure are the packages, and those below them, that a pure one may not have.
var impure = []string{"os", "net", "log", "time", "syscall", "io/ioutil", "math/rand", "crypto/rand", "unsafe", "plugin"}

// parsers are allowed where impure forbids what is around them.
var parsers = []string{"net/url"}

// owners are packages of the standard library that one package of ours wraps.
var owners = map[string]string{
	"debug/elf": "internal/binary/objfile", "debug/dwarf": "internal/binary/objfile", "debug/gosym": "internal/binary/objfile",
	"debug/macho": "internal/binary/objfile", "debug/pe": "internal/binary/objfile",
}

// sharedFlags are the commands whose flags others have as well: those that select logs of calls, and profiles. What
// several commands compute is in a room above them.
const sharedFlags = "internal/cli/calls internal/cli/profile"

// below reports whether a package is one of a list, or is below one.
func below(pkg, list string) bool {
	return slices.ContainsFunc(strings.Fields(list), func(dir string) bool {
		return pkg == dir || strings.HasPrefix(pkg, dir+"/")
	})
}

func roomOf(pkg string) *room {
	for i := range rooms {
		if below(pkg, rooms[i].dirs) {
			return &rooms[i]
		}
	}
	return nil
}

// check returns what is wrong with pkg importing imp.
func check(pkg, imp string) string {
	r := roomOf(pkg)
	name, isOurs := strings.CutPrefix(imp, module+"/")
	first, _, _ := strings.Cut(imp, "/")
	switch {
	case r == nil:
		return "is in no room of internal/deps"
	case isOurs:
		to := roomOf(name)
		if to == nil || to != r && !slices.Contains(strings.Fields(r.uses), to.name) {
			return "may not import " + name
		}
		if below(name, "internal/cli") && below(pkg, "internal/cli") && name != pkg && !below(name, sharedFlags) {
			return "may not import another command, " + name
		}
	case strings.Contains(first, "."):
		if !below(pkg, modules[imp]) {
			return "may not import " + imp
		}
	case owners[imp] != "" && owners[imp] != pkg:
		return "may not import " + imp + ", which is for " + owners[imp]
	case !slices.Contains(reaches, pkg) && !slices.Contains(parsers, imp) && slices.ContainsFunc(impure, func(p string) bool { return below(imp, p) }):
		return "is pure and may not import " + imp
	}
	return ""
}

// walk calls found with each Go file and its package.
func walk(t *testing.T, found func(file, rel, pkg string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != root && (d.Name() == "testdata" || d.Name() == "out" || strings.ContainsAny(d.Name()[:1], "._") || hasModule(file) && d.Name() != "proof") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err == nil {
			found(file, rel, path.Dir(filepath.ToSlash(rel)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImports(t *testing.T) {
	t.Parallel()
	packages, used := map[string]bool{}, map[string]bool{}
	walk(t, func(file, rel, pkg string) {
		packages[pkg] = true
		test := strings.HasSuffix(file, "_test.go")
		for _, imp := range imports(t, file) {
			complaint := check(pkg, imp)
			if test {
				// Tests may reach further, but not up to the command line.
				complaint = ""
				if strings.HasPrefix(imp, module+"/internal/cli/") && imp != module+"/"+pkg && pkg != "cmd/cairn" {
					complaint = "tests the command line from outside it"
				}
			} else {
				used[imp] = true
			}
			if complaint != "" {
				t.Errorf("%s: %s %s", rel, pkg, complaint)
			}
		}
	})
	for _, pkg := range reaches {
		if !packages[pkg] {
			t.Errorf("%s is listed as reaching the machine, but not in the tree", pkg)
		}
	}
	for imp := range modules {
		if !used[imp] {
			t.Errorf("%s is listed, but nothing imports it", imp)
		}
	}
	place := map[string]int{}
	for i, r := range rooms {
		place[r.name] = i
		for _, to := range strings.Fields(r.uses) {
			if at, ok := place[to]; !ok || at == i {
				t.Errorf("%s uses %s, which does not stand above it", r.name, to)
			}
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

// TestCheck checks that the table forbids what it should.
func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct{ pkg, imp, want string }{
		{"prof", "encoding/hex", ""},
		{"prof", "os", "is pure and may not import os"},
		{"internal/profile/merge", "net/http", "is pure and may not import net/http"},
		{"internal/profile/merge", "ostrich", ""},
		{"internal/profile/coverage", module + "/prof", ""},
		{"internal/profile/coverage", module + "/internal/layout/order", "may not import internal/layout/order"},
		{"internal/layout/order", module + "/internal/binary/objfile", "may not import internal/binary/objfile"},
		{"internal/profile/coverage", "example.org/x", "may not import example.org/x"},
		{"internal/cli/profile", module + "/internal/profile/coverage", ""},
		{"internal/profile/merge", module + "/internal/cli/profile", "may not import internal/cli/profile"},
		{"internal/cli/profile", "debug/elf", "may not import debug/elf, which is for internal/binary/objfile"},
		{"internal/cli/flame", module + "/internal/cli/calls", ""},
		{"internal/cli/flame", module + "/internal/cli/samples", "may not import another command, internal/cli/samples"},
		{"internal/util", "fmt", "is in no room of internal/deps"},
	}
	for _, test := range tests {
		if got := check(test.pkg, test.imp); got != test.want {
			t.Errorf("%s imports %s: %q, want %q", test.pkg, test.imp, got, test.want)
		}
	}
}

const (
	pageBegin = "<!-- What follows is written by go test ./internal/deps -update. -->\n"
	pageEnd   = "<!-- End of what is written. -->\n"
)

// TestArchitecturePage checks that the page has the tables made from the rooms and from the
// package documentation.
func TestArchitecturePage(t *testing.T) {
	t.Parallel()
	name := filepath.Join("..", "..", "docs", "architecture.md")
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	front, rest, ok := strings.Cut(string(page), pageBegin)
	_, back, ok2 := strings.Cut(rest, pageEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the tables", name)
	}
	want := front + pageBegin + tables(t) + pageEnd + back
	if want == string(page) {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the rooms are: go test ./internal/deps -update", name)
	}
	if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tables is the rooms, and the packages of each.
func tables(t *testing.T) string {
	about := map[string]string{}
	walk(t, func(file, _, pkg string) {
		if strings.HasSuffix(file, "_test.go") && pkg != "internal/deps" {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		if text := new(doc.Package).Synopsis(f.Doc.Text()); about[pkg] == "" || text != "" {
			about[pkg] = text
		}
	})
	var b strings.Builder
	b.WriteString("\n| room | holds | may import |\n|---|---|---|\n")
	for _, r := range rooms {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.name, r.holds, strings.Join(strings.Fields(r.uses), ", "))
	}
	for _, r := range rooms {
		fmt.Fprintf(&b, "\n### %s\n\n", r.name)
		for _, pkg := range slices.Sorted(maps.Keys(about)) {
			if in := roomOf(pkg); in == nil || in.name != r.name {
				continue
			}
			text := about[pkg]
			for _, start := range []string{"Package ", "Command "} {
				if rest, ok := strings.CutPrefix(text, start); ok {
					_, text, _ = strings.Cut(rest, " ")
				}
			}
			if slices.Contains(reaches, pkg) {
				text = "(reaches the machine) " + text
			}
			fmt.Fprintf(&b, "- `%s` %s\n", pkg, strings.TrimSpace(text))
		}
	}
	return b.String() + "\n"
}
