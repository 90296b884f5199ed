package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cairnprof/cairn/internal/verb"
)

// proof is the script command prove: it builds a program as it is and with
// every mode of cairn cc, runs all of them, and demands the same output and
// exit status of each, and of their profiles what the script says.
//
//	prove [flags] 'BUILD' EXPECTATION...
//
// BUILD is a shell command that makes ./app with $CC, $CXX and $FC. Flags:
//
//	-cc gcc,clang-22   compilers; one that is not installed is left out, but gcc
//	-modes cover,full  modes; all for the four of them
//	-each 'A|B|C'      do it for each: $FLAGS in BUILD is A, then B, then C
//	-flags '--atomic'  further flags of cairn cc
//	-run './app'       shell command that runs the program
//	-modules 'app'     what to merge the raw files with
//	-raws 1            number of raw files that a run leaves; -1 for any
//
// EXPECTATION is one of
//
//	name=3     one function of this name, called 3 times; just run in modes that do not count
//	name=3,5   two functions of this name, with these counts
//	name       all functions of this name ran, and there are some
//	name:all   all blocks of it ran, name:part some of them did not
//	!name      no such function in the map
//
// where name is a mangled or demangled name.
type proof struct {
	ts      *testscript.TestScript
	cc      string
	mode    string
	compare string // output and exit status of the plain program
	build   string
	run     string
	flags   string
	modules []string
	raws    int
	expect  []string
}

func proveModes(ts *testscript.TestScript, neg bool, args []string) {
	fs := flag.NewFlagSet("prove", flag.ContinueOnError)
	compilers := fs.String("cc", "gcc,clang-22", "")
	modes := fs.String("modes", "cover,full", "")
	each := fs.String("each", "", "")
	flags := fs.String("flags", "", "")
	run := fs.String("run", "./app", "")
	modules := fs.String("modules", "app", "")
	raws := fs.Int("raws", 1, "")
	ts.Check(fs.Parse(args))
	if neg || fs.NArg() < 1 {
		ts.Fatalf("usage: prove [flags] BUILD EXPECTATION...")
	}
	if *modes == "all" {
		*modes = "cover,block,count,full,edge"
	}
	p := proof{
		ts: ts, build: fs.Arg(0), run: *run, flags: *flags, modules: strings.Fields(*modules), raws: *raws,
		expect: fs.Args()[1:],
	}
	// The same in each run. Rows, compilers and modes are sampled by numbers of their own: by one, a row would
	// always have the same compiler.
	sum := int(crc32.ChecksumIEEE([]byte(p.build)) >> 1)
	row, compiler, turn := sum%12, sum/12, sum/24
	installed := slices.DeleteFunc(strings.Split(*compilers, ","), func(cc string) bool {
		_, err := exec.LookPath(cc)
		return err != nil && cc != "gcc"
	})
	values := strings.Split(*each, "|")
	for i, value := range values {
		if testing.Short() && (row+i)%min(4, len(values)) != 0 {
			continue // make long has all of them
		}
		for _, p.cc = range ofTurn(installed, compiler+i) {
			ts.Setenv("FLAGS", value)
			p.plain()
			for _, p.mode = range ofTurn(strings.Split(*modes, ","), turn) {
				p.instrumented()
			}
			turn++
		}
	}
}

// ofTurn returns one of the compilers or modes, another at each turn; all of them without -short.
func ofTurn(values []string, turn int) []string {
	if !testing.Short() {
		return values
	}
	turn %= len(values)
	return values[turn : turn+1]
}

// compilersFor sets what BUILD calls.
func (p *proof) compilersFor(prefix string) {
	cxx, fc := "g++", "gfortran"
	if version, ok := strings.CutPrefix(p.cc, "clang"); ok {
		cxx, fc = "clang++"+version, "flang"+version
	}
	for name, compiler := range map[string]string{"CC": p.cc, "CXX": cxx, "FC": fc} {
		p.ts.Setenv(name, prefix+compiler)
	}
}

func (p *proof) fatalf(format string, args ...any) {
	p.ts.Fatalf("%s, %s, FLAGS=%q: %s", p.cc, p.mode, p.ts.Getenv("FLAGS"), fmt.Sprintf(format, args...))
}

func (p *proof) shell(command string) error {
	return p.ts.Exec("sh", "-e", "-c", command)
}

// outcome runs the program and returns its output and exit status.
func (p *proof) outcome() string {
	err := p.shell(p.run)
	status := 0
	if err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			p.fatalf("%s: %v", p.run, err)
		}
		status = exit.ExitCode()
	}
	if status == 126 || status == 127 {
		p.fatalf("%s does not start: %s", p.run, p.ts.ReadFile("stderr"))
	}
	if message := p.ts.ReadFile("stderr"); strings.Contains(message, "cairn:") {
		p.fatalf("%s says %s", p.run, message)
	}
	return fmt.Sprintf("%sexit status %d\n", p.ts.ReadFile("stdout"), status)
}

