//go:build linux && amd64

package oracle

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestArmReach builds code that probes move apart: tables in the text, cbz, literals and IT
// blocks, as compilers write them. Where a reference might not reach, the function only has its
// entry probe, and the summary says so. Counts, blocks and order are compared with the log of
// the emulator.
func TestArmReach(t *testing.T) {
	t.Parallel()
	const gcc, clang = "arm-linux-gnueabihf-gcc", "clang-22 --target=armv7-linux-gnueabihf -mthumb"
	type row struct {
		compiler string
		has      []string // functions and the instructions that they have without probes
		entry    []string // the functions with an entry probe alone
	}
	thumb := []string{"near_branch cbz", "byte_table tbb", "half_table tbh", "conditions it", "pools vldr", "unknown_size vldr"}
	for _, v := range shorttest.Rows(
		2,
		row{gcc + " -O2", append(thumb, "pools ldr"), []string{"unknown_size"}},
		// A load of a literal that is conditional has no other form.
		row{gcc + " -O2 -marm", []string{"pools vldrne", "pools vldr", "byte_table ldr"}, []string{"pools", "unknown_size"}},
		row{clang + " -O2", thumb, []string{"unknown_size"}},
		row{clang + " -Oz", thumb, []string{"unknown_size"}},
		row{"arm-linux-gnueabi-gcc -O1 -march=armv7-a -mthumb", []string{"near_branch cbz", "byte_table tbb", "half_table tbh", "pools ldr"}, []string{"unknown_size"}},
		row{gcc + " -O1 -DFAR -fno-if-conversion -fno-if-conversion2", []string{"far_table tbh", "pools vldr"}, []string{"far_table", "unknown_size"}},
	) {
		t.Run(v.compiler, func(t *testing.T) {
			t.Parallel()
			words, processor := strings.Fields(v.compiler), armv7
			if strings.Contains(words[0], "gnueabi-") {
				processor = armSoft
			}
			args := append(words[1:len(words):len(words)], filepath.Join("testdata", "reach.c"), "-w")
			plain := output(t, command(t, words[0], append(slices.Clone(args), "-S", "-o", "-")...))
			for _, has := range v.has {
				name, insn, _ := strings.Cut(has, " ")
				_, body, _ := strings.Cut(plain, "\n"+name+":")
				body, _, _ = strings.Cut(body, "\t.size\t"+name)
				if insn[0] == 'v' || insn == "ldr" || insn == "cbz" { // of a label
					insn += `(\.\d\d)?\t.*\.L`
				}
				if !regexp.MustCompile(`\t` + insn).MatchString(body) {
					t.Errorf("%s has no %s: this proves less than it says", name, insn)
				}
			}
			want := output(t, processor.run(t, build(t, "", words[0], args...)))

			program := filepath.Join(t.TempDir(), "program")
			argv := append([]string{"build", "--mode", "full", "--json", "--", words[0]}, args...)
			var summary struct {
				EntryOnly []string `json:"entry_only"`
			}
			text := output(t, command(t, cairn, append(argv, "-o", program)...))
			if err := json.Unmarshal([]byte(text), &summary); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			slices.Sort(summary.EntryOnly)
			if !slices.Equal(summary.EntryOnly, v.entry) {
				t.Errorf("entry only: %q, want %q", summary.EntryOnly, v.entry)
			}
			answer, ran, seen, m := processor.emulated(t, program)
			checkAnswer(t, answer, want)
			checkCalls(t, m, ran)
			checkCovered(t, m, ran)
			checkOrder(t, m, seen)
			for i := range m.Funcs {
				f := &m.Funcs[i]
				if alone := slices.Contains(v.entry, f.Name); alone != (f.NumBlocks() == 1) && f.Name != "conditions" {
					t.Errorf("%s has probes of %d blocks", f.Name, f.NumBlocks())
				}
			}
		})
	}
}
