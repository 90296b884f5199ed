package profgen

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/perfscript"
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

const profgen = "llvm-profgen-22"

// recording is a program and the branch samples of a run of it.
type recording struct {
	name    string
	source  string   // in testdata
	flags   []string // of the compiler
	rounds  string   // argument of the program
	program string   // set by record
	text    []byte   // as perf script prints it
}

var probed = []string{"-g", "-fpseudo-probe-for-profiling", "-fdebug-info-for-profiling"}

// recordings returns what the tests run on, not yet made.
func recordings() []*recording {
	return []*recording{
		{name: "tail", source: "tail.c", flags: append([]string{"-O2"}, probed...), rounds: "12"},
		{name: "tail-nopie-split", source: "tail.c", flags: append([]string{"-O2", "-no-pie", "-mllvm", "-hot-cold-split=true"}, probed...), rounds: "12"},
		{name: "tail-g1", source: "tail.c", flags: []string{"-O2", "-g1", "-fpseudo-probe-for-profiling", "-mllvm", "-hot-cold-split=true"}, rounds: "8"},
		{name: "tail-O1-nodebug", source: "tail.c", flags: []string{"-O1", "-fpseudo-probe-for-profiling"}, rounds: "8"},
		{name: "tail-lines", source: "tail.c", flags: []string{"-O2", "-g", "-fdebug-info-for-profiling"}, rounds: "12"},
		{name: "tail-fs-lines", source: "tail.c", flags: []string{"-O2", "-g", "-fdebug-info-for-profiling", "-mllvm", "-enable-fs-discriminator"}, rounds: "12"},
		{name: "virtual", source: "virtual.cc", flags: append([]string{"-O2"}, probed...), rounds: "6"},
		{name: "virtual-O3-lines", source: "virtual.cc", flags: []string{"-O3", "-g", "-fdebug-info-for-profiling"}, rounds: "4"},
	}
}

