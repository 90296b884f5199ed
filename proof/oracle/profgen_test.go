//go:build linux && amd64

package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// profiled are the flags of programs that branch samples are taken of.
var profiled = []string{
	"-O2", "-w", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer",
	"-fpseudo-probe-for-profiling", "-g1", // probes of calls are made of debug information
}

const llvmProfgen = "llvm-profgen-22"

// sampled is the samples of a run of a program.
type sampled struct {
	dir, samples string
}

// sample records one branch in every of a run.
func sample(t *testing.T, every, program string, args ...string) *sampled {
	t.Helper()
	s := &sampled{dir: t.TempDir()}
	s.samples = filepath.Join(s.dir, "samples")
	record := append([]string{"record", "--lbr", "-o", s.samples, "--event", "branches", "--every", every, "--", program}, args...)
	if out, err := command(t, cairn, record...).CombinedOutput(); err != nil {
		t.Fatalf("recording: %v\n%s", err, out)
	}
	return s
}

// ours returns the profile that cairn makes of the samples, with these flags.
func (s *sampled) ours(t *testing.T, args ...string) string {
	t.Helper()
	return s.profile(t, cairn, append([]string{"profgen"}, args...))
}

// theirs returns the profile that llvm-profgen makes.
func (s *sampled) theirs(t *testing.T, args ...string) string {
	t.Helper()
	return s.profile(t, llvmProfgen, append([]string{
		"--format=text", "--csspgo-preinliner=0", "--csprof-merge-cold-context=0", "--gen-cs-nested-profile=0",
	}, args...))
}

func (s *sampled) profile(t *testing.T, tool string, args []string) string {
	t.Helper()
	out := filepath.Join(s.dir, "profile")
	args = append(args, "--perfscript="+s.samples, "--output="+out)
	if text, err := command(t, tool, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", tool, strings.Join(args, " "), err, text)
	}
	profile, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(profile)
}

// compare compares profiles of a binary with llvm-profgen's.
func (s *sampled) compare(t *testing.T, binary string, least int) {
	t.Helper()
	of := "--binary=" + binary
	for what, c := range map[string]struct{ ours, theirs []string }{
		"inferred as llvm-profgen does": {[]string{"--infer-missing-frames=llvm"}, nil},
		"nothing inferred":              {[]string{"--infer-missing-frames=none", "--keep-tail-jumps"}, []string{"--infer-missing-frames=0"}},
		"counts": {
			[]string{"--infer-missing-frames=none", "--keep-tail-jumps", "--skip-symbolization"}, []string{"--skip-symbolization"},
		},
	} {
		got, want := s.ours(t, append(c.ours, of)...), s.theirs(t, append(c.theirs, of)...)
		n := strings.Count(want, "\n")
		switch {
		case n < least:
			t.Errorf("%s: llvm-profgen writes %d lines only", what, n)
		case got != want:
			t.Errorf("%s: %s", what, firstDifference(got, want))
		default:
			t.Logf("%s: %d lines are the same", what, n)
		}
	}
}

// firstDifference shows where texts part.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	i := 0
	for i < len(g) && i < len(w) && g[i] == w[i] {
		i++
	}
	clip := func(lines []string) string {
		var b strings.Builder
		for _, l := range lines[min(i, len(lines)):min(i+3, len(lines))] {
			b.WriteString("\n  " + l[max(0, len(l)-160):])
		}
		return b.String()
	}
	return fmt.Sprintf("line %d%s\nllvm-profgen:%s", i+1, clip(g), clip(w))
}

// TestProfgenSQLite compares profiles of a large program with those of llvm-profgen.
func TestProfgenSQLite(t *testing.T) {
	skipLong(t)
	t.Parallel()
	mustHave(t, "clang-22")
	mustHave(t, llvmProfgen)
	source := goModule(t, sqliteModule)
	program := filepath.Join(t.TempDir(), "sqlite")
	output(t, command(t, "clang-22", append(profiled, "-o", program, "-I"+source, "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION",
		filepath.Join("testdata", "sqlite.c"), filepath.Join(source, "sqlite3-binding.c"), "-lm")...))
	s := sample(t, "997", program, sqliteArgs(t, "2")...)
	s.compare(t, program, 10_000)
}
