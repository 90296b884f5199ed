//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestAArch64Records compares everything with the log of a processor in software: call counts,
// blocks, the order of first executions and the first callers.
func TestAArch64Records(t *testing.T) {
	t.Parallel()
	const gcc, clang = "aarch64-linux-gnu-gcc", "clang-22"
	type row struct{ source, compiler, flags string }
	for _, v := range shorttest.Rows(
		3,
		row{"flow.c", gcc, "-O2"},
		row{"flow.c", clang, "--target=aarch64-linux-gnu -O2 -mbranch-protection=standard"},
		row{"heat.f90", "aarch64-linux-gnu-gfortran", "-O2"},
		row{"shapes.cc", "aarch64-linux-gnu-g++", "-O2 -std=c++17"},
		row{"flow.c", gcc, "-O0"},
		row{"flow.c", gcc, "-O2 -march=armv8.3-a -mbranch-protection=standard"}, // with retaa
		row{"flow.c", clang, "--target=aarch64-linux-gnu -O2 -march=armv8.3-a -mbranch-protection=standard"},
		row{"heat.f90", "aarch64-linux-gnu-gfortran", "-O0 -fcheck=all"},
		row{"heat.f90", "aarch64-linux-gnu-gfortran", "-O3 -g -mbranch-protection=standard"},
		row{"flow.c", gcc, "-O3 -mbranch-protection=standard -no-pie"},
		row{"flow.c", gcc, "-Os -static"},
		row{"flow.c", gcc, "-O2 -march=armv8.2-a -static-pie"},
		row{"flow.c", clang, "--target=aarch64-linux-gnu -O0"},
		row{"flow.c", clang, "--target=aarch64-linux-gnu -Os -no-pie"},
		row{"shapes.cc", "clang++-22", "--target=aarch64-linux-gnu -Oz -std=c++17"},
		row{"shapes.cc", "aarch64-linux-gnu-g++", "-O0 -std=c++17"},
		row{"shapes.cc", "clang++-22", "--target=aarch64-linux-gnu -O2 -std=c++17"},
	) {
		t.Run(v.source+v.compiler+v.flags, func(t *testing.T) {
			t.Parallel()
			args := variant{v.compiler, v.flags}.args(filepath.Join("testdata", v.source))
			if strings.HasSuffix(v.source, ".f90") {
				args = append(args, "-J"+t.TempDir()) // for the description of the module
			}
			args = fromAssembly(t, v.compiler, args)
			want := output(t, aarch64.run(t, build(t, "", v.compiler, args...)))
			answer, ran, seen, m := aarch64.emulated(t, build(t, "full", v.compiler, args...))
			checkAnswer(t, answer, want)
			checkCalls(t, m, ran)
			checkCovered(t, m, ran)
			checkOrder(t, m, seen)
			answer, ran, seen, m = aarch64.emulated(t, build(t, "block+order", v.compiler, args...))
			checkAnswer(t, answer, want)
			checkCovered(t, m, ran)
			checkOrder(t, m, seen)
		})
	}
}

// TestAArch64Threads checks that atomic counts are exact when first calls collide, with pairs
// of exclusive accesses and with atomic instructions.
func TestAArch64Threads(t *testing.T) {
	skipLong(t)
	t.Parallel()
	source := filepath.Join("testdata", "threads.c")
	for _, flags := range []string{"-O2 -pthread", "-O2 -pthread -march=armv8.1-a"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			args := variant{"aarch64-linux-gnu-gcc", flags}.args(source)
			want := output(t, aarch64.run(t, build(t, "", "aarch64-linux-gnu-gcc", args...), "race"))
			program := build(t, "full --atomic", "aarch64-linux-gnu-gcc", args...)
			answer, ran, _, m := aarch64.emulated(t, program, "race")
			checkAnswer(t, answer, want)
			checkCalls(t, m, ran)
			checkCovered(t, m, ran)
			for range 5 {
				raws := t.TempDir()
				cmd := aarch64.run(t, program, "race")
				cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
				checkAnswer(t, output(t, cmd), want)
				m := profile(t, program, raws)
				checkCalls(t, m, ran)
				checkCovered(t, m, ran)
			}
		})
	}
}
