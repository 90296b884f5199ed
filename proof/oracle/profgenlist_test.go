//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestListing compares what cairn profgen prints of the code of programs with llvm-profgen,
// byte by byte: instructions in both syntaxes, pseudo probes, and places in the source.
func TestListing(t *testing.T) {
	t.Parallel()
	mustHave(t, llvmProfgen)
	all := [][]string{
		{},
		{"--show-pseudo-probe"},
		{"--show-source-locations"},
		{"--show-pseudo-probe", "--show-source-locations"},
		{"--show-source-locations", "--show-canonical-fname", "-x86-asm-syntax=intel"},
		// It crashes for a function without debug information, such as _start.
		{"--show-pseudo-probe", "--disassemble-functions=main"},
	}
	for _, x := range []struct {
		name, line string
		long       bool
	}{
		{"probes", "clang-22 -O2 -g -fpseudo-probe-for-profiling flow.c", false},
		{"classes", "clang-22 -O2 -g -fpseudo-probe-for-profiling shapes.cc -lstdc++", true},
		{"lines", "gcc -O2 -g flow.c", true},
		{"discriminators", "clang-22 -O3 -g -fdebug-info-for-profiling -mllvm -enable-fs-discriminator=1 shapes.cc -lstdc++", true},
		{"split", "clang-22 -O2 -g -gsplit-dwarf -march=x86-64-v4 -ffast-math flow.c", true},
		{"lto", "clang-22 -O2 -g -flto -fuse-ld=lld -fpseudo-probe-for-profiling shapes.cc -lstdc++", true},
		// The C library has code for all processors, AVX-512 and FMA4 among them.
		{"library", "gcc -O2 -g -static flow.c", true},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			if x.long {
				skipLong(t)
			}
			words := strings.Fields(x.line)
			mustHave(t, words[0])
			program := filepath.Join(t.TempDir(), "program")
			for i, w := range words {
				if strings.HasSuffix(w, ".c") || strings.HasSuffix(w, ".cc") {
					words[i] = filepath.Join("testdata", w)
				}
			}
			output(t, command(t, words[0], append(words[1:], "-o", program)...))
			options := all
			if testing.Short() {
				options = all[len(all)-3:]
			}
			for _, options := range options {
				sameListing(t, program, options)
			}
		})
	}
}

// sameListing prints a program by both tools.
func sameListing(t *testing.T, program string, options []string) {
	t.Helper()
	args := append([]string{"--binary=" + program, "--show-disassembly-only", "--output=" + filepath.Join(t.TempDir(), "none")}, options...)
	want := output(t, command(t, llvmProfgen, args...))
	for i, a := range args {
		if strings.HasPrefix(a, "-x86") {
			args[i] = "-" + a
		}
	}
	got := output(t, command(t, cairn, append([]string{"profgen", "--llvm-defaults"}, args...)...))
	if got != want {
		t.Errorf("%q: %s", options, firstDifference(got, want))
		return
	}
	if !strings.Contains(got, "<main>:") {
		t.Errorf("%q: main is missing", options)
	}
	t.Logf("%q: %d lines are the same", options, strings.Count(got, "\n"))
}

var (
	branchLine = regexp.MustCompile(`^(.*\t(?:b|bl|b\.\w+|cbz|cbnz|tbz|tbnz|adr)\t.*0x)([0-9a-f]+)(.*)$`)
	pageLine   = regexp.MustCompile(`ffc:\tadrp\t`)
)

// TestListingAArch64 is TestListing for AArch64, where llvm-profgen adds the size of the
// instruction to all targets of branches, and reads only instructions of the first version of the
// architecture.
func TestListingAArch64(t *testing.T) {
	t.Parallel()
	skipLong(t)
	mustHave(t, llvmProfgen)
	mustHave(t, "aarch64-linux-gnu-gcc")
	program := filepath.Join(t.TempDir(), "program")
	output(t, command(t, "aarch64-linux-gnu-gcc", "-O2", "-g", "-static", "-o", program, "testdata/flow.c"))
	args := []string{"--binary=" + program, "--show-disassembly-only", "--show-source-locations", "--output=none"}
	want := strings.Split(output(t, command(t, llvmProfgen, args...)), "\n")
	got := strings.Split(output(t, command(t, cairn, append([]string{"profgen", "--llvm-defaults"}, args...)...)), "\n")
	if len(got) != len(want) || len(got) < 50_000 {
		t.Fatalf("%d lines, and %d of llvm-profgen", len(got), len(want))
	}
	newer := 0
	for i := range want {
		if m := branchLine.FindStringSubmatch(want[i]); m != nil {
			target, err := strconv.ParseUint(m[2], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			want[i] = m[1] + strconv.FormatUint(target-4, 16) + m[3]
		}
		switch {
		case got[i] == want[i], pageLine.MatchString(want[i]):
		case strings.Contains(got[i], "\t.byte\t") && strings.Contains(want[i], "\t<unknown>"), strings.Contains(want[i], "\tsys\t#3"):
			newer++
		default:
			t.Errorf("line %d: %q, llvm-profgen: %q", i, got[i], want[i])
		}
	}
	t.Logf("of %d lines %d have newer instructions, and all others are the same", len(got), newer)
	if newer > len(got)/100 {
		t.Errorf("%d of %d lines cannot be compared", newer, len(got))
	}
}
