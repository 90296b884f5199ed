// Package tailguests has the real programs with which restored frames are evaluated: the
// origin of their sources, how they are compiled and run, and, for proof/tailtest,
// the samples of a run. The tests of proof/oracle and the benchmark share it.
package tailguests

import (
	"path/filepath"
	"strconv"
	"strings"
)

// Guest is a program and how to build and run it.
type Guest struct {
	Name string
	// The build in tests; one branch in Every is sampled.
	Compiler, Level, Every string
	Module                 string // a Go module that contains the sources; or
	Debian                 string // a source package of Debian

	files   []string // in the sources, as globs
	include string   // below the sources
	driver  string   // in testdata of proof/oracle
	args    []string
	times   int // repetitions of the workload in tests
}

// Placeholders in arguments.
const (
	argTimes = "{times}"
	argData  = "{testdata}"
)

// All are the programs: a database, two interpreters and a library in C, and two libraries in
// C++.
var All = []*Guest{
	{
		Name: "SQLite", Compiler: "clang-22", Level: "-O1", Every: "307",
		Module: "github.com/mattn/go-sqlite3@v1.14.52", files: []string{"sqlite3-binding.c"}, driver: "sqlite.c",
		args: []string{":memory:", argData + "/sqlite.sql", "3"},
	},
	{
		Name: "Duktape", Compiler: "gcc", Level: "-O2", Every: "101",
		Module: "gopkg.in/olebedev/go-duktape.v3@v3.0.0-20200619000410-60c24ae608a6", files: []string{"duktape.c"}, driver: "missing/duktape.c",
		args: []string{argTimes, argData + "/missing/script.js"}, times: 1,
	},
	{
		Name: "H3", Compiler: "gcc", Level: "-O3", Every: "101",
		Module: "github.com/uber/h3-go/v4@v4.1.0", files: []string{"*.c"}, driver: "missing/cells.c",
		args: []string{argTimes}, times: 40,
	},
	{
		Name: "Lua", Compiler: "clang-22", Level: "-O3", Every: "17",
		Debian: "lua5.4", files: []string{"src/l*.c"}, include: "src",
		args: []string{"-e", "for i = 1, " + argTimes + " do dofile('" + argData + "/missing/script.lua') end"}, times: 1,
	},
	{
		Name: "tinyxml2", Compiler: "clang++-22", Level: "-O2", Every: "101",
		Debian: "tinyxml2", files: []string{"tinyxml2.cpp"}, driver: "missing/xml.cc",
		args: []string{argTimes}, times: 10,
	},
	{
		Name: "pugixml", Compiler: "g++", Level: "-O2", Every: "31",
		Debian: "pugixml", files: []string{"src/pugixml.cpp"}, include: "src", driver: "missing/xpath.cc",
		args: []string{argTimes}, times: 10,
	},
}

// sisters maps compilers of C to those of C++.
var sisters = map[string]string{"gcc": "g++", "clang-22": "clang++-22"}

// With returns the guest built by another compiler of C, or the corresponding one of C++.
func (g *Guest) With(compiler, level string) *Guest {
	other := *g
	other.Compiler, other.Level = compiler, level
	if sister, ok := sisters[compiler]; ok && filepath.Ext(g.driver) == ".cc" {
		other.Compiler = sister
	}
	return &other
}

// Probed reports whether the build has pseudo probes.
func (g *Guest) Probed() bool { return strings.HasPrefix(g.Compiler, "clang") }

// Command returns the command that compiles the guest from its sources. root is this
// repository.
func (g *Guest) Command(root, sources, program string) ([]string, error) {
	argv := []string{
		g.Compiler, g.Level, "-g1", "-w", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer",
		"-I" + filepath.Join(sources, g.include), "-o", program,
	}
	if g.Probed() {
		argv = append(argv, "-fpseudo-probe-for-profiling", "-fdebug-info-for-profiling")
	}
	if g.driver != "" {
		argv = append(argv, filepath.Join(testdata(root), filepath.FromSlash(g.driver)))
	}
	files, err := g.sourceFiles(sources)
	if err != nil {
		return nil, err
	}
	return append(append(argv, files...), "-lm"), nil
}

// Args returns the arguments with which the program repeats its work longer times as often as
// in tests.
func (g *Guest) Args(root string, longer int) []string {
	args := make([]string, len(g.args))
	r := strings.NewReplacer(argTimes, strconv.Itoa(g.times*longer), argData, testdata(root))
	for i, a := range g.args {
		args[i] = r.Replace(a)
	}
	return args
}

// testdata returns the directory of drivers and inputs.
func testdata(root string) string { return filepath.Join(root, "proof", "oracle", "testdata") }