func (p *proof) plain() {
	p.mode = "plain"
	p.compilersFor("")
	if err := p.shell(p.build); err != nil {
		p.fatalf("building: %v", err)
	}
	p.compare = p.outcome()
}

func (p *proof) instrumented() {
	raws := p.ts.MkAbs(".raws-" + p.mode)
	p.ts.Check(os.RemoveAll(raws))
	p.ts.Setenv("CAIRN_DIR", raws)
	p.compilersFor("cairn cc --strict --mode " + p.mode + " " + p.flags + " ")
	if err := p.shell(p.build); err != nil {
		p.fatalf("building: %v", err)
	}
	if got := p.outcome(); got != p.compare {
		p.fatalf("the program says\n%s, and without cairn\n%s", got, p.compare)
	}
	files, err := filepath.Glob(filepath.Join(raws, "*.mipraw"))
	p.ts.Check(err)
	if p.raws >= 0 && len(files) != p.raws {
		p.fatalf("%d raw files, want %d: %v", len(files), p.raws, files)
	}
	args := []string{"merge", "--strict", "-o", p.ts.MkAbs("app.mip")}
	for _, module := range p.modules {
		args = append(args, p.ts.MkAbs(module))
	}
	if _, err := inProcess(append(args, raws)); err != nil {
		p.fatalf("merging: %v", err)
	}
	p.judge(readProof(p.ts, "app.mip"))
}

// provenFunc is what cairn show prints of a function.
type provenFunc struct {
	Name      string `json:"name"`
	Demangled string `json:"demangled"`
	Covered   bool   `json:"covered"`
	Calls     *int   `json:"calls"`
	Blocks    []struct {
		Covered bool `json:"covered"`
	} `json:"blocks"`
}

func readProof(ts *testscript.TestScript, profile string) []provenFunc {
	text, err := inProcess([]string{"show", "--json", "-p", ts.MkAbs(profile)})
	ts.Check(err)
	var out struct{ Functions []provenFunc }
	ts.Check(json.Unmarshal(text, &out))
	return out.Functions
}

// inProcess runs a command line of cairn, whose paths are absolute, and returns what it writes.
// The scripts prove a thousand programs: a process for each command would take a tenth of
// their time.
func inProcess(args []string) ([]byte, error) {
	var out, errs bytes.Buffer
	root := rootFor(&verb.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, args)
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		return nil, fmt.Errorf("cairn %s: %w\n%s", strings.Join(args, " "), err, &errs)
	}
	return out.Bytes(), nil
}

func (p *proof) judge(funcs []provenFunc) {
	for _, e := range p.expect {
		if why := judge(funcs, e); why != "" {
			p.fatalf("%s: %s", e, why)
		}
	}
}

// judge returns why an expectation does not hold, or "".
func judge(funcs []provenFunc, expectation string) string {
	name, absent := strings.CutPrefix(expectation, "!")
	name, counts, counted := strings.Cut(name, "=")
	// C++ names hold double colons.
	blocks := ""
	for _, suffix := range []string{"all", "part"} {
		if before, ok := strings.CutSuffix(name, ":"+suffix); ok {
			name, blocks = before, suffix
		}
	}
	var found []provenFunc
	for _, f := range funcs {
		if f.Name == name || f.Demangled == name {
			found = append(found, f)
		}
	}
	switch {
	case absent && len(found) > 0:
		return "it is in the map"
	case absent:
		return ""
	case len(found) == 0:
		return "it is not in the map"
	case counted:
		return judgeCounts(found, counts)
	}
	for _, f := range found {
		ran := 0
		for _, b := range f.Blocks {
			if b.Covered {
				ran++
			}
		}
		switch {
		case !f.Covered:
			return "it did not run"
		case f.Blocks == nil || blocks == "":
		case blocks == "all" && ran < len(f.Blocks), blocks == "part" && ran == len(f.Blocks):
			return fmt.Sprintf("%d of %d blocks ran", ran, len(f.Blocks))
		}
	}
	return ""
}

func judgeCounts(found []provenFunc, counts string) string {
	var want, got []int
	for _, s := range strings.Split(counts, ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			return err.Error()
		}
		want = append(want, n)
	}
	counting := found[0].Calls != nil
	for _, f := range found {
		n := 0
		switch {
		case counting:
			n = *f.Calls
		case f.Covered:
			n = 1
		}
		if f.Covered != (n > 0) {
			return fmt.Sprintf("%d calls, covered is %v", n, f.Covered)
		}
		got = append(got, n)
	}
	if !counting {
		for i := range want {
			want[i] = min(want[i], 1)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		return fmt.Sprintf("counts %v, want %v", got, want)
	}
	return ""
}

// covers is the script command of prove's expectations alone: covers
// FILE.mip EXPECTATION...
func covers(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: covers FILE.mip EXPECTATION...")
	}
	funcs := readProof(ts, args[0])
	for _, e := range args[1:] {
		if why := judge(funcs, e); (why == "") == neg {
			ts.Fatalf("%s: %s", e, why)
		}
	}
}