// record compiles and runs the program. It has frame pointers in all functions.
func (r *recording) record(t *testing.T) {
	t.Helper()
	for _, tool := range []string{profgen, "clang-22", "clang++-22", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	r.program = filepath.Join(dir, r.name)
	recorder, out := filepath.Join(dir, "lbr"), filepath.Join(dir, "perf")
	compiler := "clang-22"
	if strings.HasSuffix(r.source, ".cc") {
		compiler = "clang++-22"
	}
	args := append([]string{"-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-o", r.program, "testdata/" + r.source}, r.flags...)
	run(t, compiler, args...)
	run(t, "gcc", "-O2", "-D_GNU_SOURCE", "-w", "-o", recorder, "testdata/lbr.c")
	run(t, recorder, "17", out, r.program, r.rounds, "now")
	var err error
	if r.text, err = os.ReadFile(out); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(r.text, []byte(" 0x")); n < 1000 {
		t.Fatalf("%d branches were recorded", n)
	}
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// loaded is a program as profiles are made with it.
type loaded struct {
	program *objfile.Program
	code    *machinecode.Set
	lines   *Lines
}

// load reads the program, without its probes if asked to.
func (r *recording) load(t *testing.T, byLines bool) *loaded {
	t.Helper()
	f, err := objfile.Open(r.program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	l := &loaded{}
	if l.program, err = f.Program(); err != nil {
		t.Fatal(err)
	}
	if byLines {
		l.program.Probes = nil
	}
	if l.code, err = machinecode.NewSet(l.program); err != nil {
		t.Fatal(err)
	}
	if byLines {
		info := DebugInfo{FS: l.program.FSDiscriminators()}
		if want := slices.Contains(r.flags, "-enable-fs-discriminator"); info.FS != want {
			t.Fatalf("the discriminators are flow-sensitive: %v, want %v", info.FS, want)
		}
		if info.Lines, err = f.Lines(); err != nil {
			t.Fatal(err)
		}
		if info.Scopes, err = f.Scopes(); err != nil {
			t.Fatal(err)
		}
		l.lines = NewLines(l.code, []DebugInfo{info})
	}
	return l
}

// unwind counts the samples of a text.
func (l *loaded) unwind(t *testing.T, text []byte, flat bool, workers int) *unwind.Result {
	t.Helper()
	src, err := perfscript.Open(bytes.NewReader(text), "samples", int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	opt := unwind.Options{Flat: flat, TrustDepartures: true}
	if l.lines != nil && !flat {
		opt.Inlining = l.lines
	}
	r, err := unwind.Run(context.Background(), src, l.code, opt, workers)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// withoutStacks makes of samples those that perf record -b takes without a call
// graph.
func withoutStacks(text []byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		switch {
		case bytes.HasPrefix(line, []byte(" 0x")):
			out = append(append(out, "401000"...), line...)
		case bytes.HasPrefix(line, []byte("PERF")):
			out = append(out, line...)
		}
	}
	return out
}

var branch = regexp.MustCompile(`0x([0-9a-f]+)/0x([0-9a-f]+)/`)

// damaged returns samples of which some addresses are others: what broken hardware,
// interrupts and wrong stacks make of them. Where a return goes to stays as it is:
// from one to where no call is before, llvm-profgen takes a caller off the stacks of
// whatever else that function called, if it comes to them later in the order of its
// hash table. Here nothing is taken off, which TestReturnToNowhere of unwind holds.
func (l *loaded) damaged(text []byte, seed uint64) []byte {
	random := rand.New(rand.NewPCG(seed, 1))
	returns := map[string]bool{} // by the last three digits, which loading does not change
	for _, b := range l.code.Binaries() {
		for r := b.First; r < b.End; r++ {
			if l.code.Class(r) == controlflow.Return {
				returns[last3(l.code.Address(r))] = true
			}
		}
	}
	var all []string
	for _, m := range branch.FindAllSubmatch(text, -1) {
		all = append(all, string(m[1]), string(m[2]))
	}
	isReturn := func(a string) bool { return returns[a[len(a)-3:]] }
	var out []byte
	for line := range bytes.Lines(text) {
		switch {
		case bytes.HasPrefix(line, []byte(" 0x")):
			line = branch.ReplaceAllFunc(line, func(m []byte) []byte {
				parts := branch.FindSubmatch(m)
				from, to := string(parts[1]), string(parts[2])
				other := all[random.IntN(len(all))]
				switch n := random.IntN(400); {
				case n < 4 && !isReturn(other) && !isReturn(from):
					from = other
				case n < 8 && !isReturn(from):
					to = other
				case n < 10 && !isReturn(from):
					to = "7f0000001234"
				case n < 12:
					from = "ffffffff81000000"
				}
				return []byte("0x" + from + "/0x" + to + "/")
			})
		case bytes.HasPrefix(line, []byte("\t")) && random.IntN(50) == 0:
			line = []byte("\t    " + []string{"7f0000001234", all[random.IntN(len(all))]}[random.IntN(2)] + "\n")
		}
		out = append(out, line...)
	}
	return out
}

func last3(addr uint64) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[addr>>8&15], digits[addr>>4&15], digits[addr&15]})
}

// llvm runs llvm-profgen on samples, in the mode that changes nothing of contexts
// afterwards but by stages that are in args, and returns the profile that it writes.
func (r *recording) llvm(t *testing.T, text []byte, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "perf"), filepath.Join(dir, "profile")
	if err := os.WriteFile(in, text, 0o644); err != nil {
		t.Fatal(err)
	}
	all := []string{"--perfscript=" + in, "--binary=" + r.program, "--format=text", "--output=" + out}
	for _, stage := range []string{"--csspgo-preinliner", "--csprof-merge-cold-context", "--gen-cs-nested-profile", "--infer-missing-frames"} {
		if !slices.Contains(args, stage) {
			stage += "=0"
			all = append(all, stage)
		}
	}
	run(t, profgen, append(all, args...)...)
	profile, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(profile)
}
