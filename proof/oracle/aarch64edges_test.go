//go:build linux && amd64

package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestAArch64FarBranch checks the executions of a branch that does not reach over the counters, and is another one then.
func TestAArch64FarBranch(t *testing.T) {
	t.Parallel()
	source := filepath.Join("testdata", "reach.c")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(text), "// far\n")
	line := strings.Count(before, "\n") + 1
	for _, v := range shorttest.Rows(
		1,
		variant{"aarch64-linux-gnu-gcc", "-O1"},
		variant{"clang-22", "--target=aarch64-linux-gnu -O1"},
	) {
		t.Run(v.compiler, func(t *testing.T) {
			t.Parallel()
			program := build(t, "edge", v.compiler, append(v.args(source), "-DFARTHER", "-w", "-g")...)
			raws := filepath.Join(t.TempDir(), "raws")
			cmd := aarch64.run(t, program)
			cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
			output(t, cmd)
			covered := output(t, command(t, cairn, "covered", program, raws, "--lcov"))
			var ways []string
			for l := range strings.Lines(covered) {
				if rest, ok := strings.CutPrefix(l, fmt.Sprintf("BRDA:%d,", line)); ok {
					ways = append(ways, strings.TrimSpace(rest[strings.LastIndexByte(rest, ',')+1:]))
				}
			}
			if slices.Sort(ways); !slices.Equal(ways, []string{"3", "4"}) {
				t.Errorf("the ways of the branch in line %d ran %v times, not 3 and 4", line, ways)
			}
		})
	}
}

// TestAArch64Edges compares the executions of blocks with the log of a processor in software, in programs with
// exceptions, longjmp and jump tables, and with each way to count.
func TestAArch64Edges(t *testing.T) {
	t.Parallel()
	const gcc, clang = "aarch64-linux-gnu-gcc", "clang-22 --target=aarch64-linux-gnu"
	type row struct{ source, compiler, flags, mode string }
	rows := []row{ // the first run with -short as well
		{"switches.c", gcc, "-O2", "edge --atomic"},
		{"flow.c", clang, "-O2 -mbranch-protection=standard", "edge"},
		{"reach.c", gcc, "-O1 -DFAR -DFARTHER", "edge"},
		{"shapes.cc", clang, "-O0", "edge"},
	}
	short := len(rows)
	for _, source := range []string{"shapes.cc", "flow.c", "switches.c", "tree.cc", "reach.c"} {
		for _, compiler := range []string{gcc, clang} {
			for _, level := range []string{"-O2", "-O0"} {
				rows = append(rows, row{source, compiler, level, "edge"})
			}
		}
	}
	rows = append(
		rows,
		row{"reach.c", clang, "-O2 -DFAR -DFARTHER", "edge --atomic"},
		row{"switches.c", gcc, "-O1", "edge --atomic"},
		row{"shapes.cc", gcc, "-O0", "edge --atomic"},
		row{"shapes.cc", clang, "-O2", "edge --atomic"},
		row{"shapes.cc", gcc, "-Os -march=armv8.2-a", "edge --atomic"},
		row{"tree.cc", clang, "-O2 -ffixed-x9 -mbranch-protection=standard", "edge"},
		row{"flow.c", gcc, "-O3 -static -mbranch-protection=standard", "edge"},
	)
	for _, v := range shorttest.Rows(short, rows...) {
		t.Run(strings.Join([]string{v.source, v.compiler, v.flags, v.mode}, " "), func(t *testing.T) {
			t.Parallel()
			compiler, target, _ := strings.Cut(v.compiler, " ")
			if strings.HasSuffix(v.source, ".cc") {
				compiler = map[string]string{"aarch64-linux-gnu-gcc": "aarch64-linux-gnu-g++", "clang-22": "clang++-22"}[compiler]
			}
			args := append(strings.Fields(target+" "+v.flags), "-w", filepath.Join("testdata", v.source), "-lm")
			want := output(t, aarch64.run(t, build(t, "", compiler, args...), "0", "7"))
			program := build(t, v.mode, compiler, args...)
			answer, ran, _, m := aarch64.emulated(t, program, "0", "7")
			checkAnswer(t, answer, want)
			checkCalls(t, m, ran)
			blocks, probes := checkTimes(t, m, ran)
			checkConserved(t, m)
			t.Logf("%d of %d blocks have a counter", probes, blocks)
		})
	}
}
