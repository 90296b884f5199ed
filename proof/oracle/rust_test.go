//go:build linux && amd64

package oracle

import (
	"debug/elf"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rustCrates are those whose own tests are compared, by their packages of Debian.
var rustCrates = []string{"regex-syntax", "aho-corasick", "miniz_oxide"}

// TestRustCoverage compares, function by function, which functions of a crate its tests ran, according to cairn and to
// rustc -C instrument-coverage, which are in the same program. It is the unoptimised one of cargo test: where rustc
// inlines, its counters are those of the code that was inlined as well.
func TestRustCoverage(t *testing.T) {
	t.Parallel()
	skipLong(t)
	mustHave(t, "cargo")
	mustHave(t, "llvm-cov-22")
	for _, crate := range rustCrates {
		t.Run(crate, func(t *testing.T) {
			found, _ := filepath.Glob("/usr/share/cargo/registry/" + crate + "-[0-9]*")
			if len(found) == 0 {
				t.Skipf("librust-%s-dev is not installed; make long installs it", strings.ReplaceAll(crate, "_", "-"))
			}
			program, llvm, raws := testedCrate(t, found[0])
			m := profile(t, program, raws)
			present := rustSymbols(t, program) // without those that are inlined always, as #[inline(always)] says
			ran := map[string]bool{}
			for i := range m.Funcs {
				ran[m.Funcs[i].Name] = ran[m.Funcs[i].Name] || m.Counts[i].Runs > 0
			}
			c := tally{t: t}
			covered := 0
			for name, count := range llvm {
				ours, ok := ran[name]
				c.check(ok || count == 0 || !present[name], "%s ran %d times and is not in the map", name, count)
				if ok {
					c.check(ours == (count > 0), "%s: ran %v, and %d times for LLVM", name, ours, count)
				}
				if ok && ours {
					covered++
				}
			}
			c.done("functions of " + crate)
			if covered < 100 {
				t.Errorf("only %d functions are known to have run in both", covered)
			}
		})
	}
}

// rustSymbols returns the names of the symbols of a program.
func rustSymbols(t *testing.T, program string) map[string]bool {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for i := range symbols {
		names[symbols[i].Name] = true
	}
	return names
}

// testedCrate runs the tests of a crate with probes and with LLVM's counters. It returns the program, how often each
// function ran for LLVM, and the directory of raw files.
func testedCrate(t *testing.T, crate string) (program string, llvm map[string]uint64, raws string) {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "crate")
	output(t, command(t, "cp", "-rL", crate, source))
	output(t, command(t, "chmod", "-R", "u+w", source))
	config := "[source.crates-io]\nreplace-with = \"debian\"\n[source.debian]\ndirectory = \"/usr/share/cargo/registry\"\n"
	if err := os.MkdirAll(filepath.Join(source, ".cargo"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(source, ".cargo", "config.toml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	raws = filepath.Join(dir, "raws")
	counts := filepath.Join(dir, "counts.profraw")
	build := command(t, cairn, "build", "--", "cargo", "test", "--offline", "--lib", "--message-format=json")
	build.Dir = source
	build.Env = append(build.Env, "CAIRN_DIR="+raws, "LLVM_PROFILE_FILE="+counts, "RUSTFLAGS=-C instrument-coverage", "CARGO_INCREMENTAL=0")
	for line := range strings.SplitSeq(output(t, build), "\n") {
		var message struct {
			Executable string `json:"executable"`
		}
		if json.Unmarshal([]byte(line), &message) == nil && message.Executable != "" {
			program = message.Executable
		}
	}
	if program == "" {
		t.Fatal("cargo names no program with tests")
	}
	merged := filepath.Join(dir, "counts.profdata")
	output(t, command(t, "llvm-profdata-22", "merge", "-o", merged, counts))
	var export struct {
		Data []struct {
			Functions []struct {
				Name  string `json:"name"`
				Count uint64 `json:"count"`
			} `json:"functions"`
		} `json:"data"`
	}
	text := output(t, command(t, "llvm-cov-22", "export", "-instr-profile", merged, program))
	if err := json.Unmarshal([]byte(text), &export); err != nil || len(export.Data) != 1 {
		t.Fatalf("llvm-cov export: %v", err)
	}
	llvm = map[string]uint64{}
	for _, f := range export.Data[0].Functions {
		name := f.Name[strings.LastIndexByte(f.Name, ':')+1:] // that of a local one is behind its file's
		llvm[name] += f.Count
	}
	return program, llvm, raws
}

// TestRustCalls compares the calls that probes count with callgrind's: a program with generics, panics that are caught,
// threads and closures, optimised.
func TestRustCalls(t *testing.T) {
	t.Parallel()
	skipLong(t)
	mustHave(t, "rustc")
	mustHave(t, "valgrind")
	for _, options := range []string{"-Copt-level=0", "-Copt-level=3", "-Copt-level=3 -Clto=thin", "-Copt-level=3 -Clto=fat", "-Copt-level=3 -Cpanic=abort", "-Copt-level=s -Csymbol-mangling-version=v0"} {
		t.Run(options, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			plain, full := filepath.Join(dir, "plain"), filepath.Join(dir, "full")
			compile := append([]string{"rustc", filepath.Join("testdata", "rust.rs"), "--crate-name", "tested"}, strings.Fields(options)...)
			output(t, command(t, compile[0], append(compile[1:], "-o", plain)...))
			output(t, command(t, cairn, append(append([]string{"build", "--mode", "full", "--atomic", "--strict", "--"}, compile...), "-o", full)...))
			answer, ran, m := callgrind(t, full)
			checkAnswer(t, answer, answerOf(t, plain))
			checkCalls(t, m, ran)
			checkCovered(t, m, ran)
		})
	}
}
