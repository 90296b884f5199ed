package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// variant is one way of building the same program.
type variant struct {
	name  string   // file name
	label string   // in tables
	cc    []string // compiler with what belongs in front and its own flags
	plain string   // name of the variant to compare with; "" for a plain one
}

const optimize = "-O2"

// variants of the program, plain ones first among their compiler's.
var variants = []variant{
	{"gcc", "gcc", []string{"gcc"}, ""},
	{"gcc-cover", "cairn cover, gcc", []string{"cairn", "cc", "--mode=cover", "gcc"}, "gcc"},
	{"gcc-count", "cairn count, gcc", []string{"cairn", "cc", "--mode=count", "gcc"}, "gcc"},
	{"gcc-block", "cairn block, gcc", []string{"cairn", "cc", "--mode=block", "gcc"}, "gcc"},
	{"gcc-full", "cairn full, gcc", []string{"cairn", "cc", "--mode=full", "gcc"}, "gcc"},
	{"gcc-edge", "cairn edge, gcc", []string{"cairn", "cc", "--mode=edge", "gcc"}, "gcc"},
	{"gcc-coverage", "gcc --coverage", []string{"gcc", "--coverage"}, "gcc"},
	{"clang", "clang", []string{"clang-22"}, ""},
	{"clang-cover", "cairn cover, clang", []string{"cairn", "cc", "--mode=cover", "clang-22"}, "clang"},
	{"clang-count", "cairn count, clang", []string{"cairn", "cc", "--mode=count", "clang-22"}, "clang"},
	{"clang-block", "cairn block, clang", []string{"cairn", "cc", "--mode=block", "clang-22"}, "clang"},
	{"clang-full", "cairn full, clang", []string{"cairn", "cc", "--mode=full", "clang-22"}, "clang"},
	{"clang-edge", "cairn edge, clang", []string{"cairn", "cc", "--mode=edge", "clang-22"}, "clang"},
	{"clang-pgo", "LLVM IR profile", []string{"clang-22", "-fprofile-generate"}, "clang"},
	{"clang-temporal", "LLVM temporal profile", []string{"clang-22", "-fprofile-generate", "-mllvm", "-pgo-temporal-instrumentation"}, "clang"},
	{"clang-cov", "LLVM source coverage", []string{"clang-22", "-fprofile-instr-generate", "-fcoverage-mapping"}, "clang"},
}

// compile returns the command line that makes the program out of sources.
func (v *variant) compile(out string, sources ...string) []string {
	argv := append(append([]string{}, v.cc...), optimize, "-w", "-o", out)
	return append(append(argv, sources...), "-lm")
}

// built is a variant's program and what is known of it.
type built struct {
	*variant
	path        string    // the program
	text, data  int64     // as size(1) has them; data with bss
	initialized int64     // data without bss
	file        int64     // bytes of the stripped file
	instr       int64     // instructions executed
	ratios      []float64 // of processor time to the plain program's
}

// make builds a variant in dir/NAME and measures its sizes. What it runs as
// "cairn" is the program under test.
func (b *bench) make(ctx context.Context, v *variant, program string, sources ...string) (*built, error) {
	dir := filepath.Join(b.out, program, v.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	argv := v.compile(program, sources...)
	if argv[0] == "cairn" {
		argv[0] = b.cairn
	}
	if _, err := output(ctx, dir, argv...); err != nil {
		return nil, err
	}
	r := &built{variant: v, path: filepath.Join(dir, program)}
	return r, r.measureSizes(ctx)
}

// runtimeEnv sends what the instrumented program writes into its own
// directory.
func (r *built) runtimeEnv() []string {
	dir := filepath.Dir(r.path)
	return []string{
		"CAIRN_DIR=" + filepath.Join(dir, "raws"),
		"LLVM_PROFILE_FILE=" + filepath.Join(dir, "raws", "%p.profraw"),
		"GCOV_PREFIX=" + filepath.Join(dir, "raws"),
	}
}

// time runs the program once and returns its processor time.
func (r *built) time(ctx context.Context, args ...string) (time.Duration, error) {
	dir := filepath.Dir(r.path)
	// Profiles of earlier runs would be added to (gcc) or pile up (the rest).
	if err := os.RemoveAll(filepath.Join(dir, "raws")); err != nil {
		return 0, err
	}
	return cpuTime(command(ctx, dir, r.runtimeEnv(), append([]string{r.path}, args...)...))
}

// commandLines lists how the peers were built.
func commandLines(all []*built) string {
	var s strings.Builder
	for _, r := range all {
		s.WriteString("    " + strings.Join(r.compile("speed", "speed.c", "sqlite3.c"), " ") + "\n")
	}
	return s.String()
}
