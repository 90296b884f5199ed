//go:build linux && amd64

package oracle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/prof"
)

// TestAArch64Split builds programs for AArch64 by the profile of a run and by a random one, and
// compares their answers on an emulator: the moved code is executed, and exceptions pass
// through it. By the frequencies of a run, blocks have another order as well.
func TestAArch64Split(t *testing.T) {
	t.Parallel()
	const gcc, clang = "aarch64-linux-gnu-g++", "clang++-22"
	type row struct{ source, compiler, flags string }
	for _, v := range shorttest.Rows(
		2,
		row{"shapes.cc", clang, "--target=aarch64-linux-gnu -O2 -std=c++17 -mbranch-protection=standard"},
		row{"flow.c", "aarch64-linux-gnu-gcc", "-O2"},
		row{"shapes.cc", gcc, "-O2 -std=c++17"},
		row{"shapes.cc", gcc, "-O2 -std=c++17 -mbranch-protection=standard"},
		row{"shapes.cc", clang, "--target=aarch64-linux-gnu -O2 -std=c++17"},
		row{"flow.c", "clang-22", "--target=aarch64-linux-gnu -O2"},
		row{"tree.cc", gcc, "-O2 -pthread -mbranch-protection=standard"},
		row{"tree.cc", clang, "--target=aarch64-linux-gnu -O2 -pthread -mbranch-protection=standard"},
	) {
		t.Run(v.source+v.compiler+v.flags, func(t *testing.T) {
			t.Parallel()
			args := variant{v.compiler, v.flags}.args(filepath.Join("testdata", v.source))
			run := []string{}
			if v.source == "tree.cc" {
				run = []string{"3", "20"} // threads and rounds
			}
			want, m := profiledAArch64(t, build(t, "block", v.compiler, args...), run...)
			splitAArch64(t, map[string]*prof.Module{"real": m, "random": atRandom(m)}, want, v.compiler, args, run...)
			_, m = profiledAArch64(t, build(t, "edge", v.compiler, args...), run...)
			summary := splitAArch64(t, map[string]*prof.Module{"edge": m}, want, v.compiler, args, run...)
			if strings.Contains(summary, `"ordered": 0`) {
				t.Errorf("no function has its blocks in order\n%s", summary)
			}
		})
	}
}

// profiledAArch64 runs a program with probes. It returns its answer and its profile.
func profiledAArch64(t *testing.T, program string, args ...string) (string, *prof.Module) {
	t.Helper()
	raws := filepath.Join(t.TempDir(), "raws")
	cmd := aarch64.run(t, program, args...)
	cmd.Env = append(os.Environ(), "CAIRN_DIR="+raws)
	answer := output(t, cmd)
	return answer, profile(t, program, raws)
}

// splitAArch64 builds a program by profiles, and checks its answers. It returns the last summary.
func splitAArch64(t *testing.T, profiles map[string]*prof.Module, want, compiler string, compile []string, args ...string) (summary string) {
	t.Helper()
	for name, m := range profiles {
		dir := t.TempDir()
		file, program := filepath.Join(dir, "use.mip"), filepath.Join(dir, filepath.Base(m.Module))
		writeProfile(t, file, m)
		argv := append([]string{"build", "--use", file, "--prove", "--json", "--", compiler}, compile...)
		summary = output(t, command(t, cairn, append(argv, "-o", program)...))
		if want == "" {
			t.Fatal("the program has no answer to compare")
		}
		checkAnswer(t, output(t, aarch64.run(t, program, args...)), want)
		symbols := output(t, command(t, "nm", program))
		if n := strings.Count(symbols, ".cold\n"); n < 2 {
			t.Errorf("%s: %d functions split\n%s", name, n, summary)
		}
	}
	return summary
}
