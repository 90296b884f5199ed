//go:build linux && amd64

package oracle

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestArmMapped compares what programs for Armv7 record, whose runtime is a file, with the log of a processor in software.
func TestArmMapped(t *testing.T) {
	t.Parallel()
	for _, line := range shorttest.Rows(
		1,
		"arm-linux-gnueabihf-gcc -O2",
		"arm-linux-gnueabihf-gcc -O2 -marm -static",
		"arm-linux-gnueabi-gcc -O1 -march=armv7-a -no-pie",
		"clang-22 --target=armv7-linux-gnueabihf -Os",
	) {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			words, processor := strings.Fields(line), armv7
			if strings.Contains(words[0], "gnueabi-") {
				processor = armSoft
			}
			args := append(words[1:len(words):len(words)], filepath.Join("testdata", "flow.c"), "-w")
			want := output(t, processor.run(t, build(t, "", words[0], args...)))
			for _, mode := range []string{"full", "block+order"} {
				answer, ran, seen, m := processor.emulated(t, build(t, mode+" --shared-runtime "+t.TempDir(), words[0], args...))
				checkAnswer(t, answer, want)
				checkCovered(t, m, ran)
				checkOrder(t, m, seen)
				if mode == "full" {
					checkCalls(t, m, ran)
				}
			}
		})
	}
}

// TestArmMappedLife follows such a program through fork, SIGKILL, dlopen, a dump and a change of the directory, and runs it
// with a part of the file and without it.
func TestArmMappedLife(t *testing.T) {
	t.Parallel()
	const gcc = "arm-linux-gnueabihf-gcc"
	source, runtime := filepath.Join("testdata", "mapped.c"), t.TempDir()
	mode := "full --shared-runtime " + runtime
	program := build(t, mode, gcc, "-O2", source, "-ldl")
	library := build(t, mode, gcc, "-O2", "-shared", "-fPIC", "-DLIBRARY", source)
	live := func(t *testing.T, raws, what string, args ...string) string {
		cmd := armv7.run(t, program, append([]string{what}, args...)...)
		cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
		out, err := cmd.Output()
		if _, killed := err.(*exec.ExitError); err != nil && (what != "kill" || !killed) {
			t.Errorf("%s: %v", what, err)
		}
		return string(out)
	}
	for _, test := range []struct {
		what, arg string
		child     uint64
		files     int
	}{
		{"kill", "", 0, 1},
		{"fork", "", 1, 2},
		{"dump", "", 1, 2},
		{"dlopen", library, 0, 6},
		{"directory", t.TempDir(), 0, 1},
	} {
		raws := t.TempDir()
		if out := live(t, raws, test.what, test.arg); strings.ReplaceAll(out, "3\n", "") != "90\n" {
			t.Errorf("%s: answer %q", test.what, out)
		}
		if test.what == "directory" {
			raws = test.arg
		}
		files, err := os.ReadDir(raws)
		if err != nil || len(files) != test.files {
			t.Errorf("%s: %d files, want %d (%v)", test.what, len(files), test.files, err)
		}
		merged := filepath.Join(t.TempDir(), "life.mip")
		output(t, command(t, cairn, "merge", "-o", merged, program, library, raws))
		calls := map[string]uint64{}
		for _, m := range readModules(t, merged) {
			for i := range m.Funcs {
				calls[m.Funcs[i].Name] += m.Counts[i].Calls
			}
		}
		loaded := uint64(0)
		if test.what == "dlopen" {
			loaded = 5
		}
		if calls["twice"] != 10 || calls["child"] != test.child || calls["thrice"] != loaded {
			t.Errorf("%s: calls %v", test.what, calls)
		}
	}
	images, err := filepath.Glob(filepath.Join(runtime, "*.rt"))
	if err != nil || len(images) != 1 {
		t.Fatalf("%v, files %q", err, images)
	}
	for _, what := range []string{"cut", "gone"} {
		err := os.Truncate(images[0], 4096)
		if what == "gone" {
			err = os.Remove(images[0])
		}
		if err != nil {
			t.Fatal(err)
		}
		raws := t.TempDir()
		if out := live(t, raws, "fork"); out != "90\n" {
			t.Errorf("the file is %s: answer %q", what, out)
		}
		if files, err := os.ReadDir(raws); err != nil || len(files) > 0 {
			t.Errorf("the file is %s: files %v (%v)", what, files, err)
		}
	}
}
