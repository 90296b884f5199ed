//go:build linux && amd64

package oracle

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cairnprof/cairn/proof/tailguests"
)

// ltoGuest is a real program that is linked of bitcode.
type ltoGuest struct {
	tailguests.Guest // its name and sources
	compiler         string
	files            []string // to compile, as globs
	options          []string
	args             []string
}

// Placeholders in files, options and arguments.
const (
	ltoSources  = "{sources}"
	ltoTestdata = "{testdata}"
)

var ltoGuests = []ltoGuest{
	{
		Guest: tailguests.Guest{Name: "SQLite", Module: sqliteModule}, compiler: "clang-22",
		files:   []string{ltoTestdata + "/sqlite.c", ltoSources + "/sqlite3-binding.c"},
		options: append([]string{"-I" + ltoSources}, sqliteDefines...),
		args:    []string{":memory:", ltoTestdata + "/sqlite.sql", allPhases},
	},
	{
		Guest: tailguests.Guest{Name: "Lua", Debian: "lua5.4"}, compiler: "clang-22",
		files:   []string{ltoSources + "/src/l*.c"},
		options: []string{"-DLUA_USE_POSIX", "-Dluai_makeseed(l)=1"}, // every run the same
		args:    []string{ltoTestdata + "/missing/script.lua"},
	},
	{
		// Assembly written by hand is between the modules.
		Guest: tailguests.Guest{Name: "zstd", Debian: "libzstd"}, compiler: "clang-22",
		files: []string{
			ltoSources + "/lib/common/*.c", ltoSources + "/lib/compress/*.c", ltoSources + "/lib/decompress/*.[cS]",
			ltoSources + "/lib/dictBuilder/*.c", ltoSources + "/programs/*.c",
		},
		options: []string{"-DZSTD_LEGACY_SUPPORT=0", "-DXXH_NAMESPACE=ZSTD_"},
		args:    []string{"-q", "-c", "-12", ltoTestdata + "/sqlite.sql"},
	},
	{
		// 111,000 lines of C++.
		Guest: tailguests.Guest{Name: "cppcheck", Debian: "cppcheck"}, compiler: "clang++-22",
		files: []string{
			ltoSources + "/lib/*.cpp", ltoSources + "/cli/*.cpp",
			ltoSources + "/externals/simplecpp/*.cpp", ltoSources + "/externals/tinyxml2/*.cpp",
		},
		options: []string{
			"-std=c++11", "-DFILESDIR=\"" + ltoSources + "\"", "-I" + ltoSources + "/lib", "-I" + ltoSources + "/cli",
			"-I" + ltoSources + "/externals/simplecpp", "-I" + ltoSources + "/externals/tinyxml2", "-isystem" + ltoSources + "/externals/picojson",
		},
		args: []string{
			"-q", "--enable=all", "--inconclusive", "--output-file=/dev/stdout", ltoTestdata + "/shapes.cc",
			ltoTestdata + "/missing/xml.cc", ltoTestdata + "/missing/cells.c",
		},
	},
}

// TestLTOGuests compares counts and blocks of real programs whose code lld makes, and builds
// them by their profiles.
func TestLTOGuests(t *testing.T) {
	t.Parallel()
	skipLong(t)
	mustHave(t, "ld.lld-22")
	for i := range ltoGuests {
		g := &ltoGuests[i]
		t.Run(g.Name, func(t *testing.T) {
			t.Parallel()
			_, _, sources := fetchGuest(t, &g.Guest)
			for _, kind := range ltoKinds {
				t.Run(kind, func(t *testing.T) { g.compare(t, sources, kind) })
			}
		})
	}
}

func (g *ltoGuest) compare(t *testing.T, sources, kind string) {
	objects := g.compile(t, sources, kind)
	args := g.filled(t, sources, g.args)
	link := append([]string{"-O2", kind, "-fuse-ld=lld", "-lm"}, objects...)
	want := answerOf(t, build(t, "", g.compiler, link...), args...)
	full := build(t, "full", g.compiler, link...)
	answer, seen, m := callgrind(t, full, args...)
	checkAnswer(t, answer, want)
	checkCalls(t, m, seen)
	checkCovered(t, m, seen)

	raws, file := t.TempDir(), filepath.Join(t.TempDir(), "run.mip")
	cmd := command(t, full, args...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
	checkAnswer(t, output(t, cmd), want)
	output(t, command(t, cairn, "merge", "--strict", "-o", file, full, raws))
	used := filepath.Join(t.TempDir(), "used")
	text := output(t, command(t, cairn, append(append([]string{"build", "--json", "--use", file, "--", g.compiler}, link...), "-o", used)...))
	checkAnswer(t, answerOf(t, used, args...), want)
	var summary struct{ Use struct{ Split, Moved int } }
	if err := json.Unmarshal([]byte(text), &summary); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	ran := 0
	for i := range m.Counts {
		ran += min(1, int(m.Counts[i].Runs))
	}
	t.Logf("%d functions of %d ran, %d are split, %d moved", ran, len(m.Funcs), summary.Use.Split, summary.Use.Moved)
	if summary.Use.Split < ran/10 {
		t.Errorf("%d functions are split: %s", summary.Use.Split, text)
	}
}

// compile compiles each file to bitcode.
func (g *ltoGuest) compile(t *testing.T, sources string, more ...string) []string {
	t.Helper()
	mustHave(t, g.compiler)
	var files []string
	for _, glob := range g.filled(t, sources, g.files) {
		found, err := filepath.Glob(glob)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: no file (%v)", glob, err)
		}
		files = append(files, found...)
	}
	dir := t.TempDir()
	var objects []string
	var wait sync.WaitGroup
	errs := make([]error, len(files))
	turns := make(chan bool, runtime.NumCPU())
	for i, file := range files {
		if filepath.Base(file) == "luac.c" { // a program of its own
			continue
		}
		object := filepath.Join(dir, fmt.Sprintf("%d.o", i))
		objects = append(objects, object)
		cmd := command(t, g.compiler, slices.Concat(g.filled(t, sources, g.options), more, []string{"-O2", "-w", "-c", file, "-o", object})...)
		wait.Go(func() {
			turns <- true
			defer func() { <-turns }()
			if out, err := cmd.CombinedOutput(); err != nil {
				errs[i] = fmt.Errorf("%s: %w\n%s", file, err, out)
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return objects
}

// filled puts directories in the place of placeholders.
func (g *ltoGuest) filled(t *testing.T, sources string, texts []string) []string {
	t.Helper()
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = strings.NewReplacer(ltoSources, sources, ltoTestdata, testdata).Replace(text)
	}
	return out
}
