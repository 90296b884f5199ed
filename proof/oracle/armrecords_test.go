//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestArmRecords compares everything with the log of a processor in software, for both states
// and both ways to pass floating-point numbers.
func TestArmRecords(t *testing.T) {
	t.Parallel()
	const gcc, clang = "arm-linux-gnueabihf-gcc", "clang-22 --target=armv7-linux-gnueabihf"
	type row struct{ source, compiler string }
	for i, v := range shorttest.Rows(
		2,
		row{"flow.c", gcc + " -O2"},
		row{"flow.c", gcc + " -O3 -marm"},
		row{"shapes.cc", "arm-linux-gnueabihf-g++ -O2 -std=c++17"},
		row{"flow.c", clang + " -O2"},
		row{"flow.c", gcc + " -O0"},
		row{"flow.c", gcc + " -O1 -no-pie"},
		row{"flow.c", gcc + " -Os -static"},
		row{"flow.c", gcc + " -O2 -marm -static"},
		row{"flow.c", gcc + " -O3 -ffunction-sections -Wl,--gc-sections"},
		row{"flow.c", "arm-linux-gnueabi-gcc -O2 -march=armv7-a"},
		row{"flow.c", "arm-linux-gnueabi-gcc -Os -march=armv7-a -mthumb"},
		row{"shapes.cc", "arm-linux-gnueabi-g++ -O2 -march=armv7-a -mthumb -std=c++17"},
		row{"shapes.cc", "arm-linux-gnueabi-g++ -O2 -march=armv7-a -marm -std=c++17"},
		row{"flow.c", clang + " -O0"},
		row{"flow.c", clang + " -Os -marm -no-pie"},
		row{"shapes.cc", "clang++-22 --target=armv7-linux-gnueabihf -Oz -std=c++17"},
		row{"shapes.cc", "arm-linux-gnueabihf-g++ -O0 -std=c++17"},
		row{"shapes.cc", "arm-linux-gnueabihf-g++ -O2 -marm -std=c++17"},
		row{"shapes.cc", "clang++-22 --target=armv7-linux-gnueabihf -O2 -std=c++17"},
	) {
		t.Run(v.source+" "+v.compiler, func(t *testing.T) {
			t.Parallel()
			words, processor := strings.Fields(v.compiler), armv7
			if strings.Contains(words[0], "gnueabi-") {
				processor = armSoft
			}
			args := append(words[1:len(words):len(words)], filepath.Join("testdata", v.source), "-w")
			args = fromAssembly(t, words[0], args)
			want := output(t, processor.run(t, build(t, "", words[0], args...)))
			answer, ran, seen, m := processor.emulated(t, build(t, "full", words[0], args...))
			checkAnswer(t, answer, want)
			checkCalls(t, m, ran)
			checkCovered(t, m, ran)
			checkOrder(t, m, seen)
			answer, ran, seen, m = processor.emulated(t, build(t, "block+order", words[0], args...))
			checkAnswer(t, answer, want)
			checkCovered(t, m, ran)
			checkOrder(t, m, seen)
			// These have nothing but flags, and others at the entry. All functions that the linker left ran.
			mode := []string{"cover", "block"}[i%2]
			if strings.Contains(v.compiler, "--gc-sections") {
				mode = "block"
			}
			answer, ran, _, m = processor.emulated(t, build(t, mode, words[0], args...))
			checkAnswer(t, answer, want)
			checkCovered(t, m, ran)
		})
	}
}

// TestArmThreads checks that atomic counts are exact when first calls collide.
func TestArmThreads(t *testing.T) {
	skipLong(t)
	t.Parallel()
	source := filepath.Join("testdata", "threads.c")
	for _, flags := range []string{"-O2 -pthread", "-O2 -pthread -marm"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			const gcc = "arm-linux-gnueabihf-gcc"
			args := variant{gcc, flags}.args(source)
			want := output(t, armv7.run(t, build(t, "", gcc, args...), "race"))
			program := build(t, "full --atomic", gcc, args...)
			answer, ran, _, m := armv7.emulated(t, program, "race")
			checkAnswer(t, answer, want)
			checkCalls(t, m, ran)
			checkCovered(t, m, ran)
			for range 5 {
				raws := t.TempDir()
				cmd := armv7.run(t, program, "race")
				cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
				checkAnswer(t, output(t, cmd), want)
				m := profile(t, program, raws)
				checkCalls(t, m, ran)
				checkCovered(t, m, ran)
			}
		})
	}
}
